//! The processor time of a container that none of its observed processes accounts for, from the
//! container's cgroup: of processes that no scan found and no observed process waited for, and of
//! processes after their last reading.
//!
//! The cgroup also has the time that the container runtime needed before it executed the
//! application. This time is known at the first scan that finds the container's first process, and
//! is left out.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use linux::cgroup::cpu_stat;
use linux::cgroup::location::{Directory, Version, locate};
use linux::proc::cgroup::memberships;
use linux::proc::words::{number, words};

use crate::sampling::accounts::{Sums, pending_cpu};
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::Meter;
use crate::sampling::process::{Key, Process};

/// The maximum bytes of `cpu.stat` or `cpuacct.usage`.
const MAX_BYTES: usize = 4096;
/// The clock ticks by which the times of a process may be rounded: one for each of its two times.
const ROUNDING: u64 = 2;
const NANOSECONDS: f64 = 1e9;

/// The processor times of containers.
#[derive(Default)]
pub struct ContainerTimes {
    open: BTreeMap<ContainerId, ContainerTime>,
    /// The cgroups that this scan has found.
    next: Vec<(ContainerId, ContainerTime)>,
}

/// The cgroup of a container until its end.
struct ContainerTime {
    file: File,
    version: Version,
    /// The processor time at the last reading, in nanoseconds.
    usage: u64,
    /// The processor time in the cgroup, without the time that processes accounted for, at the end
    /// of the scan that found the first process. Negative if an earlier cgroup of the container has
    /// more.
    base: Option<i128>,
    /// The number of processes that were observed until then.
    processes: u64,
}

impl ContainerTimes {
    /// Opens the file with the processor time of a container through the first process of the
    /// container. Nothing is opened if the container has no cgroup of its own, or shares it with
    /// the observer.
    pub fn open(&mut self, container: ContainerId, process: &mut Process, meter: &mut Meter) {
        // A process that is executed in the container later has the same cgroup. After a restart,
        // the container has another.
        let known = self.open.get(&container);
        if known.is_some_and(|time| time.file.read_at(&mut [0], 0).is_ok()) {
            return;
        }
        let pid = process.file_id;
        let Some(measured) = &mut process.measured else {
            return;
        };
        let Some(directory) = find_directory(meter, pid) else {
            return;
        };
        let name = match directory.version {
            Version::One => "cpuacct.usage",
            Version::Two => "cpu.stat",
        };
        let (root, _guard) =
            meter.with_access(&mut measured.io_access, measured.identity, |meter| {
                meter.files.open_root(pid)
            });
        let file = root.and_then(|root| meter.files.open_in(&root, &directory.path, name));
        let Ok(file) = file else { return };
        let time = ContainerTime {
            file,
            version: directory.version,
            usage: 0,
            base: None,
            processes: 0,
        };
        self.next.push((container, time));
    }

    /// Reads the processor times. After the end of a container, its file cannot be read, and the
    /// last known time stays.
    pub fn read(&mut self) {
        for time in self.open.values_mut() {
            time.read();
        }
    }

    /// Updates the state at the end of a scan: reads the times, and closes the containers without
    /// processes.
    pub fn end_scan(&mut self, all: &BTreeMap<Key, Process>, sums: &mut Sums, ticks: f64) {
        for (container, time) in std::mem::take(&mut self.next) {
            self.close(container, all, sums, ticks);
            self.open.insert(container, time);
        }
        if self.open.is_empty() {
            return;
        }
        self.read();
        let lives = |container: ContainerId| {
            let mut processes = all.values();
            processes.any(|process| process.container == Some(container) && !process.is_zombie)
        };
        let ended: Vec<ContainerId> = self
            .open
            .keys()
            .copied()
            .filter(|container| !lives(*container))
            .collect();
        for container in ended {
            self.close(container, all, sums, ticks);
        }
        for (container, time) in &mut self.open {
            if time.base.is_none() {
                let (accounted, processes) = accounted(*container, all, sums, ticks);
                time.base = Some(i128::from(time.usage) - accounted);
                time.processes = processes;
            }
        }
    }

