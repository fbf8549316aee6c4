//! The number of processes, threads and sockets that an observer can watch within the memory limit
//! of its container. In a scan, the observer reads all processes of the pod once.

use linux::cgroup::headroom::own_limit;

use crate::runtime::declaration::Declaration;
use crate::runtime::settings::Settings;

const MEBIBYTE: u64 = 1 << 20;
/// The memory limit of the built-in observers. It is used if the container has no limit, or if the
/// limit cannot be read.
const DEFAULT_LIMIT: u64 = 32 * MEBIBYTE;
/// A larger limit counts as this limit, which is enough for more than 300,000 processes.
const MAX_LIMIT: u64 = 1024 * MEBIBYTE;
/// Bytes for the program itself, and for kernel memory that is charged to its container.
const FIXED: u64 = 8 * MEBIBYTE;
/// Bytes for the live export: the second process, and the copy of the log that waits for it.
const LIVE_EXPORT: u64 = 8 * MEBIBYTE;
/// Bytes for a process: its state between two scans, and its share of the lists of a scan.
const PER_PROCESS: u64 = 1024;
/// The part of `PER_PROCESS` that is for the names of the process.
const PER_NAMES: usize = 128;
/// Bytes for the text of a process's rows in one timepoint, if its names are short.
const PER_ROWS: u64 = 1792;
/// Bytes for a thread: its counters at two consecutive scans.
const PER_THREAD: u64 = 96;
/// Bytes for a thread that has rows.
const PER_THREAD_WITH_ROWS: u64 = 1024;
/// Bytes for a TCP socket: its counters, and the counters of a pair of a process and a peer.
const PER_SOCKET: u64 = 288;
/// The maximum number of sockets whose counters are stored at once.
const MAX_SOCKETS: u64 = 16_384;
/// The maximum number of threads that are read in a scan. Reading this many threads takes about a
/// quarter of a second of processor time.
const MAX_THREADS: u64 = 16_384;

/// The maximum that an observer can watch at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Processes in the process table.
    pub processes: usize,
    /// Bytes of the names of all processes in the table.
    pub names: usize,
    /// Bytes of the rows of a timepoint.
    pub rows: usize,
    /// Threads that are read in a scan.
    pub threads: usize,
    /// TCP sockets; also the maximum number of pairs of a process and a peer.
    pub sockets: usize,
}

impl Capacity {
    /// Derives the capacity from the memory limit of the observer's own container, which a live
    /// export shares.
    pub fn detect(settings: &Settings, has_live_export: bool) -> Self {
        let reserved = if has_live_export { LIVE_EXPORT } else { 0 };
        let limit = own_limit().unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
        let Declaration {
            reads,
            reads_sockets,
            ..
        } = settings.metric;
        let reads_both = reads.has_threads() && *reads_sockets;
        let rest = limit.saturating_sub(reserved);
        Self::within(rest, settings.has_threads, reads_both)
    }

    /// Derives the capacity from a memory limit in bytes. Of the memory without `FIXED`, 32 % are
    /// for processes, 36 % for their rows, 19 % for threads or sockets, and 13 % are spare. An
    /// observer that reads both has half of the 19 % for each.
    pub fn within(limit: u64, has_thread_rows: bool, reads_both: bool) -> Self {
        let hundredth = limit.min(MAX_LIMIT).saturating_sub(FIXED) / 100;
        let per_thread = if has_thread_rows {
            PER_THREAD_WITH_ROWS
        } else {
            PER_THREAD
        };
        let details = if reads_both { 19 } else { 38 } * hundredth / 2;
        let at_least =
            |count: u64, least: u64| usize::try_from(count.max(least)).unwrap_or(usize::MAX);
        let processes = at_least(32 * hundredth / PER_PROCESS, 64);
        Self {
            processes,
            names: processes * PER_NAMES,
            rows: at_least(36 * hundredth, 64 * PER_ROWS),
            threads: at_least((details / per_thread).min(MAX_THREADS), 64),
            sockets: at_least((details / PER_SOCKET).min(MAX_SOCKETS), 64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_has_room_for_thousands_of_processes() {
        let usual = Capacity::within(DEFAULT_LIMIT, false, false);
        assert!(
            usual.processes >= 7500 && usual.rows >= 5000 * 1792 && usual.threads == 16_384,
            "{usual:?}"
        );
        let with_rows = Capacity::within(DEFAULT_LIMIT, true, false);
        assert!((4000..8000).contains(&with_rows.threads), "{with_rows:?}");
        let both = Capacity::within(DEFAULT_LIMIT, false, true);
        let bytes = both.threads as u64 * PER_THREAD + both.sockets as u64 * PER_SOCKET;
        assert!(bytes <= 19 * (DEFAULT_LIMIT - FIXED) / 100, "{both:?}");
        assert!(both.sockets >= 8000 && both.threads == 16_384, "{both:?}");
        let least = Capacity::within(MEBIBYTE, false, false);
        assert_eq!(
            least,
            Capacity {
                processes: 64,
                names: 64 * 128,
                rows: 64 * 1792,
                threads: 64,
                sockets: 64
            }
        );
        assert!(Capacity::within(u64::MAX, false, false).processes < 1 << 20);
    }
}
