//! Reads the values of a container's cgroups.

use nix::errno::Errno;

use super::cpu_stat::{self, CpuStat};
use super::flat_keyed::value;
use super::limit::Limit;
use super::location::{Directory, Location, Version};
use super::stall::{self, Stall};
use super::{cpu_limit, limit};
use crate::proc::files::{Files, RootDirectory};
use crate::proc::words::{number, words};

/// The values of a container. A value that cannot be read is `None`. Sizes are in bytes. Counters
/// count from the start of the container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerUsage {
    /// Throttling and processor time.
    pub cpu: CpuStat,
    /// The limit of processor time, in thousandths of a processor.
    pub cpu_limit: Option<Limit>,
    /// Microseconds in which tasks waited for a processor.
    pub cpu_stall: Stall,
    /// Microseconds in which tasks waited for memory.
    pub memory_stall: Stall,
    /// Microseconds in which tasks waited for storage.
    pub io_stall: Stall,
    /// The memory in use.
    pub memory: Option<u64>,
    /// The memory in use that the kernel can only free by swapping: anonymous and shared memory.
    pub memory_anon: Option<u64>,
    /// The largest amount of memory in use until now.
    pub memory_peak: Option<u64>,
    /// The limit of memory.
    pub memory_limit: Option<Limit>,
    /// Events of memory.
    pub events: MemoryEvents,
    /// The number of processes and threads.
    pub pids: Option<u64>,
    /// The limit of the number of processes and threads.
    pub pids_limit: Option<Limit>,
}

/// The number of times that each of these events happened to the memory of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvents {
    /// The memory in use exceeded the threshold above which the kernel slows tasks down (only
    /// version 2).
    pub high: Option<u64>,
    /// The memory in use reached the limit.
    pub max: Option<u64>,
    /// The memory in use was at the limit, and the kernel could free no memory (only version 2).
    pub oom: Option<u64>,
    /// The kernel killed a process because memory ran out.
    pub oom_kill: Option<u64>,
}

/// The reason why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The cgroup of the controller is not mounted in the container.
    NotMounted,
    /// The container has no cgroup of its own: it is in the root of the hierarchy.
    InRoot,
    /// Only version 2 of cgroups has the value.
    OnlyVersion2,
    /// The file does not contain the value, or the value is invalid.
    NoValue,
    /// The file cannot be read.
    Unreadable(Errno),
}

/// Reads the cgroups of a container through the root directory of one of its processes. `report`
/// gets the name of each controller, file or value that cannot be read, and the reason.
pub fn read(
    files: &mut Files,
    root: &RootDirectory,
    location: &Location,
    report: &mut dyn FnMut(&'static str, Gap),
) -> ContainerUsage {
    let mut usage = ContainerUsage::default();
    let mut reader = Reader {
        files,
        root,
        report,
    };
    reader.read_processors(location, &mut usage);
    reader.read_memory(location.memory.as_ref(), &mut usage);
    reader.read_stalls(location, &mut usage);
    if let Some(directory) = reader.directory(location.pids.as_ref(), "pids controller") {
        usage.pids = reader.parse(directory, "pids.current", single);
        usage.pids_limit = reader.parse(directory, "pids.max", limit::Limit::parse);
    }
    usage
}

struct Reader<'a> {
    files: &'a mut Files,
    root: &'a RootDirectory,
    report: &'a mut dyn FnMut(&'static str, Gap),
}

