//! The metric pressure: the resources for which the application's containers and processes waited.

pub mod libraries;
pub mod placement;
pub mod rows;

use std::collections::BTreeMap;

use encode::json::push_string;
use linux::cgroup::location::{Location, locate};
use linux::cgroup::reader::{self, ContainerUsage, Gap};
use linux::clock;
use linux::topology::Topology;
use nix::errno::Errno;

use self::placement::PlacementState;
use self::rows::{program, push_container, push_placement, push_process, push_usage};
use crate::metrics::metric::Metric;
use crate::runtime::cost_limit::CostLimit;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::runtime::walk_limit::WalkLimit;
use crate::sampling::accounts::Sum;
use crate::sampling::columns::Rows;
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::{Meter, is_denial};
use crate::sampling::process::{Key, Measured, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};

/// The estimated bytes of the rows of a process in a timepoint, without its names.
const ROW_BYTES: usize = 512;
/// The maximum number of observed processes through which the observer tries to read a container in
/// a timepoint, and the maximum number of others.
const MAX_TRIES: usize = 3;
/// The part of the interval in which placements may be read.
const MAX_PART: f64 = 0.25;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "pressure",
        description: "throttling, pressure stall, memory events, run-queue delay, memory and placement of the application's containers and processes",
        help: "throttling, pressure stall and memory events of the application's containers; run-queue delay, memory and placement of its processes",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
            MetricOption::Timeout,
        ],
        reads: ProcessFiles::RunQueue,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[rows::CONTAINER, rows::PROCESS, rows::PLACEMENT],
    summary: &[rows::PROGRAM],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    sampler::run(Pressure::begin(), settings, session);
}

/// The seconds after which the mounts of a process are read again.
const MOUNTS_AGE: f64 = 60.0;

/// The containers and placements at the last timepoints.
pub struct Pressure {
    containers: BTreeMap<ContainerId, Container>,
    placements: BTreeMap<Key, PlacementState>,
    topology: Option<Topology>,
    /// The limit of the processor time for reading placements.
    cost: CostLimit,
    walks: WalkLimit,
    notices: Notices,
}

/// A container at the last timepoint.
struct Container {
    /// The process through which the container was read.
    process: Key,
    /// The cgroups that this process has; `None` if they must be looked for.
    cgroups: Option<Cgroups>,
    usage: ContainerUsage,
}

/// The cgroups of a process, and where they are mounted.
#[derive(Clone)]
struct Cgroups {
    /// The contents of `/proc/PID/cgroup`.
    text: Vec<u8>,
    location: Location,
    /// When the mounts were read, in seconds since boot.
    read: f64,
}

/// The reason why a container cannot be read through a process.
enum Failure {
    /// The process has ended.
    Ended,
    /// The kernel denies it.
    Denied(Errno),
    /// No value can be read, for example because the process has a root directory of its own, in
    /// which no cgroups are mounted.
    Empty(Vec<(&'static str, Gap)>),
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        if is_denial(error) {
            Self::Denied(error)
        } else {
            Self::Ended
        }
    }
}

impl Sampler for Pressure {
    const INITIAL_ROW_BYTES: f64 = 1024.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, process: &Process) -> usize {
        ROW_BYTES + process.tail.len()
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        self.print_containers(run, keys, &time);
        print_processes(run, keys, &time);
        self.print_placements(run, keys, &time);
    }

    fn totals(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.update_accounts();
        program_lines(&run.processes)
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        let mut whole = run.begin_whole();
        run.end_whole(&mut whole);
        let mut lines = vec![whole];
        lines.extend(self.container_lines(&run.processes));
        lines.extend(program_lines(&run.processes));
        lines
    }
}

impl Pressure {
    /// Begins to read containers and placements.
    pub fn begin() -> Self {
        Self {
            containers: BTreeMap::new(),
            placements: BTreeMap::new(),
            topology: Topology::detect("/sys/devices/system/node"),
            cost: CostLimit::new(clock::since_boot()),
            walks: WalkLimit::detect(),
            notices: Notices::default(),
        }
    }

