//! The state that is kept of each process between two looks.

use crate::accounts::{Account, Credit};
use crate::counters::{Base, Counters};
use crate::identity::Identity;
use crate::places::Place;
use crate::proc::io::Io;
use crate::proc::stat::Stat;
use crate::proc::status::Memory;
use crate::tasks::{Schedule, Transfer};
use crate::thread_rows::ThreadRow;

/// A number of ours for each process, since the kernel uses an id again for one that started later.
pub type Key = u64;

/// A process of the pod.
#[derive(Default)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// When it started, in ticks since boot.
    pub start: u64,
    /// The number of the look that saw it last.
    pub seen: u64,
    /// Its parent, where that is known.
    pub parent: Option<Key>,
    /// The kernel's name of it.
    pub comm: Box<[u8]>,
    /// Where its stack begins; another one after it executed a program.
    pub stack: u64,
    /// Its minor page faults at the last look.
    pub faults: u64,
    /// The container that it is in.
    pub place: Option<Place>,
    /// The name of its program; `None` before its command line was read.
    pub program: Option<String>,
    /// Whether the name of its program matches, where one is asked for.
    pub is_matching: bool,
    /// Whether it has rows.
    pub is_observed: bool,
    /// Whether it has ended, and its parent has not waited for it.
    pub is_zombie: bool,
    /// The last words of its rows: its command, as JSON.
    pub command: Box<[u8]>,
    /// The last words of its rows behind the command.
    pub tail: Box<[u8]>,
    /// What its children that have ended were seen to use. `None` where none of them was observed,
    /// and it never was.
    pub credit: Option<Credit>,
    /// Its counters, when it was observed at some time.
    pub measured: Option<Box<Measured>>,
}

/// What is known of a process that is observed, or was.
#[derive(Default)]
pub struct Measured {
    /// The counters at the last look.
    pub now: Counters,
    /// Those of the beginning of its interval.
    pub base: Option<Base>,
    /// Bytes at the storage layer, its children's that it waited for included.
    pub whole: Io,
    /// Its current state: values that do not grow.
    pub state: State,
    /// The largest resident size of its program, in KiB.
    pub peak: u64,
    /// Whether its io may not be read.
    pub is_hidden: bool,
    /// How many looks in a row did not get its io, though it is there.
    pub missed: u32,
    /// How its folder of open files is listed.
    pub listing: Access,
    /// How its io is read.
    pub reading: Access,
    /// Who it is.
    pub identity: Option<Identity>,
    /// The part of its counters that is in the sums already.
    pub account: Account,
    /// Each thread's switches at the last look, once there were several.
    pub schedules: Option<Vec<Schedule>>,
    /// Each thread's own bytes at the last look, once it waited for a child.
    pub transfers: Option<Vec<Transfer>>,
    /// The threads that have rows.
    pub thread_rows: Vec<ThreadRow>,
    /// Whether it had more threads at some time than could be read.
    pub is_crowded: bool,
}

/// How something of a process is read that only its own user may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Not tried since it began its program.
    #[default]
    Unknown,
    /// As the observer itself.
    Plain,
    /// As the process's user and group.
    AsIt,
    /// Not at all.
    Denied,
}

/// The values of a process or thread that are not counters, at the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// The user id.
    pub uid: u32,
    /// How many threads there are.
    pub threads: u64,
    /// The processor that it ran on last.
    pub processor: u64,
    /// The real-time priority.
    pub rt_priority: u64,
    /// The scheduling policy.
    pub policy: u64,
    /// How many files are open; `None` where that is hidden.
    pub open_files: Option<u64>,
    /// Memory; a zombie has none.
    pub memory: Option<Memory>,
}

impl State {
    /// Takes what a stat says.
    pub fn take_stat(&mut self, stat: &Stat<'_>) {
        self.threads = stat.threads;
        self.processor = stat.processor;
        self.rt_priority = stat.rt_priority;
        self.policy = stat.policy;
    }
}
