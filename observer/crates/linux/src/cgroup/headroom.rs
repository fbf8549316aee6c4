//! The distance of the observer's own container from its memory limit.
//!
//! For each file of `/proc` that is read, the kernel stores a directory entry and an inode: about
//! 10 KiB for a process, measured on Linux 6.18. The container of the observer is charged for them.
//! At the memory limit, the kernel removes the oldest ones. However, it frees their memory only
//! after an RCU grace period (Documentation/RCU of the kernel), which takes many milliseconds. If
//! the observer read thousands of other files in this time, the kernel would kill the observer.

use std::fs;
use std::path::PathBuf;

use super::limit::Limit;

/// The files of the memory limit and of the memory use, of version 2 and of version 1.
const FILES: [(&str, &str); 2] = [
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
];
/// How long the observer rests near the limit, in seconds.
const REST: f64 = 0.01;

/// The memory limit of the observer's own container, in bytes. `None` if there is no limit, or if
/// the limit cannot be read.
pub fn own_limit() -> Option<u64> {
    limit_and_usage().map(|(limit, _)| limit)
}

fn limit_and_usage() -> Option<(u64, &'static str)> {
    FILES.iter().find_map(|(limit, usage)| {
        let limit = Limit::parse(&fs::read(limit).ok()?)?.number()?;
        Some((limit, *usage))
    })
}

/// The distance of the observer's own container from its memory limit.
#[derive(Debug)]
pub struct Headroom {
    /// The file of the memory use, and the bytes from which the observer rests.
    near: Option<(PathBuf, u64)>,
}

impl Headroom {
    /// Reads the memory limit of the observer's own container.
    pub fn detect() -> Self {
        Self {
            near: limit_and_usage().map(|(limit, usage)| (usage.into(), limit / 4 * 3)),
        }
    }

    /// Returns the seconds for which the observer should rest before it reads more files: 0 unless
    /// its container uses more than three quarters of its memory limit.
    pub fn rest(&self) -> f64 {
        let Some((file, near)) = &self.near else {
            return 0.0;
        };
        let usage = fs::read(file).ok().as_deref().and_then(Limit::parse);
        if usage.and_then(Limit::number) > Some(*near) {
            REST
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_observer_rests_only_near_its_memory_limit() {
        let file = std::env::temp_dir().join(format!("headroom-{}", std::process::id()));
        let headroom = Headroom {
            near: Some((file.clone(), 3000)),
        };
        let rest = |usage: &str| {
            fs::write(&file, usage).unwrap();
            headroom.rest()
        };
        assert!(rest("3000\n").abs() < f64::EPSILON);
        assert!(rest("3001\n") >= REST);
        assert!(rest("\n").abs() < f64::EPSILON);
        fs::remove_file(&file).unwrap();
        assert!(headroom.rest().abs() < f64::EPSILON);
        assert!(Headroom { near: None }.rest().abs() < f64::EPSILON);
    }
}
