//! How much of the log is left.
//!
//! A kubelet rotates what it writes at 10 MiB, and `kubectl logs` serves only the newest file. So
//! the kubelet's file is what counts: each line, or each 16 KiB of one, after a time stamp, the
//! stream's name and a tag (containerd pkg/cri/io/logger.go).

use crate::number::float;

const MEBIBYTE: f64 = 1_048_576.0;
/// Bytes that a kubelet writes before each line.
const PREFIX: usize = 48;
/// A line that is longer is written in pieces of so many bytes.
const PIECE: usize = 16_384;
/// Bytes for the closing marker and the summary.
const RESERVE: f64 = 32_768.0;
/// Bytes that are left of it after the last line of the summary.
const LAST: f64 = 1024.0;

/// The bytes that a log may take, and those that it has taken.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    total: f64,
    used: f64,
}

impl Budget {
    /// A budget of some MiB, of which nothing is used.
    #[must_use]
    pub fn new(mebibytes: f64) -> Self {
        Self {
            total: mebibytes * MEBIBYTE,
            used: 0.0,
        }
    }

    /// Counts a line of so many bytes.
    pub fn count_line(&mut self, bytes: usize) {
        self.used += float_of(bytes + PREFIX * (1 + bytes / PIECE));
    }

    /// The bytes that were used until now.
    #[must_use]
    pub fn used(&self) -> f64 {
        self.used
    }

    /// Whether there is room for a timepoint of about so many bytes, and for the end of the log.
    #[must_use]
    pub fn has_room(&self, bytes: f64) -> bool {
        self.used + bytes * 1.1 + 4096.0 < self.total - RESERVE
    }

    /// Whether there is room for another line of the summary.
    #[must_use]
    pub fn has_room_for_summary(&self) -> bool {
        self.used < self.total - LAST
    }

    /// By how much the interval is stretched: not in the first half of the budget, then doubled
    /// with each further sixteenth of it, so that eight doublings lie between the middle of the log
    /// and its end.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        let part = self.used / self.total;
        if part < 0.5 {
            1.0
        } else {
            (1.0 + ((part - 0.5) * 16.0).floor()).exp2()
        }
    }
}

fn float_of(bytes: usize) -> f64 {
    float(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(part: f64) -> Budget {
        Budget {
            used: part * MEBIBYTE,
            ..Budget::new(1.0)
        }
    }

    #[test]
    fn the_interval_doubles_with_each_sixteenth_of_the_second_half() {
        assert!((used(0.49).stretch() - 1.0).abs() < f64::EPSILON);
        assert!((used(0.5).stretch() - 2.0).abs() < f64::EPSILON);
        assert!((used(0.5 + 1.0 / 16.0).stretch() - 4.0).abs() < f64::EPSILON);
        assert!((used(0.99).stretch() - 256.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_line_has_a_prefix_for_each_piece() {
        let mut budget = Budget::new(1.0);
        budget.count_line(10);
        budget.count_line(40_000);
        assert!((budget.used() - float_of(10 + 48 + 40_000 + 3 * 48)).abs() < f64::EPSILON);
    }

    #[test]
    fn room_is_kept_for_the_end() {
        assert!(used(0.9).has_room(1000.0));
        assert!(!used(0.97).has_room(1000.0));
        assert!(used(0.99).has_room_for_summary());
        assert!(!used(0.9995).has_room_for_summary());
    }
}