    /// Adds the rest of all containers to the sums at the end of the run, when the sums include all
    /// processes.
    pub fn close_all(&mut self, sums: &mut Sums, ticks: f64) {
        let containers: Vec<ContainerId> = self.open.keys().copied().collect();
        for container in containers {
            self.close(container, &BTreeMap::new(), sums, ticks);
        }
    }

    /// Adds the processor time that no process accounts for to the sums. A rest that the rounding
    /// of times to clock ticks explains is left out.
    fn close(
        &mut self,
        container: ContainerId,
        all: &BTreeMap<Key, Process>,
        sums: &mut Sums,
        ticks: f64,
    ) {
        let Some(time) = self.open.remove(&container) else {
            return;
        };
        let Some(base) = time.base else { return };
        let (accounted, processes) = accounted(container, all, sums, ticks);
        let rest = i128::from(time.usage) - base - accounted;
        let rest = u64::try_from(rest).unwrap_or(0);
        // The cast truncates to whole ticks.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rest = (encode::number::float(rest) * ticks / NANOSECONDS) as u64;
        if rest > ROUNDING * (1 + processes.saturating_sub(time.processes)) {
            sums.add_unaccounted_cpu(container, rest);
        }
    }
}

impl ContainerTime {
    fn read(&mut self) {
        let mut text = [0; MAX_BYTES];
        let Ok(length) = self.file.read_at(&mut text, 0) else {
            return;
        };
        let text = &text[..length];
        let usage = match self.version {
            Version::One => words(text).next().and_then(number),
            Version::Two => cpu_stat::parse(text).usage,
        };
        self.usage = usage.map_or(self.usage, |usage| usage.max(self.usage));
    }
}

/// Returns the processor time in nanoseconds that the processes of a container account for, and
/// the number of these processes.
fn accounted(
    container: ContainerId,
    all: &BTreeMap<Key, Process>,
    sums: &Sums,
    ticks: f64,
) -> (i128, u64) {
    let own = sums.list().iter().filter(|sum| sum.container == container);
    let (mut cpu, mut processes) = (0, 0);
    for sum in own {
        cpu += sum.cpu + sum.unaccounted.cpu;
        processes += sum.processes;
    }
    let living = all.values();
    for process in living.filter(|process| process.container == Some(container)) {
        cpu += pending_cpu(process);
    }
    // Times are less than the age of the node times its processors, so the cast is exact enough.
    #[allow(clippy::cast_possible_truncation)]
    let nanoseconds = (encode::number::float(cpu) / ticks * NANOSECONDS) as i128;
    (nanoseconds, processes)
}

/// Returns the directory of the cgroup that counts the processor time of a process. `None` if the
/// cgroup may be the root, or is that of the observer.
fn find_directory(meter: &mut Meter, pid: i32) -> Option<Directory> {
    let read = |meter: &mut Meter, path: String| Some(meter.files.read_whole(&path).ok()?.to_vec());
    let own = read(meter, "self/cgroup".to_owned())?;
    let cgroup = read(meter, format!("{pid}/cgroup"))?;
    let mountinfo = read(meter, format!("{pid}/mountinfo"))?;
    let location = locate(&cgroup, &mountinfo);
    // Version 2 counts processor time even if the controllers are in version 1.
    let mut found = location.cpuacct.into_iter().chain(location.unified);
    found.find(|directory| {
        let version = directory.version;
        !directory.may_be_root && path_in(version, &own) != path_in(version, &cgroup)
    })
}

