//! The state of each process that the observer stores between scans.

use crate::accounts::{Account, Credit};
use crate::containers::ContainerId;
use crate::counters::{Base, Counters};
use crate::identity::Identity;
use crate::proc::io::Io;
use crate::proc::stat::StatGauges;
use crate::proc::status::Memory;
use crate::tasks::{Schedule, Transfer};
use crate::thread_rows::ThreadRow;

/// A number that the observer assigns to a process. The kernel reuses process ids, but keys are
/// unique.
pub type Key = u64;

/// A process of the pod.
#[derive(Default)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// When it started, in ticks since boot.
    pub start: u64,
    /// The number of the last scan that found it.
    pub seen: u64,
    /// Its parent, if known.
    pub parent: Option<Key>,
    /// The kernel's name of the process (comm).
    pub comm: Box<[u8]>,
    /// The address of its stack, which changes when it executes a program.
    pub stack: u64,
    /// Its minor page faults at the last scan.
    pub faults: u64,
    /// Its container.
    pub container: Option<ContainerId>,
    /// The name of its program; `None` until its command line is read.
    pub program: Option<String>,
    /// Whether the name of its program matches target-command; true without target-command.
    pub is_matching: bool,
    /// Whether it is observed, and therefore has rows.
    pub is_observed: bool,
    /// Whether it has ended but its parent has not waited for it yet.
    pub is_zombie: bool,
    /// The value of `command` in its rows, as JSON.
    pub command: Box<[u8]>,
    /// The end of its rows, after the command.
    pub tail: Box<[u8]>,
    /// The resource use of its ended children that the sums of the summary already include. `None`
    /// if neither the process itself nor any of these children was ever observed.
    pub credit: Option<Credit>,
    /// Its counters, if it was ever observed.
    pub measured: Option<Box<Measured>>,
}

impl Process {
    /// Returns the bytes of the stored names of the process.
    #[must_use]
    pub fn name_bytes(&self) -> usize {
        let program = self.program.as_ref().map_or(0, String::len);
        program + self.comm.len() + self.command.len() + self.tail.len()
    }
}

/// The measurements of a process that is or was observed.
#[derive(Default)]
pub struct Measured {
    /// The counters at the last scan.
    pub now: Counters,
    /// The counters at the beginning of the interval.
    pub base: Option<Base>,
    /// Bytes at the storage layer, including those of children that it waited for.
    pub io_with_children: Io,
    /// Its current state: values that are not counters.
    pub state: State,
    /// The largest resident size of its program, in KiB.
    pub peak: u64,
    /// Whether its bytes are unknown because the kernel denies reading its io.
    pub is_hidden: bool,
    /// The number of consecutive scans in which reading its io was denied.
    pub denied_reads: u32,
    /// How its directory of open files can be listed.
    pub fd_access: Access,
    /// How its io can be read.
    pub io_access: Access,
    /// Its user and group.
    pub identity: Option<Identity>,
    /// The part of its counters that the sums already include.
    pub account: Account,
    /// The context switches of each thread at the last scan. `None` until the process has several
    /// threads.
    pub schedules: Option<Vec<Schedule>>,
    /// The bytes of each thread at the last scan. `None` until the process has waited for a child.
    pub transfers: Option<Vec<Transfer>>,
    /// The threads that have rows.
    pub thread_rows: Vec<ThreadRow>,
    /// Whether it ever had more threads than could be read.
    pub has_too_many_threads: bool,
}

/// How the observer can read a file that the kernel shows only to the user of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Not tried since the process executed its program.
    #[default]
    Unknown,
    /// With the observer's own identity.
    Direct,
    /// After assuming the user and group of the process.
    Assumed,
    /// Not at all.
    Denied,
}

/// The values of a process or thread that are not counters, at the last scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// The user id.
    pub uid: u32,
    /// The gauges of its stat.
    pub stat: StatGauges,
    /// The number of open files; `None` if the kernel hides the number.
    pub open_files: Option<u64>,
    /// Memory; a zombie has none.
    pub memory: Option<Memory>,
}