impl Reader<'_> {
    fn read_processors(&mut self, location: &Location, usage: &mut ContainerUsage) {
        if let Some(directory) = self.directory(location.cpu.as_ref(), "cpu controller") {
            let stat = self.parse(directory, "cpu.stat", |text| Some(cpu_stat::parse(text)));
            if stat.is_some_and(|stat| stat.periods.is_none()) {
                (self.report)("nr_periods of cpu.stat", Gap::NoValue);
            }
            usage.cpu = stat.unwrap_or_default();
            usage.cpu_limit = match directory.version {
                Version::Two => self.parse(directory, "cpu.max", cpu_limit::parse_max),
                Version::One => self.read_quota(directory),
            };
        }
        if let Some(directory) = self.directory(location.cpuacct.as_ref(), "cpuacct controller")
            && directory.version == Version::One
        {
            usage.cpu.usage = self.parse(directory, "cpuacct.usage", single);
        }
    }

    fn read_quota(&mut self, directory: &Directory) -> Option<Limit> {
        let copy = |text: &[u8]| Some(text.to_vec());
        let period = self.parse(directory, "cpu.cfs_period_us", copy)?;
        let limit = |quota: &[u8]| cpu_limit::parse_quota(quota, &period);
        self.parse(directory, "cpu.cfs_quota_us", limit)
    }

    fn read_memory(&mut self, directory: Option<&Directory>, usage: &mut ContainerUsage) {
        let Some(directory) = self.directory(directory, "memory controller") else {
            return;
        };
        let [current, peak, limit] = match directory.version {
            Version::One => [
                "memory.usage_in_bytes",
                "memory.max_usage_in_bytes",
                "memory.limit_in_bytes",
            ],
            Version::Two => ["memory.current", "memory.peak", "memory.max"],
        };
        usage.memory = self.parse(directory, current, single);
        let keys: [&[u8]; 2] = match directory.version {
            Version::One => [b"total_rss", b"total_shmem"],
            Version::Two => [b"anon", b"shmem"],
        };
        usage.memory_anon = self.parse(directory, "memory.stat", |text| {
            keys.iter().try_fold(0, |sum: u64, key| {
                Some(sum.saturating_add(value(text, key)?))
            })
        });
        usage.memory_peak = self.parse(directory, peak, single);
        usage.memory_limit = self.parse(directory, limit, Limit::parse);
        usage.events = match directory.version {
            Version::One => {
                (self.report)("memory events high and oom", Gap::OnlyVersion2);
                let kills = |text: &[u8]| value(text, b"oom_kill");
                MemoryEvents {
                    max: self.parse(directory, "memory.failcnt", single),
                    oom_kill: self.parse(directory, "memory.oom_control", kills),
                    ..MemoryEvents::default()
                }
            }
            Version::Two => self
                .parse(directory, "memory.events", |text| Some(events(text)))
                .unwrap_or_default(),
        };
    }

    fn read_stalls(&mut self, location: &Location, usage: &mut ContainerUsage) {
        let name = "pressure stall information";
        if location.unified.is_none() {
            (self.report)(name, Gap::OnlyVersion2);
            return;
        }
        let Some(directory) = self.directory(location.unified.as_ref(), name) else {
            return;
        };
        for (name, stall) in [
            ("cpu.pressure", &mut usage.cpu_stall),
            ("memory.pressure", &mut usage.memory_stall),
            ("io.pressure", &mut usage.io_stall),
        ] {
            *stall = self
                .parse(directory, name, |text| Some(stall::parse(text)))
                .unwrap_or_default();
        }
    }

    /// Returns the directory of a controller. If the directory is not mounted, or describes the
    /// whole node, reports this and returns `None`.
    fn directory<'b>(
        &mut self,
        found: Option<&'b Directory>,
        controller: &'static str,
    ) -> Option<&'b Directory> {
        let gap = match found {
            None => Gap::NotMounted,
            Some(directory) if directory.may_be_root && self.is_root(directory) => Gap::InRoot,
            Some(directory) => return Some(directory),
        };
        (self.report)(controller, gap);
        None
    }

    /// Whether a cgroup is the root of its hierarchy. In version 1, only the root has the file
    /// `cgroup.sane_behavior`. In version 2, all cgroups except the root have `cgroup.events`
    /// (kernel/cgroup/cgroup-v1.c and cgroup.c, `CFTYPE_ONLY_ON_ROOT` and `CFTYPE_NOT_ON_ROOT`).
    fn is_root(&mut self, directory: &Directory) -> bool {
        let mut read = |name| self.files.read_in(self.root, &directory.path, name).err();
        match directory.version {
            Version::One => read("cgroup.sane_behavior").is_none(),
            Version::Two => read("cgroup.events") == Some(Errno::ENOENT),
        }
    }

    fn parse<T>(
        &mut self,
        directory: &Directory,
        name: &'static str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let found = self.files.read_in(self.root, &directory.path, name);
        match found.map(parse) {
            Ok(Some(value)) => Some(value),
            Ok(None) => {
                (self.report)(name, Gap::NoValue);
                None
            }
            Err(error) => {
                (self.report)(name, Gap::Unreadable(error));
                None
            }
        }
    }
}

