//! The state of each process that the observer stores between scans.

use linux::proc::io::Io;
use linux::proc::stat::StatGauges;
use linux::proc::status::Memory;

use crate::runtime::identity::Identity;
use crate::sampling::account::{Account, Credit};
use crate::sampling::containers::ContainerId;
use crate::sampling::counters::{Base, Counters, Switches};
use crate::sampling::tasks::ThreadStates;

/// A number that the observer assigns to a process. The kernel reuses process ids, but keys are
/// unique.
pub type Key = u64;

/// A process of the pod.
#[derive(Default)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The id under which the files of the process are read: `pid`, or the id of a living thread if
    /// the first thread has ended. The first thread then has no memory, files and mounts any more.
    pub file_id: i32,
    /// When the process started, in ticks since boot.
    pub start: u64,
    /// The number of the last scan that found the process.
    pub seen: u64,
    /// The parent process, if known.
    pub parent: Option<Key>,
    /// The kernel's name of the process (comm).
    pub comm: Box<[u8]>,
    /// The address of the stack, which changes when the process executes a program.
    pub stack: u64,
    /// The minor page faults at the last scan.
    pub faults: u64,
    /// The container of the process.
    pub container: Option<ContainerId>,
    /// The number of the attempt of the container, from 1; 0 if the container is not known.
    pub attempt: u32,
    /// The name of the program; `None` until the command line is read.
    pub program: Option<String>,
    /// The number of scans since the name of the program was determined.
    pub scans_of_name: u32,
    /// Whether the name of the program matches target-command; true without target-command.
    pub is_matching: bool,
    /// Whether the process is observed, and therefore has rows.
    pub is_observed: bool,
    /// Whether the process has ended, but its parent has not waited for it yet.
    pub is_zombie: bool,
    /// The value of `command` in the rows of the process, as JSON.
    pub command: Box<[u8]>,
    /// The end of the rows of the process, after the command.
    pub tail: Box<[u8]>,
    /// The resource use of the ended children of the process that the sums of the summary already
    /// include. `None` if neither the process nor any of these children was ever observed.
    pub credit: Option<Credit>,
    /// The counters of the process, if it was ever observed.
    pub measured: Option<Box<Measured>>,
}

impl Process {
    /// Returns the bytes of the stored names of the process.
    pub fn name_bytes(&self) -> usize {
        let program = self.program.as_ref().map_or(0, String::len);
        program + self.comm.len() + self.command.len() + self.tail.len()
    }

    /// Begins the next interval of a process, and of each of its threads that had a row. A process
    /// whose interval is shorter than `min_interval` continues it.
    pub fn begin_interval(&mut self, now: f64, min_interval: f64) {
        let Some(measured) = &mut self.measured else {
            return;
        };
        let is_short = |base: Base| now - base.at < min_interval;
        if !measured.base.is_some_and(is_short) {
            measured.base = Some(Base {
                counters: measured.now,
                at: now,
            });
        }
        for row in measured.thread_rows.iter_mut().filter(|row| row.is_shown) {
            row.base = Base {
                counters: row.now,
                at: now,
            };
        }
    }
}

/// The measurements of a process that is or was observed.
#[derive(Default)]
pub struct Measured {
    /// The counters at the last scan.
    pub now: Counters,
    /// The counters at the beginning of the interval.
    pub base: Option<Base>,
    /// Bytes at the storage layer, including the bytes of children for which the process has
    /// waited.
    pub io_with_children: Io,
    /// The use of the children for which the process had waited at the last scan.
    pub children_at_scan: Credit,
    /// The credit of processes that have ended in the same interval as this process.
    pub late_credit: Credit,
    /// The current state: values that are not counters.
    pub state: State,
    /// The largest resident size of the current program, in KiB.
    pub peak: u64,
    /// Whether the bytes are unknown because the kernel denies reading the io file.
    pub is_hidden: bool,
    /// Whether the first thread of the process waits in the kernel, for example for storage. The
    /// kernel may then have a lock of the process's memory.
    pub is_blocked: bool,
    /// The number of consecutive scans in which reading the io file was denied.
    pub denied_reads: u32,
    /// How the directory of open files can be listed.
    pub fd_access: Access,
    /// How the io file can be read.
    pub io_access: Access,
    /// The user and group of the process.
    pub identity: Option<Identity>,
    /// The part of the counters that the sums already include.
    pub account: Account,
    /// The context switches of each thread at the last scan. `None` until the process has several
    /// threads.
    pub schedules: Option<ThreadStates<Switches>>,
    /// The bytes of each thread at the last scan. `None` until the process has waited for a child.
    pub transfers: Option<ThreadStates<Io>>,
    /// The threads that have rows.
    pub thread_rows: Vec<ThreadRow>,
    /// How often the process was seen to have executed another program.
    pub executions: u32,
    /// `executions` at the last scan that read the threads.
    pub counted_executions: u32,
    /// Whether the process ever had more threads than could be read.
    pub has_too_many_threads: bool,
}

impl Measured {
    /// The use of the children for which the process has waited.
    pub fn children(&self) -> Credit {
        let own = self.now.io.unwrap_or(self.io_with_children);
        Credit {
            cpu: self.now.stat.children_cpu(),
            read: self.io_with_children.read.saturating_sub(own.read),
            written: self.io_with_children.written.saturating_sub(own.written),
        }
    }

    /// The use of the children for which the process has waited since the last scan, if its
    /// counters were read since then.
    pub fn new_children(&self) -> Credit {
        self.children().without(self.children_at_scan)
    }
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
    /// The gauges of the stat file.
    pub stat: StatGauges,
    /// The number of open files; `None` if the kernel hides the number.
    pub open_files: Option<u64>,
    /// The memory; `None` for a zombie.
    pub memory: Option<Memory>,
}

/// A thread that has rows.
pub struct ThreadRow {
    /// The thread id.
    pub tid: i32,
    /// The name of the thread, as JSON.
    pub command: Box<[u8]>,
    /// The counters at this scan.
    pub now: Counters,
    /// The counters at the beginning of the interval.
    pub base: Base,
    /// The current state: values that are not counters.
    pub state: State,
    /// Whether the interval is long enough for a row.
    pub is_shown: bool,
    /// Whether the last reading found the thread.
    pub is_alive: bool,
}
