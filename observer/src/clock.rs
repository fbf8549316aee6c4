//! The time: seconds since boot for intervals, since a jump of the wall clock does not change them,
//! and the time of day for people.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

const DAY: u64 = 86_400;

/// Seconds since the node started, in which processes' start times are counted, too.
#[must_use]
pub fn since_boot() -> f64 {
    seconds_of(ClockId::CLOCK_BOOTTIME)
}

/// Seconds of processor time that this program has used.
#[must_use]
pub fn own_cpu() -> f64 {
    seconds_of(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn seconds_of(clock: ClockId) -> f64 {
    // Linux has both clocks, and nothing else can fail.
    clock_gettime(clock).map_or(0.0, |time| std::time::Duration::from(time).as_secs_f64())
}

/// Seconds since 1970 by the wall clock, UTC.
#[must_use]
pub fn wall() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// The time of day as pidstat prints it and jc reads it: 9:05:07 is 90507.
#[must_use]
pub fn time_of_day(wall: u64) -> u64 {
    let second = wall % DAY;
    second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60
}

/// A time as `2026-11-22T09:05:07Z`.
#[must_use]
pub fn timestamp(wall: u64) -> String {
    let (year, month, day) = date(wall);
    let second = wall % DAY;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

/// A date as iostat prints it in the C locale: `11/22/26`.
#[must_use]
pub fn short_date(wall: u64) -> String {
    let (year, month, day) = date(wall);
    format!("{month:02}/{day:02}/{:02}", year % 100)
}

/// Year, month and day, by Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn date(wall: u64) -> (u64, u64, u64) {
    let days = wall / DAY + 719_468;
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

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (wall, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_795_338_307, "2026-11-22T09:05:07Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(wall), expected);
        }
        assert_eq!(short_date(1_795_338_307), "11/22/26");
        assert_eq!(time_of_day(1_795_338_307), 90_507);
    }
}
