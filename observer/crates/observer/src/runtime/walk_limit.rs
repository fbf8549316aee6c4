//! The limit for walks of page tables. While the kernel walks the page tables of a process, it
//! has a lock of the process's memory (`mmap_lock`). A thread that changes or extends this memory
//! waits for the lock.
//!
//! If the observer uses up the CPU limit of its container, the kernel stops it until the next
//! period. Before Linux 6.18, the kernel does this even during a walk, and the observer keeps the
//! lock for so long. Therefore a walk must be short, and needs enough processor time at its start.

use std::fs;

use encode::number::float;
use linux::cgroup::cpu_limit::{parse_max, parse_quota};
use linux::cgroup::limit::Limit;
use linux::clock;
use linux::proc::words::{number, words};

use crate::runtime::session::Session;

/// The KiB of resident memory that a walk covers in a millisecond. Measured on Linux 6.18:
/// `smaps_rollup` and `numa_maps` took 8 to 9 ms each for 600 MiB, without huge pages.
const WALKED: f64 = 65_536.0;
/// The KiB of resident memory above which the page tables are never walked. Walking this much takes
/// about 30 ms.
const MAX_RESIDENT: f64 = 2_097_152.0;
/// The part of a period's processor time that walks may use. Scans use the rest.
const PART: f64 = 0.5;

/// The limit.
#[derive(Debug)]
pub struct WalkLimit {
    quota: Option<Quota>,
    /// The processor time of the observer at the last rest.
    rested: f64,
}

/// The CPU limit of the observer's container, in seconds: processor time in each period.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Quota {
    time: f64,
    period: f64,
}

impl WalkLimit {
    /// Derives the limit from the CPU limit of the observer's own container.
    pub fn detect() -> Self {
        Self {
            quota: Quota::detect(),
            rested: 0.0,
        }
    }

    /// The KiB of resident memory above which the page tables of a process are not walked.
    pub fn max_resident(&self) -> u64 {
        let most = self
            .quota
            .map_or(f64::INFINITY, |quota| quota.time * PART * 1000.0 * WALKED);
        // The number is positive and small.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = most.min(MAX_RESIDENT) as u64;
        most
    }

    /// Call this method before a walk of `resident` KiB. If the processor time that is left in this
    /// period may be too little, waits for a period. Returns false if a signal has stopped the
    /// observer.
    pub fn prepare(&mut self, resident: u64, session: &mut Session) -> bool {
        let Some(quota) = self.quota else {
            return !session.is_stopping();
        };
        let cost = float(resident) / WALKED / 1000.0;
        if clock::own_cpu() - self.rested + cost > quota.time * PART {
            session.pause(quota.period);
            self.rested = clock::own_cpu();
        }
        !session.is_stopping()
    }
}

impl Quota {
    fn detect() -> Option<Self> {
        let read = |name: &str| fs::read(format!("/sys/fs/cgroup/{name}")).ok();
        if let Some(text) = read("cpu.max") {
            return Self::new(parse_max(&text)?, words(&text).nth(1)?);
        }
        let quota = read("cpu/cpu.cfs_quota_us")?;
        let period = read("cpu/cpu.cfs_period_us")?;
        Self::new(parse_quota(&quota, &period)?, words(&period).next()?)
    }

    /// `limit` is in thousandths of a processor, and `period` in microseconds.
    fn new(limit: Limit, period: &[u8]) -> Option<Self> {
        let period = float(number(period)?) / 1e6;
        let time = float(limit.number()?) / 1000.0 * period;
        Some(Self { time, period })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn max_resident(limit: Limit, period: &[u8]) -> u64 {
        let limit = WalkLimit {
            quota: Quota::new(limit, period),
            rested: 0.0,
        };
        limit.max_resident() >> 10
    }

    #[test]
    fn a_walk_takes_at_most_half_of_the_processor_time_of_a_period() {
        assert_eq!(max_resident(Limit::At(100), b"100000"), 320);
        assert_eq!(max_resident(Limit::At(100), b"10000"), 32);
        assert_eq!(max_resident(Limit::At(500), b"100000"), 1600);
        assert_eq!(max_resident(Limit::At(4000), b"100000"), 2048);
        assert_eq!(max_resident(Limit::Unlimited, b"100000"), 2048);
    }
}
