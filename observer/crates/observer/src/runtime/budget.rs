//! The size limit of the log.
//!
//! By default, a kubelet rotates a log file at 10 MiB, and `kubectl logs` serves only the newest
//! file. The budget therefore counts the bytes of the file. The container runtime splits a line
//! into pieces of 16 KiB, and writes a time stamp, the name of the stream and a tag before each
//! piece (containerd pkg/cri/io/logger.go).

use encode::number::float;

const MEBIBYTE: f64 = 1_048_576.0;
/// Bytes that the container runtime writes before each line or piece of a line.
const PREFIX: usize = 48;
/// The container runtime splits longer lines into pieces of this many bytes.
const PIECE: usize = 16_384;
/// Bytes that are reserved for the closing marker and the summary.
const RESERVE: f64 = 32_768.0;
/// Bytes that must be free before a line of the summary is written.
const LAST: f64 = 1024.0;

/// The maximum size of a log, and the bytes that it already uses.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    total: f64,
    used: f64,
}

impl Budget {
    /// Creates a budget of `mebibytes` MiB.
    pub fn new(mebibytes: f64) -> Self {
        Self {
            total: mebibytes * MEBIBYTE,
            used: 0.0,
        }
    }

    /// Counts a line of `bytes` bytes.
    pub fn count_line(&mut self, bytes: usize) {
        self.used += Self::cost(bytes);
    }

    /// Returns the bytes that a line of `bytes` bytes takes in the log.
    pub fn cost(bytes: usize) -> f64 {
        float_of(bytes + PREFIX * (1 + bytes / PIECE))
    }

    /// Returns the number of bytes used so far.
    pub fn used(&self) -> f64 {
        self.used
    }

    /// Whether there is room for a timepoint of about `bytes` bytes, the closing marker and
    /// the summary.
    pub fn has_room(&self, bytes: f64) -> bool {
        self.used + bytes * 1.1 + 4096.0 < self.total - RESERVE
    }

    /// Returns the bytes that rows may still use; 0 if there are none.
    pub fn room(&self) -> f64 {
        (self.total - RESERVE - 4096.0 - self.used).max(0.0) / 1.1
    }

    /// Returns the bytes that lines whose cost is known may still use; 0 if there are none.
    pub fn rest(&self) -> f64 {
        (self.total - RESERVE - 4096.0 - self.used).max(0.0)
    }

    /// Whether there is room for another line of the summary.
    pub fn has_room_for_summary(&self) -> bool {
        self.used < self.total - LAST
    }

    /// Returns the factor by which the configured interval is multiplied. The factor is 1 in the
    /// first half of the budget. In the second half, it doubles with each sixteenth of the budget,
    /// eight times in total.
    pub fn interval_factor(&self) -> f64 {
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
        assert!((used(0.49).interval_factor() - 1.0).abs() < f64::EPSILON);
        assert!((used(0.5).interval_factor() - 2.0).abs() < f64::EPSILON);
        assert!((used(0.5 + 1.0 / 16.0).interval_factor() - 4.0).abs() < f64::EPSILON);
        assert!((used(0.99).interval_factor() - 256.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_line_has_a_prefix_for_each_piece() {
        let mut budget = Budget::new(1.0);
        budget.count_line(10);
        budget.count_line(40_000);
        assert!((budget.used() - float_of(10 + 48 + 40_000 + 3 * 48)).abs() < f64::EPSILON);
    }

    #[test]
    fn room_is_kept_for_the_closing_marker_and_the_summary() {
        assert!(used(0.9).has_room(1000.0));
        assert!(!used(0.97).has_room(1000.0));
        assert!(used(0.99).has_room_for_summary());
        assert!(!used(0.9995).has_room_for_summary());
    }
}
