//! The processes whose memory is looked for, or was found.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;

use linux::clock;
use linux::proc::files::Task;
use linux::proc::stat;
use linux::proc::status::parse_inner_pid;

use super::folder::{DRAIN, Folder};
use super::shared_memory::{self, Search};
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::Run;

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

/// A process, and what an observer knows of it.
pub struct Observed<T> {
    /// The process id in the PID namespace of the pod.
    pub pid: i32,
    /// The attempt of its container.
    pub attempt: u32,
    /// The end of its rows: the container and the program.
    pub tail: Box<[u8]>,
    /// The name of the program.
    pub program: String,
    /// Whether its last rows are those of its end. A process that still runs has last rows at the
    /// end of the observer.
    pub has_ended: bool,
    /// What the observer knows of it.
    pub own: T,
    /// The memory that the tool in the process shares; `None` until it is found.
    memory: Option<File>,
    /// How often the process had executed a program when the memory was found.
    executions: u32,
    /// The next search, and the pause after it, in seconds since boot.
    due: f64,
    pause: f64,
}

impl<T: Default> Observed<T> {
    /// A process whose memory was not looked for yet.
    fn new(process: &Process) -> Self {
        let mut observed = Self {
            pid: process.pid,
            attempt: process.attempt,
            tail: Box::default(),
            program: String::new(),
            has_ended: true,
            own: T::default(),
            memory: None,
            executions: 0,
            due: 0.0,
            pause: 1.0,
        };
        observed.update_names(process);
        observed
    }

    /// Takes the names of the process. A memory that was found stays, so the process must not have
    /// executed another program since the tool has made it.
    fn update_names(&mut self, process: &Process) {
        self.executions = executions(process);
        self.tail.clone_from(&process.tail);
        self.program = process.program.clone().unwrap_or_default();
    }

    /// Takes the names and the memory of a process that may have executed another program. Returns
    /// the process as it was before, if its memory was that of an earlier program. A memory is that
    /// of one program only, because its file is closed when the process executes another one.
    fn take_program(&mut self, process: &Process, search: Search) -> Option<Self> {
        let found = match search {
            Search::Found(file) => Some(file),
            // The process is ending, or the next scan shows what it executes.
            Search::Unknown => return None,
            Search::Missing | Search::Denied { .. } => None,
        };
        let is_same = match (&self.memory, &found) {
            (Some(memory), Some(found)) => is_same_file(memory, found),
            _ => false,
        };
        if is_same {
            // The memory was found after the scan in which the process had its earlier names.
            self.update_names(process);
            return None;
        }
        let mut after = Self::new(process);
        after.memory = found;
        Some(std::mem::replace(self, after))
    }

    /// Returns the memory, if it was found.
    pub fn memory(&self) -> Option<&File> {
        self.memory.as_ref()
    }

