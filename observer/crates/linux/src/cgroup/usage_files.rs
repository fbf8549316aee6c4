//! The files of a container's cgroups that say how much the container has used, kept open. They can
//! be read until the container runtime removes the cgroups, also if the last process has ended and
//! its mounts are gone.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::cpu_limit;
use super::cpu_stat;
use super::flat_keyed::value;
use super::limit::Limit;
use super::location::{Directory, Location, Version};
use super::stall;
use crate::proc::files::{Files, RootDirectory};
use crate::proc::words::{number, words};

/// The maximum bytes of a file.
const MAX_BYTES: usize = 4096;

/// The use of a container since its cgroups were created. Values that cannot be read, and limits
/// that do not exist, are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Nanoseconds of processor time.
    pub cpu: Option<u64>,
    /// The limit of processors, in thousandths.
    pub cpu_limit: Option<u64>,
    /// The periods of the quota in which a task could run.
    pub periods: Option<u64>,
    /// The periods in which the quota was used up.
    pub throttled_periods: Option<u64>,
    /// Nanoseconds for which the run queues were throttled, summed over processors.
    pub throttled: Option<u64>,
    /// Microseconds in which all tasks waited for storage (only version 2).
    pub io_full: Option<u64>,
    /// The most memory that was in use at the same time, in bytes, with the cache of files.
    pub memory_peak: Option<u64>,
    /// The limit of memory in bytes.
    pub memory_limit: Option<u64>,
    /// The number of processes that the kernel killed because memory ran out.
    pub oom_kill: Option<u64>,
}

impl Usage {
    /// Replaces the values that `newer` has.
    fn update(&mut self, newer: Self) {
        *self = Self {
            cpu: newer.cpu.or(self.cpu),
            cpu_limit: newer.cpu_limit,
            periods: newer.periods.or(self.periods),
            throttled_periods: newer.throttled_periods.or(self.throttled_periods),
            throttled: newer.throttled.or(self.throttled),
            io_full: newer.io_full.or(self.io_full),
            memory_peak: newer.memory_peak.or(self.memory_peak),
            memory_limit: newer.memory_limit,
            oom_kill: newer.oom_kill.or(self.oom_kill),
        };
    }
}

/// The open files. A file that cannot be opened is `None`.
pub struct UsageFiles {
    /// The version of the controller of processor time.
    cpu_version: Version,
    /// Version 1: `cpuacct.usage`. In version 2, `cpu.stat` has this time.
    cpu_usage: Option<File>,
    cpu_stat: Option<File>,
    /// Version 2: `cpu.max`; version 1: `cpu.cfs_quota_us`.
    cpu_quota: Option<File>,
    /// Version 1: `cpu.cfs_period_us`.
    cpu_period: Option<File>,
    io_pressure: Option<File>,
    memory_peak: Option<File>,
    memory_limit: Option<File>,
    oom_kill: Option<File>,
}

impl UsageFiles {
    /// Opens the files through the root directory of a process of the container. Files that may
    /// describe the whole node are not opened.
    pub fn open(files: &mut Files, root: &RootDirectory, location: &Location) -> Self {
        let mut open = |directory: &Option<Directory>, [one, two]: [Option<&str>; 2]| {
            let directory = directory.as_ref().filter(|found| !found.may_be_root)?;
            let name = match directory.version {
                Version::One => one,
                Version::Two => two,
            };
            files.open_in(root, &directory.path, name?).ok()
        };
        let Location {
            cpu,
            cpuacct,
            memory,
            unified,
            ..
        } = location;
        Self {
            cpu_version: cpu.as_ref().map_or(Version::One, |found| found.version),
            cpu_usage: open(cpuacct, [Some("cpuacct.usage"), None]),
            cpu_stat: open(cpu, [Some("cpu.stat"), Some("cpu.stat")]),
            cpu_quota: open(cpu, [Some("cpu.cfs_quota_us"), Some("cpu.max")]),
            cpu_period: open(cpu, [Some("cpu.cfs_period_us"), None]),
            io_pressure: open(unified, [None, Some("io.pressure")]),
            memory_peak: open(
                memory,
                [Some("memory.max_usage_in_bytes"), Some("memory.peak")],
            ),
            memory_limit: open(memory, [Some("memory.limit_in_bytes"), Some("memory.max")]),
            oom_kill: open(memory, [Some("memory.oom_control"), Some("memory.events")]),
        }
    }

