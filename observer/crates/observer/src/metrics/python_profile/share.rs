//! The part of the log that the last rows of a process may take.
//!
//! A data loader can start new workers in each epoch, and the observer cannot know their number.
//! The process that runs for the whole time matters most, and its rows are written at the end.
//! Therefore the share of a process that ends before the observer is proportional to the square of
//! the part of the time for which it ran. All these processes together leave more than a quarter of
//! the log, however many they are.

use encode::number::float;

/// The estimated bytes of the last rows of a process, which are kept for each that runs.
pub const LAST_BYTES: usize = 65_536;
/// The bytes for any process as long as more than half of the log is free, and the fewest bytes for
/// which a process has rows.
const SMALL: f64 = 16_384.0;
const MIN: f64 = 4096.0;

/// The processes when some of them have ended before the observer.
#[derive(Clone, Copy, Debug)]
pub struct Early {
    /// The number of processes that run.
    pub living: usize,
    /// The number of processes that need room: these, and those that have ended together.
    pub together: usize,
}

/// The room in the log when a process has ended before the observer.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The free bytes, and those that were free when the first process was observed.
    pub free: f64,
    /// See `free`.
    pub whole: f64,
    /// The number of processes that still need room, including this one.
    pub left: usize,
    /// The processes before the first of them was written.
    pub early: Early,
}

impl Room {
    /// Returns the bytes for the rows of a process; `None` if it gets none. `part` is the part of
    /// the time for which it ran, from 0 to 1. Processes that end together leave half of the room
    /// if others run.
    pub fn share(self, part: f64) -> Option<f64> {
        let Early { living, together } = self.early;
        let even = if living == 0 {
            even(self.free, self.left)
        } else {
            even(self.free / 2.0, together)
        };
        let is_half_free = self.free > self.whole / 2.0;
        let least = if is_half_free { SMALL } else { 0.0 };
        let others = self.left.saturating_sub(1) * LAST_BYTES;
        let share = (even * part * part).max(least);
        let share = share.min(self.free - float(others as u64));
        (share >= MIN).then_some(share)
    }
}

/// Returns the bytes for each of some processes with the same room.
pub fn even(free: f64, processes: usize) -> f64 {
    free / float(processes.max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: f64 = 8.0 * 1_048_576.0;
    /// The rows of a worker with many different stacks.
    const WORKER: f64 = 290_000.0;

    fn room(free: f64, left: usize, living: usize, together: usize) -> Room {
        Room {
            free,
            whole: WHOLE,
            left,
            early: Early { living, together },
        }
    }

    /// Returns the free bytes after each epoch, in which `workers` processes run and end beside the
    /// training process.
    fn epochs(count: u32, workers: usize) -> Vec<f64> {
        let mut free = WHOLE;
        let mut after = Vec::new();
        for epoch in 1..=count {
            for left in (2..=workers + 1).rev() {
                let room = room(free, left, 1, workers + 1);
                let share = room.share(1.0 / f64::from(epoch));
                free -= share.unwrap_or(0.0).min(WORKER);
            }
            after.push(free);
        }
        after
    }

    #[test]
    fn workers_of_any_number_of_epochs_leave_room_for_the_training_process() {
        for workers in [1, 8, 64] {
            let after = epochs(2000, workers);
            let [.., before, last] = &after[..] else {
                panic!("too few epochs");
            };
            assert!(*last > WHOLE / 4.0, "{workers} workers leave {last}");
            assert!((before - last).abs() < 1.0, "later workers have no rows");
        }
    }

    #[test]
    fn a_few_short_processes_have_rows() {
        assert_eq!(room(WHOLE, 2, 1, 2).share(0.0), Some(SMALL));
        assert_eq!(room(WHOLE / 2.0, 2, 1, 2).share(0.0), None);
    }

    #[test]
    fn a_process_that_ends_with_its_workers_has_most_of_the_room() {
        let worker = room(WHOLE, 2, 0, 2).share(0.1).unwrap();
        assert!(worker < WHOLE / 100.0, "{worker}");
        let share = room(WHOLE - worker, 1, 0, 2).share(0.95).unwrap();
        assert!(share > WHOLE * 0.8, "{share}");
    }

    #[test]
    fn processes_that_ran_for_the_whole_time_and_end_together_have_the_same_room() {
        let mut free = WHOLE;
        for left in (1..=8).rev() {
            let share = room(free, left, 0, 8).share(1.0).unwrap();
            assert!((share - WHOLE / 8.0).abs() < 1.0, "{share}");
            free -= share;
        }
    }

    #[test]
    fn the_last_rows_of_the_processes_that_run_are_kept() {
        let kept = float(8 * LAST_BYTES as u64);
        let free = kept + MIN;
        assert_eq!(room(kept, 9, 8, 9).share(1.0), None);
        assert_eq!(room(free, 9, 8, 9).share(1.0), Some(MIN));
        assert!(even(kept, 8) >= float(LAST_BYTES as u64));
    }
}