fn events(text: &[u8]) -> MemoryEvents {
    MemoryEvents {
        high: value(text, b"high"),
        max: value(text, b"max"),
        oom: value(text, b"oom"),
        oom_kill: value(text, b"oom_kill"),
    }
}

/// Parses a file that contains only one number.
fn single(text: &[u8]) -> Option<u64> {
    number(words(text).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Writes the files to a folder, and reads the values of a container from this folder. Returns
    /// the values, and the names of everything that could not be read, with the reasons.
    fn read_folder(files: &[(&str, &str)], location: &Location) -> (ContainerUsage, Vec<String>) {
        let folder = std::env::temp_dir().join(format!(
            "ridealong-cgroup-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        let mut missing = Vec::new();
        let root = RootDirectory::at(&folder).unwrap();
        let usage = read(
            &mut Files::open().unwrap(),
            &root,
            location,
            &mut |name, gap| missing.push(format!("{name}: {gap:?}")),
        );
        fs::remove_dir_all(folder).unwrap();
        (usage, missing)
    }

    fn directory(version: Version, path: &str) -> Directory {
        Directory {
            version,
            path: path.into(),
            may_be_root: false,
        }
    }

    /// The files of version 2, with their texts.
    const VERSION_2: [(&str, &str); 11] = [
        (
            "sys/fs/cgroup/cpu.stat",
            "usage_usec 5\nnr_periods 4\nnr_throttled 3\nthrottled_usec 2\n",
        ),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/cpu.pressure", "some total=1\nfull total=2\n"),
        (
            "sys/fs/cgroup/memory.pressure",
            "some total=3\nfull total=4\n",
        ),
        ("sys/fs/cgroup/io.pressure", "some total=5\nfull total=6\n"),
        ("sys/fs/cgroup/memory.current", "7\n"),
        (
            "sys/fs/cgroup/memory.stat",
            "anon 4\nfile 3\nshmem 2\nanon_thp 9\n",
        ),
        ("sys/fs/cgroup/memory.max", "max\n"),
        (
            "sys/fs/cgroup/memory.events",
            "high 8\nmax 9\noom 10\noom_kill 11\n",
        ),
        ("sys/fs/cgroup/pids.current", "12\n"),
        ("sys/fs/cgroup/pids.max", "13\n"),
    ];

    #[test]
    fn all_values_of_version_2_are_read() {
        let two = || Some(directory(Version::Two, "sys/fs/cgroup"));
        let location = Location {
            cpu: two(),
            cpuacct: two(),
            memory: two(),
            pids: two(),
            unified: two(),
        };
        let (usage, missing) = read_folder(&VERSION_2, &location);
        let stall = |some, full| Stall {
            some: Some(some),
            full: Some(full),
        };
        let expected = ContainerUsage {
            cpu: CpuStat {
                periods: Some(4),
                throttled_periods: Some(3),
                throttled: Some(2000),
                usage: Some(5000),
            },
            cpu_limit: Some(Limit::At(500)),
            cpu_stall: stall(1, 2),
            memory_stall: stall(3, 4),
            io_stall: stall(5, 6),
            memory: Some(7),
            memory_anon: Some(6),
            memory_peak: None,
            memory_limit: Some(Limit::Unlimited),
            events: MemoryEvents {
                high: Some(8),
                max: Some(9),
                oom: Some(10),
                oom_kill: Some(11),
            },
            pids: Some(12),
            pids_limit: Some(Limit::At(13)),
        };
        assert_eq!(usage, expected);
        assert_eq!(missing, ["memory.peak: Unreadable(ENOENT)"]);
    }

    /// The files of version 1, with their texts.
    const VERSION_1: [(&str, &str); 12] = [
        (
            "cpu/cpu.stat",
            "nr_periods 4\nnr_throttled 3\nthrottled_time 2\n",
        ),
        ("cpu/cpu.cfs_quota_us", "-1\n"),
        ("cpu/cpu.cfs_period_us", "100000\n"),
        ("cpuacct/cpuacct.usage", "5\n"),
        ("memory/memory.usage_in_bytes", "6\n"),
        (
            "memory/memory.stat",
            "cache 3\nrss 1\nshmem 1\ntotal_cache 9\ntotal_rss 4\ntotal_shmem 2\n",
        ),
        ("memory/memory.max_usage_in_bytes", "7\n"),
        ("memory/memory.limit_in_bytes", "8\n"),
        ("memory/memory.failcnt", "9\n"),
        (
            "memory/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 10\n",
        ),
        ("pids/pids.current", "11\n"),
        ("pids/pids.max", "x\n"),
    ];

    #[test]
    fn the_values_of_version_1_are_read_from_the_directory_of_each_controller() {
        let one = |name| Some(directory(Version::One, name));
        let location = Location {
            cpu: one("cpu"),
            cpuacct: one("cpuacct"),
            memory: one("memory"),
            pids: one("pids"),
            unified: None,
        };
        let (usage, missing) = read_folder(&VERSION_1, &location);
        let expected = ContainerUsage {
            cpu: CpuStat {
                periods: Some(4),
                throttled_periods: Some(3),
                throttled: Some(2),
                usage: Some(5),
            },
            cpu_limit: Some(Limit::Unlimited),
            memory: Some(6),
            memory_anon: Some(6),
            memory_peak: Some(7),
            memory_limit: Some(Limit::At(8)),
            events: MemoryEvents {
                max: Some(9),
                oom_kill: Some(10),
                ..MemoryEvents::default()
            },
            pids: Some(11),
            ..ContainerUsage::default()
        };
        assert_eq!(usage, expected);
        let expected = [
            "memory events high and oom: OnlyVersion2",
            "pressure stall information: OnlyVersion2",
            "pids.max: NoValue",
        ];
        assert_eq!(missing, expected);
    }

    #[test]
    fn the_values_of_the_root_of_a_hierarchy_are_not_read() {
        let top = |version, path| Directory {
            may_be_root: true,
            ..directory(version, path)
        };
        let location = Location {
            pids: Some(top(Version::One, "pids")),
            memory: Some(top(Version::One, "memory")),
            unified: Some(top(Version::Two, "unified")),
            cpu: Some(top(Version::Two, "cpu")),
            cpuacct: None,
        };
        let (usage, missing) = read_folder(
            &[
                ("pids/cgroup.sane_behavior", "0\n"),
                ("pids/pids.current", "7\n"),
                ("memory/memory.usage_in_bytes", "8\n"),
                ("unified/cpu.pressure", "some total=1\n"),
                ("cpu/cgroup.events", "populated 1\n"),
                ("cpu/cpu.stat", "nr_periods 9\n"),
            ],
            &location,
        );
        assert_eq!(
            (usage.pids, usage.memory, usage.cpu.periods),
            (None, Some(8), Some(9))
        );
        assert_eq!(usage.cpu_stall, Stall::default());
        assert!(missing.contains(&"pids controller: InRoot".to_owned()));
        assert!(missing.contains(&"pressure stall information: InRoot".to_owned()));
    }
}