    /// Prints a row for each container that has observed processes.
    pub fn print_containers(&mut self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let mut members: BTreeMap<ContainerId, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let process = run.processes.all.get(key);
            let Some(process) = process.filter(|process| !process.is_zombie) else {
                continue;
            };
            if let Some(container) = process.container {
                members.entry(container).or_default().push(*key);
            }
        }
        for (container, keys) in members {
            let Some(usage) = self.read_container(run, container, &keys) else {
                continue;
            };
            let containers = &run.processes.containers;
            let name = containers.has_names.then(|| containers.name(container));
            push_container(run.session.log.line(), time, name, &usage);
            run.session.log.end_line();
        }
    }

    /// Reads a container through one of its processes: first through the last one that succeeded,
    /// then through the processes `keys`, and then through others, which are not observed. Tries at
    /// most [`MAX_TRIES`] of each. If no value can be read, reports the reasons and returns an
    /// empty usage. `None` if the processes have ended.
    fn read_container(
        &mut self,
        run: &mut Run<'_>,
        container: ContainerId,
        keys: &[Key],
    ) -> Option<ContainerUsage> {
        let last = self.containers.get(&container).map(|known| known.process);
        let others = run.processes.all.iter().filter(|(key, process)| {
            let is_other = process.container == Some(container) && !keys.contains(key);
            is_other && !process.is_zombie
        });
        let tries: Vec<Key> = last
            .into_iter()
            .chain(keys.iter().copied().take(MAX_TRIES))
            .chain(others.map(|(key, _)| *key).take(MAX_TRIES))
            .collect();
        let mut failure = None;
        for key in tries {
            match self.read_through(run, container, key) {
                Ok(usage) => return Some(usage),
                Err(Failure::Ended) => {}
                Err(error) => failure = failure.or(Some((key, error))),
            }
        }
        let (process, failure) = failure?;
        let containers = &run.processes.containers;
        let name = description(containers.has_names.then(|| containers.name(container)));
        let log = &mut run.session.log;
        match failure {
            Failure::Ended => {}
            Failure::Denied(error) => {
                let reason = error.desc();
                let reason = format!("the cgroups of {name} cannot be read: {reason}");
                self.notices.report(reason, log);
            }
            Failure::Empty(gaps) => {
                for (file, gap) in gaps {
                    self.notices.report(explain(&name, file, gap), log);
                }
                // The summary has the last known values.
                self.containers.entry(container).or_insert(Container {
                    process,
                    cgroups: None,
                    usage: ContainerUsage::default(),
                });
            }
        }
        Some(ContainerUsage::default())
    }

    fn read_through(
        &mut self,
        run: &mut Run<'_>,
        container: ContainerId,
        key: Key,
    ) -> Result<ContainerUsage, Failure> {
        let ProcessTable {
            meter,
            all,
            containers,
            now,
            ..
        } = &mut run.processes;
        let process = all.get_mut(&key).ok_or(Failure::Ended)?;
        let pid = process.file_id;
        // A process that is not observed has no measurements.
        let mut unmeasured = Measured::default();
        let measured = process.measured.as_deref_mut().unwrap_or(&mut unmeasured);
        meter.read_status(pid, measured).ok_or(Failure::Ended)?;
        let identity = measured.identity;
        let (root, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
            meter.files.open_root(pid)
        });
        let root = root.map_err(Failure::from)?;
        let known = self.containers.get_mut(&container);
        let known = known.filter(|known| known.process == key);
        let kept = known.and_then(|known| known.cgroups.take());
        let cgroups = read_cgroups(meter, pid, kept, *now).map_err(Failure::from)?;
        let mut gaps = Vec::new();
        let mut report = |file: &'static str, gap: Gap| gaps.push((file, gap));
        let usage = reader::read(&mut meter.files, &root, &cgroups.location, &mut report);
        if usage == ContainerUsage::default() {
            // The mounts of a container go away with its last process.
            return Err(if meter.has_memory(pid) {
                Failure::Empty(gaps)
            } else {
                Failure::Ended
            });
        }
        let name = description(containers.has_names.then(|| containers.name(container)));
        for (file, gap) in gaps {
            let reason = explain(&name, file, gap);
            self.notices.report(reason, &mut run.session.log);
        }
        let known = Container {
            process: key,
            cgroups: Some(cgroups),
            usage,
        };
        self.containers.insert(container, known);
        Ok(usage)
    }

    /// Prints a row for each process whose placement is due, until the limit of processor time or a
    /// part of the interval is used up. The rows of the remaining processes follow in later
    /// timepoints.
    pub fn print_placements(&mut self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let all = &run.processes.all;
        self.placements.retain(|key, _| all.contains_key(key));
        let now = run.processes.now;
        let until = now + run.settings.rate * MAX_PART;
        for (index, key) in self.due_placements(keys, now).into_iter().enumerate() {
            let is_late = index > 0 && clock::since_boot() > until;
            if is_late || !self.cost.allows_more(now) || !run.session.poll() {
                return;
            }
            let cpu = clock::own_cpu();
            let ProcessTable { meter, all, .. } = &mut run.processes;
            let Some(process) = all.get_mut(&key) else {
                continue;
            };
            let pid = process.file_id;
            let Some(measured) = &mut process.measured else {
                continue;
            };
            // The placement of a blocked process stays due, because reading it may block, too.
            if measured.is_blocked {
                continue;
            }
            let state = self.placements.entry(key).or_default();
            let mut reader = placement::Reader {
                meter,
                topology: self.topology.as_ref(),
                walks: &mut self.walks,
                session: run.session,
                notices: &mut self.notices,
            };
            let found = placement::read(&mut reader, pid, measured, state);
            state.plan_next(now);
            if let Some(found) = found {
                let log = &mut run.session.log;
                push_placement(log.line(), time, process, &found);
                log.end_line();
            }
            self.cost.count(clock::own_cpu() - cpu);
        }
    }

    /// Returns the processes whose placement is due, sorted by the time since which it is due.
    fn due_placements(&mut self, keys: &[Key], now: f64) -> Vec<Key> {
        let due = |key: &Key| (self.placements.entry(*key).or_default().due(), *key);
        let mut list: Vec<(f64, Key)> = keys
            .iter()
            .map(due)
            .filter(|(due, _)| *due <= now)
            .collect();
        list.sort_by(|one, other| one.0.total_cmp(&other.0));
        list.into_iter().map(|(_, key)| key).collect()
    }

    /// Returns the lines of the summary for the containers.
    pub fn container_lines(&self, processes: &ProcessTable) -> Vec<Vec<u8>> {
        let containers = &processes.containers;
        if !containers.has_names {
            return Vec::new();
        }
        let line = |(container, known): (&ContainerId, &Container)| {
            let mut line = b"{\"container\":".to_vec();
            push_string(&mut line, containers.name(*container));
            push_usage(&mut line, &known.usage);
            line.push(b'}');
            line
        };
        self.containers.iter().map(line).collect()
    }
}

