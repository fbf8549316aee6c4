//! `/proc/PID/schedstat`, and that of a thread.

use super::words::{number, words};

/// Nanoseconds that a thread waited on a run queue; `None` if the kernel does not count them.
#[must_use]
pub fn parse_wait(text: &[u8]) -> Option<u64> {
    number(words(text).nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(parse_wait(b"1261792 25 1\n"), Some(25));
        assert_eq!(parse_wait(b"1261792\n"), None);
        assert_eq!(parse_wait(b""), None);
    }
}
