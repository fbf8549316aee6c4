//! The attempts of the target: the starts of its container. A program begins again with each of
//! them, with the same ranks, so nothing of an attempt counts for another.

use std::time::Duration;

use encode::number::float;

use crate::sampling::process_table::ProcessTable;

/// The last attempt of the target.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAttempt {
    /// Its number, from 1; 0 before the first scan.
    pub number: u32,
    /// When its first process started, in nanoseconds since boot.
    began: u64,
}

impl LastAttempt {
    /// Returns the last attempt that was observed.
    pub fn of(table: &ProcessTable) -> Self {
        let start = table.containers.target_start().unwrap_or(0);
        let start = Duration::try_from_secs_f64(float(start) / table.meter.machine.ticks);
        let began = start.unwrap_or_default().as_nanos();
        Self {
            number: table.containers.target_attempt(),
            began: u64::try_from(began).unwrap_or(u64::MAX),
        }
    }

    /// Whether the attempt began after a process recorded something, so that the process belongs to
    /// an earlier attempt. `recorded` is in nanoseconds since boot; 0 if the time is not known.
    pub fn is_after(&self, recorded: u64) -> bool {
        self.number > 1 && recorded > 0 && recorded < self.began
    }

    /// Returns the number of the attempt of a process; see [`Self::is_after`].
    pub fn number_at(&self, recorded: u64) -> u32 {
        self.number.max(1) - u32::from(self.is_after(recorded))
    }
}

/// A value about the last attempt, such as the sums over its processes.
#[derive(Debug, Default)]
pub struct OfLastAttempt<T> {
    number: u32,
    value: T,
}

impl<T: Default> OfLastAttempt<T> {
    /// Starts with an empty value if `number` is a later attempt. Returns the value of the attempt
    /// before; `None` if there is none, or if no later attempt has begun.
    pub fn begin(&mut self, number: u32) -> Option<T> {
        if number <= self.number {
            return None;
        }
        let is_first = std::mem::replace(&mut self.number, number) == 0;
        (!is_first).then(|| std::mem::take(&mut self.value))
    }

    /// Returns the value, so that the caller can add a process of the attempt `number`; `None` if a
    /// later attempt has begun.
    pub fn of(&mut self, number: u32) -> Option<&mut T> {
        self.begin(number);
        (number == self.number).then_some(&mut self.value)
    }

    /// Returns the value of the last attempt.
    pub fn get(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_an_earlier_attempt_are_not_added() {
        let mut sums: OfLastAttempt<u32> = OfLastAttempt::default();
        *sums.of(1).unwrap() += 5;
        assert_eq!(sums.begin(1), None);
        assert_eq!(sums.begin(2), Some(5));
        assert!(sums.of(1).is_none());
        *sums.of(2).unwrap() += 7;
        assert_eq!(*sums.get(), 7);
        *sums.of(3).unwrap() += 1;
        assert_eq!(*sums.get(), 1);
    }

    #[test]
    fn the_time_of_a_record_tells_its_attempt() {
        let at = |number, recorded| {
            let last = LastAttempt { number, began: 500 };
            last.number_at(recorded)
        };
        assert_eq!([at(0, 400), at(1, 400), at(1, 600)], [1, 1, 1]);
        assert_eq!([at(3, 400), at(3, 500), at(3, 0)], [2, 3, 3]);
    }
}
