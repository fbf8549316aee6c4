//! Parses `/proc/PID/schedstat` and `/proc/PID/task/TID/schedstat`.

use super::words::{number, words};

/// Returns the time that a thread has waited on a run queue, in nanoseconds; `None` if the text
/// does not contain this number.
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
