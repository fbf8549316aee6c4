//! Limits of memory and processes, of both versions of cgroups.

use crate::proc::words::{number, words};

/// The limit of a cgroup, or its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// There is no limit.
    Unlimited,
    /// There is a limit, with this value.
    At(u64),
}

impl Limit {
    /// Parses a limit. If there is no limit, the text is `max`, or for memory in version 1, a
    /// number of bytes that no machine has. Every number from 2^60 counts as no limit. `None` if
    /// the text is invalid.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let word = words(text).next()?;
        if word == b"max" {
            return Some(Self::Unlimited);
        }
        let limit = number(word)?;
        Some(if limit < 1 << 60 {
            Self::At(limit)
        } else {
            Self::Unlimited
        })
    }

    /// The value of the limit; `None` if there is no limit.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::At(limit) => Some(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_read() {
        assert_eq!(Limit::parse(b"33554432\n"), Some(Limit::At(33_554_432)));
        assert_eq!(Limit::parse(b"max\n"), Some(Limit::Unlimited));
        assert_eq!(
            Limit::parse(b"9223372036854771712\n"),
            Some(Limit::Unlimited)
        );
        assert_eq!(Limit::parse(b""), None);
        assert_eq!(Limit::parse(b"-1\n"), None);
        assert_eq!(Limit::At(7).number(), Some(7));
        assert_eq!(Limit::Unlimited.number(), None);
    }
}
