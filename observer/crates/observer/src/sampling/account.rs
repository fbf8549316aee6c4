//! The resource use of a process that the sums of the summary already include
//! ([`crate::sampling::accounts`]).

/// The part of a process's counters that the sums already include, in the units of the counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// The position of the sum of the process's program; `None` before the first addition.
    pub sum: Option<usize>,
    /// Whether the bytes were unknown at the last addition.
    pub is_hidden: bool,
    /// Ticks of processor time.
    pub cpu: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Context switches.
    pub switches: u64,
    /// Nanoseconds on run queues.
    pub wait: u64,
}

/// The resource use of a process's ended children that the sums of their own programs already
/// include. `Sums::close` subtracts it from the kernel's counters of the children; the rest is
/// unaccounted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    /// Ticks of processor time.
    pub cpu: u64,
    /// Bytes read at the storage layer.
    pub read: u64,
    /// Bytes written at the storage layer.
    pub written: u64,
}

impl Credit {
    /// Adds another credit.
    pub fn add(&mut self, other: Self) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
    }

    /// This credit without another.
    pub fn without(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            read: self.read.saturating_sub(other.read),
            written: self.written.saturating_sub(other.written),
        }
    }

    /// The part of the credit that is at most `limit`.
    pub fn at_most(self, limit: Self) -> Self {
        Self {
            cpu: self.cpu.min(limit.cpu),
            read: self.read.min(limit.read),
            written: self.written.min(limit.written),
        }
    }
}