/// Returns the path of the cgroup that counts processor time.
fn path_in(version: Version, cgroup: &[u8]) -> Option<&[u8]> {
    let counts_time = |controllers: &[u8]| match version {
        Version::One => controllers
            .split(|byte| *byte == b',')
            .any(|one| one == b"cpuacct"),
        Version::Two => controllers.is_empty(),
    };
    let mut found = memberships(cgroup).filter(|one| counts_time(one.controllers));
    found.next().map(|one| one.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::process::Measured;
    use std::path::{Path, PathBuf};

    const MILLISECOND: u64 = 1_000_000;

    struct Container {
        path: PathBuf,
        times: ContainerTimes,
        sums: Sums,
        all: BTreeMap<Key, Process>,
    }

    impl Container {
        /// Creates a container with one process. The file stands for that of the cgroup.
        fn new(name: &str) -> Self {
            let name = format!("ridealong-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, "0\n").unwrap();
            let process = Process {
                program: Some("app".to_owned()),
                container: Some(0),
                is_observed: true,
                measured: Some(Box::new(Measured::default())),
                ..Process::default()
            };
            let mut container = Self {
                times: ContainerTimes::default(),
                sums: Sums::default(),
                all: BTreeMap::from([(1, process)]),
                path,
            };
            container.open();
            container
        }

        fn open(&mut self) {
            let time = ContainerTime {
                file: File::open(Path::new(&self.path)).unwrap(),
                version: Version::One,
                usage: 0,
                base: None,
                processes: 0,
            };
            self.times.next.push((0, time));
        }

        fn measured(&mut self) -> &mut Measured {
            self.all.get_mut(&1).unwrap().measured.as_mut().unwrap()
        }

        /// Scans after the process has used `cpu` ticks, and the cgroup `usage` milliseconds.
        fn scan(&mut self, cpu: u64, usage: u64) {
            self.measured().now.stat.utime = cpu;
            std::fs::write(&self.path, (usage * MILLISECOND).to_string()).unwrap();
            self.times.end_scan(&self.all, &mut self.sums, 100.0);
        }

        /// Ends the run, and returns the ticks that no process accounts for.
        fn end(mut self) -> u64 {
            for process in self.all.values_mut() {
                self.sums.close(process);
            }
            self.times.read();
            self.times.close_all(&mut self.sums, 100.0);
            std::fs::remove_file(self.path).unwrap();
            let sums = self.sums.list().iter();
            sums.map(|sum| sum.unaccounted.cpu).sum()
        }
    }

    #[test]
    fn time_that_no_process_accounts_for_is_the_rest() {
        // The container runtime has used 30 ms before the first scan.
        let mut container = Container::new("rest");
        container.scan(5, 80);
        container.scan(505, 5_080);
        std::fs::write(&container.path, (6_080 * MILLISECOND).to_string()).unwrap();
        assert_eq!(container.end(), 100);
    }

    #[test]
    fn the_rounding_to_ticks_is_no_rest() {
        let mut container = Container::new("rounding");
        container.scan(5, 50);
        container.scan(503, 5_049);
        assert_eq!(container.end(), 0);
    }

    #[test]
    fn children_for_which_a_process_waits_are_accounted_once() {
        let mut container = Container::new("children");
        container.scan(0, 0);
        container.measured().now.stat.cutime = 300;
        container.scan(100, 4_000);
        assert_eq!(container.end(), 300);
    }

    #[test]
    fn a_container_that_starts_again_has_another_cgroup() {
        let mut container = Container::new("again");
        container.scan(0, 0);
        container.scan(100, 2_000);
        // The rest of the first cgroup is 1 s. The second begins with 0.
        let old = container.all.remove(&1);
        container.sums.close(&mut old.unwrap());
        container
            .times
            .end_scan(&container.all, &mut container.sums, 100.0);
        let mut next = Process {
            program: Some("app".to_owned()),
            container: Some(0),
            is_observed: true,
            measured: Some(Box::new(Measured::default())),
            ..Process::default()
        };
        next.pid = 2;
        container.all.insert(1, next);
        std::fs::write(&container.path, "0").unwrap();
        container.open();
        container.scan(0, 0);
        container.scan(50, 700);
        assert_eq!(container.end(), 100 + 20);
    }
}