    /// Whether the memory was found.
    fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Looks for the memory if that is due. Returns why it cannot be read.
    fn look(&mut self, kind: &Kind, table: &mut ProcessTable, now: f64) -> Option<String> {
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

/// The observed processes, and those of them that have ended.
#[derive(Default)]
pub struct ObservedProcesses<T> {
    living: BTreeMap<Key, Observed<T>>,
    /// The processes with a memory that have ended, or have executed another program, until their
    /// last rows are written.
    ended: Vec<Observed<T>>,
}

impl<T: Default> ObservedProcesses<T> {
    /// Looks for the memory of the observed processes, and separates those that have ended. A
    /// notice says of which processes something cannot be read, such as `the Python stacks`.
    pub fn look(
        &mut self,
        kind: &Kind,
        something: &str,
        table: &mut ProcessTable,
        folder: &mut Folder,
    ) {
        let now = table.now;
        for key in table.observed.clone() {
            let process = table.all.get(&key);
            let Some(process) = process.filter(|process| !process.is_zombie) else {
                continue;
            };
            let observed = self.living.entry(key);
            let observed = observed.or_insert_with(|| Observed::new(process));
            if observed.has_memory() && observed.executions != executions(process) {
                let search = kind.find(table, observed.pid);
                let process = table.all.get(&key);
                self.ended
                    .extend(process.and_then(|process| observed.take_program(process, search)));
            } else if !observed.has_memory() {
                observed.update_names(process);
            }
            if let Some(why) = observed.look(kind, table, now) {
                let (pid, program) = (observed.pid, &observed.program);
                folder.note(format!(
                    "{something} of process {pid} ({program}) cannot be read: {why}"
                ));
            }
        }
        let is_over = |key: &Key| table.all.get(key).is_none_or(|process| process.is_zombie);
        let over: Vec<Key> = self.living.keys().copied().filter(is_over).collect();
        let over = over.iter().filter_map(|key| self.living.remove(key));
        self.ended.extend(over.filter(Observed::has_memory));
    }

    /// Returns a process that has not ended, if its memory was found.
    pub fn get(&mut self, key: &Key) -> Option<&mut Observed<T>> {
        self.living.get_mut(key).filter(|it| it.has_memory())
    }

    /// Returns the number of processes with a memory that have not ended.
    pub fn count_living(&self) -> usize {
        self.living.values().filter(|it| it.has_memory()).count()
    }

    /// Returns the number of processes that still need last rows.
    pub fn count(&self) -> usize {
        self.count_living() + self.ended.len()
    }

    /// Moves all processes to those that need last rows, at the end of the observer.
    pub fn end(&mut self, table: &mut ProcessTable) {
        let living = std::mem::take(&mut self.living).into_values();
        for mut process in living.filter(Observed::has_memory) {
            process.has_ended = !is_running(table, process.pid);
            self.ended.push(process);
        }
    }

    /// Takes the processes that have ended out of this list.
    pub fn take_ended(&mut self) -> Ended<T> {
        Ended {
            processes: std::mem::take(&mut self.ended),
            others: self.count_living(),
        }
    }

    /// Puts processes back whose last rows are to be written later.
    pub fn put_back(&mut self, processes: Vec<Observed<T>>) {
        self.ended = processes;
    }
}

/// Processes that have ended.
pub struct Ended<T> {
    processes: Vec<Observed<T>>,
    /// The number of other processes that need room in the log.
    others: usize,
}

impl<T> Ended<T> {
    /// Writes the last rows of the processes, at most until a time in seconds since boot; without
    /// such a time, until the observer is to end. `write` gets the number of processes that still
    /// need room in the log, including its own. Returns the processes that were not written.
    pub fn write(
        self,
        run: &mut Run<'_>,
        until: Option<f64>,
        mut write: impl FnMut(&mut Run<'_>, &mut Observed<T>, usize),
    ) -> Vec<Observed<T>> {
        let Self {
            mut processes,
            others,
        } = self;
        while let Some(mut process) = processes.pop() {
            if until.is_some_and(|until| clock::since_boot() > until) {
                processes.push(process);
                return processes;
            }
            write(run, &mut process, processes.len() + others + 1);
            run.session.drain(DRAIN);
            if !run.session.poll() && until.is_none() {
                return processes;
            }
        }
        processes
    }
}

/// Returns how often a process has executed a program.
fn executions(process: &Process) -> u32 {
    process.measured.as_ref().map_or(0, |it| it.executions)
}

/// Whether two open files are the same.
fn is_same_file(one: &File, other: &File) -> bool {
    let identify = |file: &File| file.metadata().map(|facts| (facts.dev(), facts.ino())).ok();
    identify(one).is_some_and(|own| identify(other) == Some(own))
}

/// Whether a process runs, and is no zombie.
fn is_running(table: &mut ProcessTable, pid: i32) -> bool {
    let text = table.meter.files.read(Task::Process(pid), "stat");
    let stat = text.ok().and_then(stat::parse);
    stat.is_some_and(|stat| stat.state != b'Z')
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use nix::sys::memfd::{MFdFlags, memfd_create};

    use super::*;
    use crate::sampling::process::Measured;

    fn process(program: &str, executions: u32) -> Process {
        Process {
            program: Some(program.to_owned()),
            measured: Some(Box::new(Measured {
                executions,
                ..Measured::default()
            })),
            ..Process::default()
        }
    }

    fn memory() -> File {
        let file: OwnedFd = memfd_create("test", MFdFlags::empty()).unwrap();
        file.into()
    }

    #[test]
    fn a_memory_that_was_found_before_the_scan_of_its_program_stays_in_use() {
        let mut observed: Observed<()> = Observed::new(&process("sh", 1));
        let file = memory();
        observed.memory = Some(file.try_clone().unwrap());
        let found = Search::Found(file);
        assert!(
            observed
                .take_program(&process("python3", 2), found)
                .is_none()
        );
        assert_eq!(observed.program, "python3");
        assert_eq!(observed.executions, 2);
        assert!(observed.has_memory());
    }

    #[test]
    fn the_memory_of_an_earlier_program_gets_its_last_rows() {
        for (search, has_memory) in [
            (Search::Found(memory()), true),
            (Search::Missing, false),
            (Search::Denied { why: "", help: "" }, false),
        ] {
            let mut observed: Observed<()> = Observed::new(&process("python3", 1));
            observed.memory = Some(memory());
            let before = observed.take_program(&process("train", 2), search).unwrap();
            assert_eq!(before.program, "python3");
            assert!(before.has_memory());
            assert_eq!(observed.program, "train");
            assert_eq!(observed.has_memory(), has_memory);
        }
    }

    #[test]
    fn a_process_whose_files_cannot_be_read_now_stays_as_it_was() {
        let mut observed: Observed<()> = Observed::new(&process("python3", 1));
        observed.memory = Some(memory());
        let after = process("train", 2);
        assert!(observed.take_program(&after, Search::Unknown).is_none());
        assert_eq!(
            (observed.program.as_str(), observed.executions),
            ("python3", 1)
        );
    }
}
