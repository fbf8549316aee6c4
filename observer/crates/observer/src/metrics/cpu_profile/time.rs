//! The processor time of a profile, and of each of its samples.
//!
//! The timer of the profiler ticks more often than the profiler takes samples if more ticks are due
//! than the kernel sends signals, which is about one each few milliseconds for all threads together
//! (observer/loader/ticks.c). The time of a profile is that of its ticks, and every sample stands
//! for the same part of this time.

use std::cmp::max;

use encode::json::clean;
use linux::read_at::ReadAt;

/// The bytes at the end of a profile in which the line about the ticks is.
const MAX_LINE: usize = 512;
/// The beginning of the line.
const START: &str = "ridealong: ";
/// The part of the processor time, in percent, that a profile may lack. The last ticks before the
/// end are often pending, so a few are always allowed to lack.
const TOLERANCE: u64 = 5;
const FEW: u64 = 10;

/// The ticks of the timer: the line that the loader appends to a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// The ticks that the process has received.
    pub received: u64,
    /// The ticks that the processor time of the process made due; `None` if it is not known.
    pub due: Option<u64>,
    /// When the line was written, in nanoseconds since boot; `None` if it does not say.
    pub written: Option<u64>,
    /// Why the profiler was stopped before the process ended.
    pub stopped: Option<String>,
}

impl Ticks {
    /// Reads the line from a profile of `size` bytes. `None` if there is none, because the process
    /// could not write it.
    pub fn read(file: &(impl ReadAt + ?Sized), size: u64) -> Option<Self> {
        let mut bytes = [0; MAX_LINE];
        let from = size.saturating_sub(MAX_LINE as u64);
        let count = file.read_at(from, &mut bytes);
        let text = bytes[..count].strip_suffix(b"\n")?;
        let line = text.rsplit(|byte| *byte == b'\n').next()?;
        Self::parse(std::str::from_utf8(line).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix(START)?;
        let (numbers, stopped) = match line.split_once(" stopped=") {
            Some((numbers, reason)) => (numbers, Some(clean(reason.as_bytes()))),
            None => (line, None),
        };
        let value = |key: &str| {
            let word = numbers
                .split(' ')
                .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            word.and_then(|digits| digits.parse().ok())
        };
        Some(Self {
            received: value("ticks")?,
            due: value("due"),
            written: value("written"),
            stopped,
        })
    }

    /// Whether ticks are missing: those of threads that block the signal, for example.
    pub fn lacks(&self) -> bool {
        let due = self.due.unwrap_or(if self.stopped.is_some() {
            u64::MAX
        } else {
            self.received
        });
        let difference = due.abs_diff(self.received);
        difference > max(due / 100 * TOLERANCE, FEW)
    }
}

/// The processor time of all samples of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledTime {
    /// The samples.
    pub samples: u64,
    /// The processor time, in microseconds.
    pub microseconds: u64,
}

impl SampledTime {
    /// Returns the time of `ticks` ticks of a timer with a period in microseconds. There are at
    /// least as many ticks as samples. `None` if the time is more than `possible` microseconds.
    pub fn new(samples: u64, ticks: u64, period: u64, possible: u64) -> Option<Self> {
        let ticks = if samples == 0 { 0 } else { max(ticks, samples) };
        let microseconds = ticks.checked_mul(period).filter(|time| *time <= possible)?;
        Some(Self {
            samples,
            microseconds,
        })
    }

    /// Returns the time of the first `count` samples, rounded down. Its differences are the times
    /// of rows that follow each other, which therefore add up to the whole time.
    pub fn of_first(self, count: u64) -> u64 {
        let product = u128::from(count.min(self.samples)) * u128::from(self.microseconds);
        let time = product.checked_div(u128::from(self.samples));
        time.and_then(|time| u64::try_from(time).ok()).unwrap_or(0)
    }

    /// Returns the time of samples, rounded up.
    pub fn of(self, count: u64) -> u64 {
        self.microseconds - self.of_first(self.samples.saturating_sub(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<Ticks> {
        Ticks::read(text.as_bytes(), text.len() as u64)
    }

    #[test]
    fn the_line_about_the_ticks_is_the_last_one() {
        let maps = "10-20 r-xp 0 0:0 0 /a\n".repeat(100);
        let ticks = |received, due, stopped: Option<&str>| {
            let (written, stopped) = (Some(9), stopped.map(str::to_owned));
            Some(Ticks {
                received,
                due,
                written,
                stopped,
            })
        };
        assert_eq!(
            read(&format!("{maps}ridealong: ticks=7 due=8 written=9\n")),
            ticks(7, Some(8), None)
        );
        assert_eq!(
            read("ridealong: ticks=7 written=9 stopped=it ended = early\n"),
            ticks(7, None, Some("it ended = early"))
        );
        for text in [
            "",
            &maps,
            "ridealong: ticks=7 due=8",
            "ridealong: due=8\n",
            "ridealong: ticks=-1 due=8\n",
            "ridealong: ticks=7 due=8\n/later\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn more_than_five_percent_of_the_ticks_may_not_be_missing() {
        let lacks = |received, due, stopped: bool| {
            let stopped = stopped.then(String::new);
            Ticks {
                received,
                due,
                written: None,
                stopped,
            }
            .lacks()
        };
        assert!(!lacks(950, Some(1000), false));
        assert!(lacks(949, Some(1000), false));
        assert!(lacks(1051, Some(1000), false));
        assert!(!lacks(0, Some(10), false));
        assert!(!lacks(990, Some(1000), true));
        assert!(lacks(990, None, true));
        assert!(!lacks(990, None, false));
    }

    #[test]
    fn a_profile_cannot_have_more_time_than_is_possible() {
        let whole = |samples, ticks, period| SampledTime::new(samples, ticks, period, 10_000_000);
        let time = |samples, microseconds| {
            Some(SampledTime {
                samples,
                microseconds,
            })
        };
        assert_eq!(whole(100, 400, 1000), time(100, 400_000));
        assert_eq!(whole(100, 7, 1000), time(100, 100_000));
        assert_eq!(whole(0, 7, 1000), time(0, 0));
        assert_eq!(whole(1, 10_001, 1000), None);
        assert_eq!(whole(u64::MAX, u64::MAX, u64::MAX), None);
    }

    proptest! {
        #[test]
        fn the_times_of_rows_add_up(counts in prop::collection::vec(0..1_000_u64, 1..20), more in 1..u64::MAX >> 24) {
            let samples: u64 = counts.iter().sum();
            let whole = SampledTime { samples, microseconds: more };
            let mut before = 0;
            let mut sum = 0;
            for count in &counts {
                let time = whole.of_first(before + count) - whole.of_first(before);
                prop_assert!(time <= whole.of(*count));
                before += count;
                sum += time;
            }
            prop_assert_eq!(sum, if samples == 0 { 0 } else { more });
            prop_assert!(whole.of(samples) == sum || samples == 0);
        }
    }
}
