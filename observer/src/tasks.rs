//! Sums of counters that the kernel keeps only for each thread: context switches, run-queue time,
//! and I/O without children. Each scan adds the growth of every thread since the last scan to the
//! sum of its process. The growth between the last scan and the end of a thread is lost.

use crate::counters::Switches;
use crate::proc::io::Io;

/// The context switches and the run-queue time of a thread at the last scan.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The thread's id.
    pub tid: i32,
    /// The context switches and the run-queue time of the thread.
    pub switches: Switches,
}

/// The bytes of a thread at the last scan.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The thread's id.
    pub tid: i32,
    /// The bytes of the thread.
    pub io: Io,
}

/// Adds the growth of each thread's context switches to a sum. Replaces `last` by `now`, sorted by
/// thread id.
pub fn add_switches(sum: &mut Switches, last: &mut Vec<Schedule>, mut now: Vec<Schedule>) {
    now.sort_unstable_by_key(|thread| thread.tid);
    for thread in &mut now {
        let found = last.binary_search_by_key(&thread.tid, |before| before.tid);
        let before = found.map_or(Switches::default(), |at| last[at].switches);
        let switches = &mut thread.switches;
        sum.voluntary += switches.voluntary.saturating_sub(before.voluntary);
        sum.involuntary += switches.involuntary.saturating_sub(before.involuntary);
        match switches.wait {
            Some(wait) => {
                let growth = wait.saturating_sub(before.wait.unwrap_or(0));
                sum.wait = Some(sum.wait.unwrap_or(0) + growth);
            }
            // If the thread ended while it was read, the value of the last scan is kept.
            None => switches.wait = before.wait,
        }
    }
    *last = now;
}

/// Adds the growth of each thread's bytes to a sum. Replaces `last` by `now`, sorted by thread id.
pub fn add_transfers(sum: &mut Io, last: &mut Vec<Transfer>, mut now: Vec<Transfer>) {
    now.sort_unstable_by_key(|thread| thread.tid);
    for thread in &now {
        let found = last.binary_search_by_key(&thread.tid, |before| before.tid);
        let before = found.map_or(Io::default(), |at| last[at].io);
        sum.read += thread.io.read.saturating_sub(before.read);
        sum.written += thread.io.written.saturating_sub(before.written);
        sum.cancelled += thread.io.cancelled.saturating_sub(before.cancelled);
    }
    *last = now;
}

/// Adds the growth of each thread's counter to a sum. Replaces `last` by `now`, sorted by thread
/// id. Both lists contain the id and the counter of each thread.
pub fn add_counts(sum: &mut u64, last: &mut Vec<(i32, u64)>, mut now: Vec<(i32, u64)>) {
    now.sort_unstable();
    for (tid, count) in &now {
        let found = last.binary_search_by_key(tid, |(tid, _)| *tid);
        let before = found.map_or(0, |at| last[at].1);
        *sum += count.saturating_sub(before);
    }
    *last = now;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(tid: i32, voluntary: u64, wait: Option<u64>) -> Schedule {
        Schedule {
            tid,
            switches: Switches {
                voluntary,
                involuntary: 1,
                wait,
            },
        }
    }

    #[test]
    fn a_sum_includes_threads_that_have_ended() {
        let mut sum = Switches::default();
        let mut last = Vec::new();
        add_switches(
            &mut sum,
            &mut last,
            vec![schedule(9, 5, Some(100)), schedule(7, 10, Some(50))],
        );
        assert_eq!(
            (sum.voluntary, sum.involuntary, sum.wait),
            (15, 2, Some(150))
        );
        add_switches(
            &mut sum,
            &mut last,
            vec![schedule(7, 12, None), schedule(11, 1, Some(4))],
        );
        assert_eq!(
            (sum.voluntary, sum.involuntary, sum.wait),
            (18, 3, Some(154))
        );
        add_switches(&mut sum, &mut last, vec![schedule(7, 12, Some(60))]);
        assert_eq!((sum.voluntary, sum.wait), (18, Some(164)));
    }

    #[test]
    fn bytes_are_added_once() {
        let io = |read, written| Io {
            read,
            written,
            cancelled: 0,
        };
        let mut sum = Io::default();
        let mut last = Vec::new();
        add_transfers(
            &mut sum,
            &mut last,
            vec![Transfer {
                tid: 7,
                io: io(1, 2),
            }],
        );
        add_transfers(
            &mut sum,
            &mut last,
            vec![
                Transfer {
                    tid: 7,
                    io: io(1, 5),
                },
                Transfer {
                    tid: 8,
                    io: io(3, 0),
                },
            ],
        );
        assert_eq!(sum, io(4, 5));
    }

    #[test]
    fn a_counter_includes_threads_that_have_ended() {
        let (mut sum, mut last) = (0, Vec::new());
        add_counts(&mut sum, &mut last, vec![(9, 5), (7, 10)]);
        add_counts(&mut sum, &mut last, vec![(7, 12), (11, 1)]);
        assert_eq!((sum, last), (18, vec![(7, 12), (11, 1)]));
    }
}
