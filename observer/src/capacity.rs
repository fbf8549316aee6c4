//! How many processes and threads an observer can watch in the memory that its container has.

use crate::proc::words::{number, words};

const MEBIBYTE: u64 = 1 << 20;
/// What the built-in metrics' containers have, where nothing else is known.
const USUAL: u64 = 32 * MEBIBYTE;
/// More is of no use: a node has no more processes.
const MOST: u64 = 1024 * MEBIBYTE;
/// The program itself, and what the kernel keeps for it.
const FIXED: u64 = 4 * MEBIBYTE;
/// Bytes for a process: what is known of it between two looks, and its rows on their way.
const PER_PROCESS: u64 = 1024;
/// Bytes for the text of a process's rows in one timepoint.
const PER_ROWS: u64 = 1792;
/// Bytes for a thread: its counters at this look and at the last.
const PER_THREAD: u64 = 96;
/// Bytes for a thread that has rows.
const PER_THREAD_WITH_ROWS: u64 = 1024;
/// Reading more threads takes longer than a quarter of a second of processor time.
const MOST_THREADS: u64 = 16_384;

/// How much is watched at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Processes that are known.
    pub processes: usize,
    /// Processes that have rows in a timepoint.
    pub rows: usize,
    /// Threads that are read in a look.
    pub threads: usize,
}

impl Capacity {
    /// From the memory limit of the observer's own container.
    #[must_use]
    pub fn find(has_thread_rows: bool) -> Self {
        let limits = [
            "/sys/fs/cgroup/memory.max",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        let limit = limits
            .iter()
            .find_map(|path| parse_limit(&std::fs::read(path).ok()?));
        Self::within(limit.unwrap_or(USUAL), has_thread_rows)
    }

    /// What a limit of so many bytes has room for: two sixths of it are for processes, two for
    /// their rows, and one for threads; one is left.
    #[must_use]
    pub fn within(limit: u64, has_thread_rows: bool) -> Self {
        let part = limit.min(MOST).saturating_sub(FIXED) / 6;
        let per_thread = if has_thread_rows {
            PER_THREAD_WITH_ROWS
        } else {
            PER_THREAD
        };
        let at_least =
            |count: u64, least: u64| usize::try_from(count.max(least)).unwrap_or(usize::MAX);
        Self {
            processes: at_least(2 * part / PER_PROCESS, 64),
            rows: at_least(2 * part / PER_ROWS, 64),
            threads: at_least((part / per_thread).min(MOST_THREADS), 64),
        }
    }
}

/// A limit in bytes; `None` where there is none, which version 1 of cgroups writes as a number
/// beyond all memory.
fn parse_limit(text: &[u8]) -> Option<u64> {
    number(words(text).next()?).filter(|limit| *limit < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_limit_has_room_for_thousands() {
        let usual = Capacity::within(USUAL, false);
        assert!(
            usual.processes >= 8000 && usual.rows >= 4000 && usual.threads == 16_384,
            "{usual:?}"
        );
        let with_rows = Capacity::within(USUAL, true);
        assert!((4000..8000).contains(&with_rows.threads), "{with_rows:?}");
        let least = Capacity::within(MEBIBYTE, false);
        assert_eq!(
            least,
            Capacity {
                processes: 64,
                rows: 64,
                threads: 64
            }
        );
        assert!(Capacity::within(u64::MAX, false).processes < 1 << 20);
    }

    #[test]
    fn limits_of_both_versions_are_read() {
        assert_eq!(parse_limit(b"33554432\n"), Some(USUAL));
        assert_eq!(parse_limit(b"max\n"), None);
        assert_eq!(parse_limit(b"9223372036854771712\n"), None);
        assert_eq!(parse_limit(b""), None);
    }
}