    /// Updates the use. Returns false if no use can be read any more, because the cgroups have been
    /// removed; the use then stays as it was.
    pub fn read(&self, usage: &mut Usage) -> bool {
        let stat = read(self.cpu_stat.as_ref(), |text| Some(cpu_stat::parse(text)));
        let single = |text: &[u8]| number(words(text).next()?);
        let cpu = read(self.cpu_usage.as_ref(), single).or(stat.and_then(|stat| stat.usage));
        let memory_peak = read(self.memory_peak.as_ref(), single);
        if cpu.is_none() && memory_peak.is_none() {
            return false;
        }
        usage.update(Usage {
            cpu,
            cpu_limit: self.read_cpu_limit().and_then(Limit::number),
            periods: stat.and_then(|stat| stat.periods),
            throttled_periods: stat.and_then(|stat| stat.throttled_periods),
            throttled: stat.and_then(|stat| stat.throttled),
            io_full: read(self.io_pressure.as_ref(), |text| stall::parse(text).full),
            memory_peak,
            memory_limit: read(self.memory_limit.as_ref(), Limit::parse).and_then(Limit::number),
            oom_kill: read(self.oom_kill.as_ref(), |text| value(text, b"oom_kill")),
        });
        true
    }

    fn read_cpu_limit(&self) -> Option<Limit> {
        if self.cpu_version == Version::Two {
            return read(self.cpu_quota.as_ref(), cpu_limit::parse_max);
        }
        let period = read(self.cpu_period.as_ref(), |text| Some(text.to_vec()))?;
        read(self.cpu_quota.as_ref(), |text| {
            cpu_limit::parse_quota(text, &period)
        })
    }
}

fn read<T>(file: Option<&File>, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let mut text = [0; MAX_BYTES];
    let length = file?.read_at(&mut text, 0).ok()?;
    parse(&text[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("ridealong-usage-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn directory(version: Version, path: &str) -> Directory {
        Directory {
            version,
            path: path.into(),
            may_be_root: false,
        }
    }

    fn open(folder: &Path, location: &Location) -> UsageFiles {
        let root = RootDirectory::at(folder).unwrap();
        UsageFiles::open(&mut Files::open().unwrap(), &root, location)
    }

    #[test]
    fn the_use_of_version_1_is_read() {
        let folder = folder(
            "one",
            &[
                (
                    "cpu/cpu.stat",
                    "nr_periods 4\nnr_throttled 3\nthrottled_time 2000\n",
                ),
                ("cpu/cpu.cfs_quota_us", "150000\n"),
                ("cpu/cpu.cfs_period_us", "100000\n"),
                ("cpu/cpuacct.usage", "5000\n"),
                ("memory/memory.max_usage_in_bytes", "7\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/memory.oom_control", "under_oom 0\noom_kill 10\n"),
            ],
        );
        let location = Location {
            cpu: Some(directory(Version::One, "cpu")),
            cpuacct: Some(directory(Version::One, "cpu")),
            memory: Some(directory(Version::One, "memory")),
            ..Location::default()
        };
        let mut usage = Usage::default();
        assert!(open(&folder, &location).read(&mut usage));
        fs::remove_dir_all(folder).unwrap();
        let expected = Usage {
            cpu: Some(5000),
            cpu_limit: Some(1500),
            periods: Some(4),
            throttled_periods: Some(3),
            throttled: Some(2000),
            io_full: None,
            memory_peak: Some(7),
            memory_limit: None,
            oom_kill: Some(10),
        };
        assert_eq!(usage, expected);
    }

    #[test]
    fn the_use_of_version_2_is_read_again_until_its_end() {
        let folder = folder(
            "two",
            &[
                ("cgroup/cpu.stat", "usage_usec 5\nthrottled_usec 2\n"),
                ("cgroup/cpu.max", "max 100000\n"),
                ("cgroup/io.pressure", "some total=5\nfull total=6\n"),
                ("cgroup/memory.peak", "7\n"),
                ("cgroup/memory.max", "4096\n"),
                ("cgroup/memory.events", "oom 0\noom_kill 0\n"),
            ],
        );
        let all = || Some(directory(Version::Two, "cgroup"));
        let location = Location {
            cpu: all(),
            cpuacct: all(),
            memory: all(),
            pids: all(),
            unified: all(),
        };
        let files = open(&folder, &location);
        let mut usage = Usage::default();
        assert!(files.read(&mut usage));
        let expected = Usage {
            cpu: Some(5000),
            cpu_limit: None,
            periods: None,
            throttled_periods: None,
            throttled: Some(2000),
            io_full: Some(6),
            memory_peak: Some(7),
            memory_limit: Some(4096),
            oom_kill: Some(0),
        };
        assert_eq!(usage, expected);
        fs::write(folder.join("cgroup/memory.peak"), "8000\n").unwrap();
        assert!(files.read(&mut usage));
        assert_eq!(usage.memory_peak, Some(8000));
        for name in ["cpu.stat", "memory.peak"] {
            fs::write(folder.join("cgroup").join(name), "").unwrap();
        }
        assert!(!files.read(&mut usage));
        assert_eq!(usage.memory_peak, Some(8000));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_the_whole_node_are_not_opened() {
        let folder = folder("node", &[("cgroup/memory.peak", "7\n")]);
        let location = Location {
            memory: Some(Directory {
                may_be_root: true,
                ..directory(Version::Two, "cgroup")
            }),
            ..Location::default()
        };
        assert!(!open(&folder, &location).read(&mut Usage::default()));
        fs::remove_dir_all(folder).unwrap();
    }
}
