//! What the kernel shows by thread only: context switches, waiting for a processor, and own I/O. A
//! process's sum is what each of its threads added since the last look; what a thread did after its
//! last look is lost with it.

use crate::counters::Switches;
use crate::proc::io::Io;

/// A thread's switches at the last look.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The thread's id.
    pub tid: i32,
    /// Its switches.
    pub switches: Switches,
}

/// A thread's own bytes at the last look.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The thread's id.
    pub tid: i32,
    /// Its bytes.
    pub io: Io,
}

/// Adds to a sum by how much each thread's switches grew, and keeps them. `now` is sorted by thread
/// afterwards.
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
            // A thread that ended while it was read did what it had done by the last look.
            None => switches.wait = before.wait,
        }
    }
    *last = now;
}

/// Adds to a sum by how many bytes each thread's own grew, and keeps them.
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
    fn a_sum_keeps_what_threads_did_that_are_gone() {
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
}
