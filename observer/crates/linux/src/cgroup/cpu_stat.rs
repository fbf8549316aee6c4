//! `cpu.stat` of both versions of cgroups.

use super::flat_keyed::value;

/// Throttling and processor time since the cgroup was created. Values that are missing in the file
/// are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// The periods of the quota in which a task of the cgroup could run.
    pub periods: Option<u64>,
    /// The periods in which the quota was used up.
    pub throttled_periods: Option<u64>,
    /// Nanoseconds for which the run queues of the cgroup were throttled, summed over processors.
    pub throttled: Option<u64>,
    /// Nanoseconds of processor time. In version 1, the file `cpuacct.usage` has this value.
    pub usage: Option<u64>,
}

/// Parses `cpu.stat`. Version 1 has nanoseconds in `throttled_time`, version 2 has microseconds
/// in `throttled_usec` (kernel/sched/core.c, `cpu_cfs_stat_show` and `cpu_extra_stat_show`).
pub fn parse(text: &[u8]) -> CpuStat {
    let microseconds = |key| value(text, key).map(|time| time.saturating_mul(1000));
    CpuStat {
        periods: value(text, b"nr_periods"),
        throttled_periods: value(text, b"nr_throttled"),
        throttled: value(text, b"throttled_time").or_else(|| microseconds(b"throttled_usec")),
        usage: microseconds(b"usage_usec"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_of_version_1_are_parsed() {
        // From Linux 6.18.
        let text =
            b"nr_periods 41\nnr_throttled 40\nthrottled_time 3183447186\nnr_bursts 0\nburst_time 0\n";
        let expected = CpuStat {
            periods: Some(41),
            throttled_periods: Some(40),
            throttled: Some(3_183_447_186),
            usage: None,
        };
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn microseconds_of_version_2_are_converted_to_nanoseconds() {
        // From a container with a quota. Linux 6.13 and later write `nice_usec`.
        let text = b"usage_usec 26916451\nuser_usec 23816548\nsystem_usec 3099902\nnice_usec 0\ncore_sched.force_idle_usec 0\nnr_periods 537\nnr_throttled 435\nthrottled_usec 21712819\nnr_bursts 0\nburst_usec 0\n";
        let expected = CpuStat {
            periods: Some(537),
            throttled_periods: Some(435),
            throttled: Some(21_712_819_000),
            usage: Some(26_916_451_000),
        };
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn a_cgroup_without_the_cpu_controller_has_only_the_processor_time() {
        // From Linux 6.18, a hierarchy of version 2 without controllers.
        let text = b"usage_usec 7\nuser_usec 7\nsystem_usec 0\nnice_usec 0\n";
        let expected = CpuStat {
            usage: Some(7000),
            ..CpuStat::default()
        };
        assert_eq!(parse(text), expected);
        assert_eq!(
            parse(b"usage_usec 18446744073709551615\n").usage,
            Some(u64::MAX)
        );
    }
}
