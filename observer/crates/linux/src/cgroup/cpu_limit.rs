//! The limit of processor time: a cgroup may use a quota of processor time in each period.

use super::limit::Limit;
use crate::proc::words::{number, words};

/// Parses `cpu.max` of version 2, and returns the limit in thousandths of a processor. `None` if
/// the text is invalid.
pub fn parse_max(text: &[u8]) -> Option<Limit> {
    let mut words = words(text);
    let quota = words.next()?;
    let period = words.next()?;
    if quota == b"max" {
        return Some(Limit::Unlimited);
    }
    divide(number(quota)?, number(period)?)
}

/// Parses `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1, and returns the limit in
/// thousandths of a processor. `None` if the quota is invalid, or if there is a limit and the
/// period is invalid.
pub fn parse_quota(quota: &[u8], period: &[u8]) -> Option<Limit> {
    let quota = words(quota).next()?;
    if quota == b"-1" {
        return Some(Limit::Unlimited);
    }
    divide(number(quota)?, number(words(period).next()?)?)
}

fn divide(quota: u64, period: u64) -> Option<Limit> {
    let limit = quota.checked_mul(1000)?.checked_div(period)?;
    Some(Limit::At(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_version_2_is_parsed() {
        assert_eq!(parse_max(b"150000 100000\n"), Some(Limit::At(1500)));
        assert_eq!(parse_max(b"max 100000\n"), Some(Limit::Unlimited));
        for text in ["", "max", "100000", "1 0", "18446744073709551615 1"] {
            assert_eq!(parse_max(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_two_files_of_version_1_are_parsed() {
        assert_eq!(parse_quota(b"20000\n", b"100000\n"), Some(Limit::At(200)));
        assert_eq!(parse_quota(b"-1\n", b"100000\n"), Some(Limit::Unlimited));
        assert_eq!(parse_quota(b"20000\n", b"0\n"), None);
        assert_eq!(parse_quota(b"", b"100000\n"), None);
    }
}
