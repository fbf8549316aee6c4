//! A process whose memory is looked for, or was found.

use std::fs::File;

use linux::proc::files::Task;
use linux::proc::stat;
use linux::proc::status::parse_inner_pid;

use super::shared_memory::{self, Search};
use crate::sampling::process::Process;
use crate::sampling::process_table::ProcessTable;

/// The memory of a tool.
pub struct Kind {
    /// The text of the link to the memory in `/proc/PID/fd` (`memfd_create(2)`).
    pub link: &'static [u8],
    /// Whether a file is the memory of a process with this id.
    pub is_of: fn(&File, u32) -> bool,
    /// The maximum seconds between two searches for the memory of a process. A process that has
    /// none can make it later, or execute another program.
    pub max_pause: f64,
}

impl Kind {
    /// Looks for the memory that a process shares.
    pub fn find(&self, table: &mut ProcessTable, pid: i32) -> Search {
        let status = table.meter.files.read_status(Task::Process(pid));
        let inner = status.ok().and_then(parse_inner_pid).unwrap_or(pid);
        let is_of = |file: &File| (self.is_of)(file, inner.cast_unsigned());
        shared_memory::find(table, pid, self.link, is_of)
    }
}

/// A process.
pub struct Observed {
    /// The process id in the PID namespace of the pod.
    pub pid: i32,
    /// The end of its rows: the container and the program.
    pub tail: Box<[u8]>,
    /// The name of the program.
    pub program: String,
    /// Whether its last rows are those of its end. A process that still runs has last rows at the
    /// end of the observer.
    pub has_ended: bool,
    /// The memory that the tool in the process shares; `None` until it is found.
    memory: Option<File>,
    /// How often the process had executed a program when the memory was found.
    executions: u32,
    /// The next search, and the pause after it, in seconds since boot.
    due: f64,
    pause: f64,
}

impl Observed {
    /// A process whose memory was not looked for yet.
    #[must_use]
    pub fn new(process: &Process) -> Self {
        let mut observed = Self {
            pid: process.pid,
            tail: Box::default(),
            program: String::new(),
            has_ended: true,
            memory: None,
            executions: 0,
            due: 0.0,
            pause: 1.0,
        };
        observed.update_names(process);
        observed
    }

    /// Takes the names of the process, unless it has executed another program since its memory was
    /// found. Returns whether it has.
    pub fn update_names(&mut self, process: &Process) -> bool {
        let executions = process.measured.as_ref().map_or(0, |it| it.executions);
        if self.memory.is_some() && executions != self.executions {
            return true;
        }
        self.executions = executions;
        self.tail.clone_from(&process.tail);
        self.program = process.program.clone().unwrap_or_default();
        false
    }

    /// Returns the memory, if it was found.
    #[must_use]
    pub fn memory(&self) -> Option<&File> {
        self.memory.as_ref()
    }

    /// Whether the memory was found.
    #[must_use]
    pub fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Looks for the memory if that is due. Returns why it cannot be read.
    pub fn look(&mut self, kind: &Kind, table: &mut ProcessTable, now: f64) -> Option<String> {
        if self.memory.is_some() || now < self.due {
            return None;
        }
        self.due = now + self.pause;
        self.pause = (2.0 * self.pause).min(kind.max_pause);
        match kind.find(table, self.pid) {
            Search::Found(file) => self.memory = Some(file),
            Search::Denied { why, help } => return Some(format!("{why}{help}")),
            Search::Missing | Search::Unknown => {}
        }
        None
    }
}

/// Whether a process runs, and is no zombie.
pub fn is_running(table: &mut ProcessTable, pid: i32) -> bool {
    let text = table.meter.files.read(Task::Process(pid), "stat");
    let stat = text.ok().and_then(stat::parse);
    stat.is_some_and(|stat| stat.state != b'Z')
}
