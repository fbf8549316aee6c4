//! Clocks: seconds since boot for intervals, and the wall clock for output. Only the wall clock can
//! jump.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

const DAY: u64 = 86_400;

/// Returns the seconds since the node booted. The kernel uses the same clock for the start times of
/// processes.
pub fn since_boot() -> f64 {
    seconds_of(ClockId::CLOCK_BOOTTIME)
}

/// Returns the nanoseconds since the node booted.
pub fn boot_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME);
    let time = time.map(std::time::Duration::from).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time that this program has used, in seconds.
pub fn own_cpu() -> f64 {
    seconds_of(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn seconds_of(clock: ClockId) -> f64 {
    // This cannot fail, because Linux has the clocks of both callers.
    clock_gettime(clock).map_or(0.0, |time| std::time::Duration::from(time).as_secs_f64())
}

/// A time of the wall clock, which may jump. The type has neither arithmetic nor comparison, so
/// that no interval can depend on the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct WallTime {
    /// Seconds since 1970, UTC.
    seconds: u64,
    /// Milliseconds since that second.
    milliseconds: u32,
}

impl WallTime {
    /// Returns the current time; the beginning of 1970 if the clock is set to an earlier time.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// Returns the time of day in the format of jc for pidstat: 9:05:07 is 90507.
    pub fn time_of_day(self) -> u64 {
        let second = self.seconds % DAY;
        second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60
    }

    /// Returns the time in the format `2026-11-22T09:05:07Z`.
    pub fn timestamp(self) -> String {
        format!("{}Z", self.to_second())
    }

    /// Returns the time in the format `2026-11-22T09:05:07.042Z`.
    pub fn precise_timestamp(self) -> String {
        format!("{}.{:03}Z", self.to_second(), self.milliseconds)
    }

    fn to_second(self) -> String {
        let (year, month, day) = date(self.seconds);
        let second = self.seconds % DAY;
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}",
            second % 60
        )
    }

    /// Returns the date in the format of iostat in the C locale: `11/22/26`.
    pub fn short_date(self) -> String {
        let (year, month, day) = date(self.seconds);
        format!("{month:02}/{day:02}/{:02}", year % 100)
    }
}

impl From<SystemTime> for WallTime {
    fn from(time: SystemTime) -> Self {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            seconds: since_1970.as_secs(),
            milliseconds: since_1970.subsec_millis(),
        }
    }
}

/// Returns year, month and day with Howard Hinnant's algorithm `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn date(seconds: u64) -> (u64, u64, u64) {
    let days = seconds / DAY + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(seconds: u64) -> WallTime {
        WallTime {
            seconds,
            milliseconds: 42,
        }
    }

    #[test]
    fn dates_match_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_795_338_307, "2026-11-22T09:05:07Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(wall(seconds).timestamp(), expected);
        }
        assert_eq!(
            wall(1_795_338_307).precise_timestamp(),
            "2026-11-22T09:05:07.042Z"
        );
        assert_eq!(wall(1_795_338_307).short_date(), "11/22/26");
        assert_eq!(wall(1_795_338_307).time_of_day(), 90_507);
    }

    #[test]
    fn the_earliest_and_the_latest_time_have_a_date() {
        let hour = std::time::Duration::from_hours(1);
        let before = WallTime::from(UNIX_EPOCH - hour);
        assert_eq!(before.timestamp(), "1970-01-01T00:00:00Z");
        // The latest time that Linux accepts (include/linux/time64.h, `KTIME_SEC_MAX`).
        let last = wall(9_223_372_036);
        assert_eq!(last.timestamp(), "2262-04-11T23:47:16Z");
        assert_eq!(last.time_of_day(), 234_716);
    }
}