fn print_processes(run: &mut Run<'_>, keys: &[Key], time: &str) {
    let ticks = run.processes.meter.machine.ticks;
    let log = &mut run.session.log;
    for process in keys.iter().filter_map(|key| run.processes.all.get(key)) {
        if let Some(measured) = &process.measured {
            push_process(log.line(), time, process, measured, ticks);
            log.end_line();
        }
    }
}

/// Returns the cgroups of a process at the time `now`. The mounts, which may be many, are read
/// again if the process has moved to another cgroup, or after [`MOUNTS_AGE`] seconds.
fn read_cgroups(
    meter: &mut Meter,
    pid: i32,
    kept: Option<Cgroups>,
    now: f64,
) -> Result<Cgroups, Errno> {
    let text = meter.files.read_whole(&format!("{pid}/cgroup"))?.to_vec();
    let is_current = |kept: &Cgroups| kept.text == text && now - kept.read < MOUNTS_AGE;
    if let Some(kept) = kept.filter(is_current) {
        return Ok(kept);
    }
    let mountinfo = meter.files.read_whole(&format!("{pid}/mountinfo"))?;
    let location = locate(&text, mountinfo);
    Ok(Cgroups {
        text,
        location,
        read: now,
    })
}

/// The words for a container in a sentence.
fn description(name: Option<&str>) -> String {
    name.map_or("a container".to_owned(), |name| format!("container {name}"))
}

/// The reason why a value of a container is null.
fn explain(container: &str, value: &str, gap: Gap) -> String {
    match gap {
        Gap::NotMounted => {
            format!("{container} has no {value}: its cgroup is not mounted in the container")
        }
        Gap::InRoot => {
            format!("{container} has no {value}: its cgroup is the root, which is the whole node")
        }
        Gap::OnlyVersion2 => {
            format!("{container} has no {value}, which only version 2 of cgroups has")
        }
        Gap::NoValue => {
            format!("{container} has no {value}: the file does not contain a valid value")
        }
        Gap::Unreadable(Errno::ENOENT) => {
            format!("{container} has no {value}: this kernel or cgroup does not have the file")
        }
        Gap::Unreadable(error) => {
            format!("{value} of {container} cannot be read: {}", error.desc())
        }
    }
}

/// The lines of the summary for the programs. The program with the longest run-queue delay is
/// first.
fn program_lines(processes: &ProcessTable) -> Vec<Vec<u8>> {
    let containers = &processes.containers;
    let ticks = processes.meter.machine.ticks;
    let mut sums: Vec<&Sum> = processes.sums.list().iter().collect();
    sums.sort_by_key(|sum| (std::cmp::Reverse(sum.wait), &sum.program));
    let line = |sum: &Sum| program(sum, containers.known_name(sum.container), ticks);
    sums.into_iter().map(line).collect()
}
