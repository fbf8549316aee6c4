//! Parses `/proc/meminfo`.

use super::words::{lines, number_after};

/// Returns the node's memory in KiB.
pub fn parse_total(text: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| number_after(line, b"MemTotal:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_parsed() {
        assert_eq!(
            parse_total(b"MemTotal:       24684092 kB\nMemFree: 1 kB\n"),
            Some(24_684_092)
        );
        assert_eq!(parse_total(b""), None);
    }
}
