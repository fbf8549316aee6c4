//! The counters of a process or thread: its resource use since its start, in the kernel's units.

use linux::proc::io::Io;
use linux::proc::stat::StatCounters;

/// Counters that only grow. A row shows their growth in its interval. `None` is a counter that
/// cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// The counters in the file `stat` of the process or thread.
    pub stat: StatCounters,
    /// Context switches and run-queue time: of all threads of the process, or of the thread.
    pub switches: Option<Switches>,
    /// Bytes at the storage layer, without the bytes of children.
    pub io: Option<Io>,
}

/// The counters that the kernel keeps only for each thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Switches {
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Nanoseconds on a run queue.
    pub wait: Option<u64>,
}

/// Counters at the beginning of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// The counters at the beginning of the interval.
    pub counters: Counters,
    /// The beginning of the interval, in seconds since boot.
    pub at: f64,
}

impl Base {
    /// The base of a process or thread that started within the current interval: all of its use
    /// belongs to that interval.
    pub fn at_start(started: f64, now: f64) -> Self {
        let counters = Counters {
            switches: Some(Switches {
                wait: Some(0),
                ..Switches::default()
            }),
            io: Some(Io::default()),
            ..Counters::default()
        };
        Self {
            counters,
            at: started.min(now),
        }
    }
}
