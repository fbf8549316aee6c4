//! Pressure stall information: `cpu.pressure`, `memory.pressure` and `io.pressure`, only in version
//! 2 (Linux's documentation, accounting/psi).

use crate::proc::words::{lines, number, words};

/// The microseconds in which tasks waited for a resource, since the cgroup was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// At least one task waited.
    pub some: Option<u64>,
    /// All tasks that were not idle waited at the same time. Before Linux 5.13, `cpu.pressure` does
    /// not have this value.
    pub full: Option<u64>,
}

/// Parses a file with pressure stall information. A value that is missing or invalid is `None`.
pub fn parse(text: &[u8]) -> Stall {
    let total = |kind: &[u8]| {
        lines(text).find_map(|line| {
            let mut words = words(line);
            (words.next()? == kind).then_some(())?;
            number(words.find_map(|word| word.strip_prefix(b"total="))?)
        })
    };
    Stall {
        some: total(b"some"),
        full: total(b"full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_are_parsed() {
        // From Linux 6.18.
        let text = b"some avg10=97.22 avg60=98.06 avg300=88.58 total=16631814314\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=92862781\n";
        let expected = Stall {
            some: Some(16_631_814_314),
            full: Some(92_862_781),
        };
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn a_total_may_be_missing() {
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let expected = Stall {
            some: Some(7),
            full: None,
        };
        assert_eq!(parse(text), expected);
        assert_eq!(parse(b"some avg10=0.00\nfull total=x\n"), Stall::default());
    }
}
