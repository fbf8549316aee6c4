//! The counters of a process or thread: what it has used since it started, in the kernel's units.

use crate::proc::io::Io;
use crate::proc::stat::Stat;

/// Counters that grow, of which a row shows the growth. `None` is a counter that cannot be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Minor page faults.
    pub minflt: u64,
    /// Minor page faults of the children that were waited for.
    pub cminflt: u64,
    /// Major page faults.
    pub majflt: u64,
    /// Major page faults of the children that were waited for.
    pub cmajflt: u64,
    /// Ticks in user mode, guests included.
    pub utime: u64,
    /// Ticks in kernel mode.
    pub stime: u64,
    /// Ticks in user mode of the children that were waited for.
    pub cutime: u64,
    /// Ticks in kernel mode of the children that were waited for.
    pub cstime: u64,
    /// Ticks as the virtual processor of a guest.
    pub guest: u64,
    /// The same of the children that were waited for.
    pub cguest: u64,
    /// Ticks that it waited for block I/O.
    pub delay: Option<u64>,
    /// Context switches and waiting, of all threads.
    pub switches: Option<Switches>,
    /// Bytes at the storage layer, of its own.
    pub io: Option<Io>,
}

/// What the kernel counts for each thread by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Switches {
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Nanoseconds on a run queue.
    pub wait: Option<u64>,
}

/// Counters at a moment, in seconds since boot.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// The counters then.
    pub counters: Counters,
    /// The moment.
    pub at: f64,
}

impl Counters {
    /// Takes the counters of a stat. `has_delays`: the kernel counts the time that tasks wait for
    /// block I/O.
    pub fn take_stat(&mut self, stat: &Stat<'_>, has_delays: bool) {
        self.minflt = stat.minflt;
        self.cminflt = stat.cminflt;
        self.majflt = stat.majflt;
        self.cmajflt = stat.cmajflt;
        self.utime = stat.utime;
        self.stime = stat.stime;
        self.cutime = stat.cutime;
        self.cstime = stat.cstime;
        self.guest = stat.guest;
        self.cguest = stat.cguest;
        self.delay = has_delays.then_some(stat.blkio_delay);
    }

    /// Ticks of processor time of its own.
    #[must_use]
    pub fn cpu(&self) -> u64 {
        self.utime.saturating_add(self.stime)
    }

    /// Ticks of processor time of the children that were waited for.
    #[must_use]
    pub fn children_cpu(&self) -> u64 {
        self.cutime.saturating_add(self.cstime)
    }

    /// Whether it ever waited for a child: no program runs without page faults.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.cminflt > 0 || self.cmajflt > 0
    }
}

impl Base {
    /// Where all that a process or thread has used belongs to its first interval.
    #[must_use]
    pub fn at_start(started: f64, now: f64) -> Self {
        let counters = Counters {
            delay: Some(0),
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
