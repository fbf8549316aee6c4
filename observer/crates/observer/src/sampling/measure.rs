//! Measures one process: reads its files, and updates its counters.

use std::mem::take;

use linux::proc::files::{Files, Task};
use linux::proc::io::Io;
use linux::proc::stat::{self, Stat};
use linux::proc::status::Status;
use linux::proc::{io, schedstat, status};
use nix::errno::Errno;

use crate::runtime::declaration::ProcessFiles;
use crate::runtime::identity::{AssumedIdentity, Identity, ObserverIdentity};
use crate::runtime::machine::Machine;
use crate::runtime::session::Session;
use crate::sampling::counters::{Base, Switches};
use crate::sampling::process::{Access, Measured, Process};
use crate::sampling::tasks::{ThreadCounters as _, ThreadStates};

/// The number of threads between two polls for a signal.
const THREADS_BETWEEN_POLLS: usize = 64;

/// The ids of a process: its own, and the one under which its files are read.
#[derive(Clone, Copy, Debug)]
struct Ids {
    pid: i32,
    file_id: i32,
}

/// Reads the files of processes and updates their counters.
pub struct Meter {
    /// The directory `/proc`.
    pub files: Files,
    /// The properties of the node.
    pub machine: Machine,
    /// The observer's own identity.
    pub own: ObserverIdentity,
    /// The number of threads that may still be read in this scan.
    pub threads_left: usize,
    /// The number of threads that this scan has skipped.
    pub threads_left_out: u64,
    /// The reason why the bytes and open files of a process became unknown, if that happened.
    pub denial: Option<&'static str>,
    tids: Vec<i32>,
    /// The files of each process that are read.
    reads: ProcessFiles,
}

impl Meter {
    /// Creates a meter. `own` decides which identities the meter can assume to read a file.
    pub fn new(files: Files, machine: Machine, own: ObserverIdentity, reads: ProcessFiles) -> Self {
        Self {
            files,
            machine,
            own,
            threads_left: 0,
            threads_left_out: 0,
            denial: None,
            tids: Vec::new(),
            reads,
        }
    }

    /// Updates the counters of a process from its `stat`, and returns whether the process is
    /// measured for the first time. If it started after the last scan, its first interval begins at
    /// its start; otherwise its first interval begins now. `last_scan` is `None` in the first scan.
    pub fn take_stat(
        &self,
        process: &mut Process,
        stat: &Stat<'_>,
        now: f64,
        last_scan: Option<f64>,
    ) -> bool {
        let is_new = process.measured.is_none();
        let measured = process.measured.get_or_insert_default();
        if is_new {
            process.credit.get_or_insert_default();
            measured.now.switches = Some(Switches::default());
            let started = encode::number::float(stat.start) / self.machine.ticks;
            if last_scan.is_some_and(|last| started >= last - 0.02) {
                measured.base = Some(Base::at_start(started, now));
            }
        }
        measured.is_blocked = stat.state == b'D';
        measured.now.stat = stat.counters;
        measured.state.stat = stat.gauges;
        is_new
    }

    /// Measures a process after [`Meter::take_stat`]. Returns false if the process has ended, or if
    /// a signal stops the observer.
    pub fn measure(&mut self, process: &mut Process, now: f64, session: &mut Session) -> bool {
        let ids = Ids {
            pid: process.pid,
            file_id: process.file_id,
        };
        let is_zombie = process.is_zombie;
        let Some(measured) = &mut process.measured else {
            return false;
        };
        let mut tids = take(&mut self.tids);
        if self.reads.has_threads() {
            self.list_threads(ids.pid, measured, &mut tids);
        }
        let is_measured = match self.reads {
            ProcessFiles::None | ProcessFiles::Stat => true,
            ProcessFiles::RunQueue => self.measure_wait(ids.pid, measured, &tids, session),
            ProcessFiles::Counters => {
                let status = self.read_status(ids.file_id, measured);
                status.is_some_and(|status| {
                    self.sum_switches(ids.pid, measured, &status, &tids, session);
                    self.sum_io(ids, is_zombie, measured, &tids);
                    measured.state.open_files = self.count_files(ids.file_id, measured);
                    true
                })
            }
        };
        measured.children_at_scan = measured.children();
        if is_measured {
            measured.counted_executions = measured.executions;
            measured.base.get_or_insert(Base {
                counters: measured.now,
                at: now,
            });
        }
        self.tids = tids;
        is_measured && !session.is_stopping()
    }

    /// Reads the status of a process, and updates the user, group and memory in `measured`. `None`
    /// if the process has ended.
    pub fn read_status(&mut self, pid: i32, measured: &mut Measured) -> Option<Status> {
        let text = self.files.read_status(Task::Process(pid)).ok()?;
        let status = status::parse(text)?;
        take_status(measured, &status);
        Some(status)
    }

    /// Whether a process has memory. If not, the process or its first thread has ended, and files
    /// such as `io` and `fd` belong to root.
    pub fn has_memory(&mut self, pid: i32) -> bool {
        let text = self.files.read_status(Task::Process(pid));
        text.is_ok_and(status::has_memory)
    }

    /// Sums only the time on run queues. Returns false if the process has ended.
    fn measure_wait(
        &mut self,
        pid: i32,
        measured: &mut Measured,
        tids: &[i32],
        session: &mut Session,
    ) -> bool {
        let before = measured.now.switches;
        self.sum_switches(pid, measured, &Status::default(), tids, session);
        let wait = |switches: Option<Switches>| switches.and_then(|switches| switches.wait);
        let is_gone = wait(before).is_some() && wait(measured.now.switches).is_none();
        if is_gone && !measured.has_too_many_threads {
            measured.now.switches = before;
            return false;
        }
        true
    }

    /// Updates the counters of a process that has ended: the bytes `whole` of the process with its
    /// children, if they could be read, and the switches of its first thread. Until the parent has
    /// waited for the process, the kernel still has them.
    pub fn measure_end(&mut self, process: &mut Process, whole: Option<Io>, session: &mut Session) {
        process.is_zombie = true;
        let pid = process.pid;
        let Some(measured) = &mut process.measured else {
            return;
        };
        if let Some(whole) = whole {
            measured.io_with_children = whole;
            // The bytes of the process and those of its children can no longer be told apart, so
            // the growth since the last scan counts as that of children.
            if !measured.now.stat.has_waited() && !measured.is_hidden {
                measured.now.io = Some(whole);
            }
        }
        if self.reads == ProcessFiles::RunQueue {
            self.measure_wait(pid, measured, &[pid], session);
        } else if let Some(status) = self.read_status(pid, measured) {
            self.sum_switches(pid, measured, &status, &[pid], session);
        }
    }

    /// Lists the thread ids of a process. If the process has only one thread, or has ever had more
    /// threads than the scan could read, the list contains only the process id.
    fn list_threads(&mut self, pid: i32, measured: &mut Measured, tids: &mut Vec<i32>) {
        tids.clear();
        let count = measured.state.stat.threads;
        if count <= 1 || measured.has_too_many_threads {
            tids.push(pid);
            return;
        }
        if usize::try_from(count).is_ok_and(|count| count <= self.threads_left) {
            // An error can be ignored: if the process has ended, reading its status also fails.
            let _ = self.files.list_threads(pid, self.threads_left, tids);
            self.threads_left -= tids.len();
        } else {
            self.threads_left_out += count;
            measured.has_too_many_threads = true;
            measured.now.switches = None;
            measured.schedules = None;
        }
        if tids.is_empty() {
            tids.push(pid);
        }
    }

    /// Sums the context switches and the run-queue time of all threads. `status` is the status of
    /// the first thread.
    fn sum_switches(
        &mut self,
        pid: i32,
        measured: &mut Measured,
        status: &Status,
        tids: &[i32],
        session: &mut Session,
    ) {
        if measured.has_too_many_threads {
            return;
        }
        let first = Switches {
            voluntary: status.voluntary,
            involuntary: status.involuntary,
            wait: None,
        };
        if tids.len() == 1 && measured.schedules.is_none() {
            let wait = self.wait(Task::Process(pid));
            let before = measured.now.switches.unwrap_or_default();
            let now = Switches { wait, ..first };
            // If a counter has fallen, a thread that started after the last scan has executed
            // another program.
            if now.since(before).is_some() {
                measured.now.switches = Some(now);
                return;
            }
            measured.schedules = Some(ThreadStates::default());
        }
        let mut sum = measured.now.switches.unwrap_or_default();
        let has_executed = measured.executions != measured.counted_executions;
        // If the process had one thread until now, the whole sum belongs to that thread.
        let last = measured
            .schedules
            .get_or_insert_with(|| ThreadStates::of_first(pid, sum));
        let mut now = Vec::with_capacity(tids.len());
        for (at, tid) in tids.iter().enumerate() {
            if at % THREADS_BETWEEN_POLLS == THREADS_BETWEEN_POLLS - 1 && !session.poll() {
                return;
            }
            let found = if tids.len() == 1 || self.reads == ProcessFiles::RunQueue {
                Some(first)
            } else {
                self.switches(Task::Thread(pid, *tid))
            };
            let Some(found) = found else { continue };
            let wait = self.wait(Task::Thread(pid, *tid));
            now.push((*tid, Switches { wait, ..found }));
        }
        last.update(&mut sum, pid, now, has_executed);
        measured.now.switches = Some(sum);
    }

    /// Returns the context switches of a thread without its run-queue time; `None` if the thread
    /// has ended.
    pub fn switches(&mut self, task: Task) -> Option<Switches> {
        let status = self.files.read_status(task).ok().and_then(status::parse)?;
        Some(Switches {
            voluntary: status.voluntary,
            involuntary: status.involuntary,
            wait: None,
        })
    }

    /// Returns the time that a thread has waited on run queues, in nanoseconds.
    pub fn wait(&mut self, task: Task) -> Option<u64> {
        schedstat::parse_wait(self.files.read(task, "schedstat").ok()?)
    }

    /// Returns the bytes that a process or thread has read and written at the storage layer. The
    /// bytes of a process include the bytes of the children for which it has waited.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` if the kernel denies the read; `ENOENT` or `ESRCH` if the process or
    /// thread has ended, or if the file is not valid.
    pub fn io(&mut self, task: Task) -> Result<Io, Errno> {
        io::parse(self.files.read(task, "io")?).ok_or(Errno::ESRCH)
    }

    /// Updates the bytes that a process itself has read and written at the storage layer. When a
    /// process waits for a child, the kernel adds the bytes of the child to the bytes of the
    /// process (kernel/exit.c, `wait_task_zombie`). `/proc/PID/io` of a launcher therefore includes
    /// the bytes of the processes that it launched. `/proc/PID/task/TID/io` does not include
    /// children.
    fn sum_io(&mut self, ids: Ids, is_zombie: bool, measured: &mut Measured, tids: &[i32]) {
        let pid = ids.pid;
        let (found, _guard) =
            self.with_access(&mut measured.io_access, measured.identity, |meter| {
                meter.io(Task::Process(ids.file_id))
            });
        match found {
            Ok(whole) => {
                measured.is_hidden = false;
                measured.denied_reads = 0;
                // The process may have waited for its first child after its stat was read.
                let has_waited = measured.now.stat.has_waited()
                    || (whole != measured.io_with_children && self.has_waited(pid));
                measured.io_with_children = whole;
                if has_waited {
                    self.sum_own_io(pid, measured, tids);
                } else {
                    measured.now.io = Some(whole);
                }
            }
            Err(error) if is_denial(error) && !measured.is_hidden && !is_zombie => {
                self.count_failed_read(ids.file_id, measured);
            }
            Err(_) => {}
        }
    }

    fn has_waited(&mut self, pid: i32) -> bool {
        let text = self.files.read(Task::Process(pid), "stat");
        // If the stat cannot be read, the process has ended. The result is then true, so that
        // `sum_own_io` keeps the last known bytes.
        text.ok()
            .and_then(stat::parse)
            .is_none_or(|stat| stat.counters.has_waited())
    }

    /// Handles a denied read of `/proc/PID/io`. When a process has no memory, this file belongs to
    /// root. Such a process is probably ending, so its last known bytes are kept at first. If the
    /// next scan is also denied the read, only the first thread of the process has ended, and the
    /// bytes become unknown. The status is read again because the process may have lost its memory
    /// since the first read.
    fn count_failed_read(&mut self, pid: i32, measured: &mut Measured) {
        measured.denied_reads += 1;
        if measured.denied_reads > 1 || self.has_memory(pid) {
            measured.is_hidden = true;
            measured.now.io = None;
            measured.transfers = None;
            self.denial = Some(self.explain_denial(pid, measured.identity));
        }
    }

    /// Whether the observer has an identity, or can assume it.
    pub fn can_be(&self, identity: Identity) -> bool {
        self.own.can_be(identity)
    }

    /// Returns the reason why the kernel denies reading the files of a process (kernel/ptrace.c,
    /// `__ptrace_may_access`).
    pub fn explain_denial(&mut self, pid: i32, identity: Option<Identity>) -> &'static str {
        let Some(identity) = identity else {
            return "its user or group ids differ";
        };
        if !self.own.can_be(identity) {
            return "it has another user or group than the observer";
        }
        // The kernel gives the files of such a process to root (fs/proc/base.c, `task_dump_owner`).
        let owner = self.files.owner(Task::Process(pid), "io");
        if owner.is_ok_and(|owner| !identity.has_user(owner)) {
            "it has protected itself (PR_SET_DUMPABLE), or has executed a file that it may not read"
        } else {
            "it has more capabilities than the observer, or has protected itself (PR_SET_DUMPABLE)"
        }
    }

    fn sum_own_io(&mut self, pid: i32, measured: &mut Measured, tids: &[i32]) {
        if measured.has_too_many_threads {
            // If no thread is read, the bytes of the process cannot be separated from the bytes of
            // its children.
            measured.is_hidden = true;
            measured.now.io = None;
            return;
        }
        let mut now = Vec::with_capacity(tids.len());
        for tid in tids {
            if let Ok(io) = self.io(Task::Thread(pid, *tid)) {
                now.push((*tid, io));
            }
        }
        let before = measured.now.io.unwrap_or_default();
        if let Some(last) = &mut measured.transfers {
            let mut sum = before;
            let has_executed = measured.executions != measured.counted_executions;
            last.update(&mut sum, pid, now, has_executed);
            measured.now.io = Some(sum);
            return;
        }
        // The first sum lacks the threads that have already ended. The io of the whole process at
        // the last scan includes them, so the larger number is used.
        let mut sum = Io::default();
        let mut last = ThreadStates::default();
        last.update(&mut sum, pid, now, false);
        measured.transfers = Some(last);
        measured.now.io = Some(Io {
            read: sum.read.max(before.read),
            written: sum.written.max(before.written),
            cancelled: sum.cancelled.max(before.cancelled),
        });
    }

    /// Returns the number of open files of a process; `None` if the observer may not list them.
    /// Listing a thousand names is slow. If the kernel reports the number as the size of the
    /// directory, the directory is opened only once, to check the permission.
    fn count_files(&mut self, pid: i32, measured: &mut Measured) -> Option<u64> {
        if measured.fd_access == Access::Unknown {
            let (_, _guard) =
                self.with_access(&mut measured.fd_access, measured.identity, |meter| {
                    if meter.files.may_list_files(pid) {
                        Ok(())
                    } else {
                        Err(Errno::EACCES)
                    }
                });
        }
        if measured.fd_access == Access::Denied {
            return None;
        }
        if self.machine.has_size_of_fd {
            return self.files.size_of_fd(pid).ok();
        }
        let (count, _guard) =
            self.with_access(&mut measured.fd_access, measured.identity, |meter| {
                meter.files.count_open_files(pid)
            });
        count.ok()
    }

    /// Reads with the observer's own identity and, if the kernel denies that, with the identity of
    /// the process. Stores in `access` which identity succeeded. An assumed identity stays in
    /// effect until the returned guard is dropped.
    pub fn with_access<T>(
        &mut self,
        access: &mut Access,
        identity: Option<Identity>,
        mut read: impl FnMut(&mut Self) -> Result<T, Errno>,
    ) -> (Result<T, Errno>, Option<AssumedIdentity>) {
        let other = identity.filter(|identity| self.own.can_assume(*identity));
        if *access != Access::Assumed {
            let found = read(self);
            let is_denied = matches!(&found, Err(error) if is_denial(*error));
            if !is_denied || other.is_none() {
                *access = if is_denied {
                    Access::Denied
                } else {
                    Access::Direct
                };
                return (found, None);
            }
        }
        let guard = other.map(|identity| self.own.assume(identity));
        let found = read(self);
        let is_denied = matches!(&found, Err(error) if is_denial(*error));
        *access = if is_denied {
            Access::Denied
        } else {
            Access::Assumed
        };
        (found, guard)
    }
}

/// Whether an error means that the kernel denies access to a file.
pub fn is_denial(error: Errno) -> bool {
    matches!(error, Errno::EACCES | Errno::EPERM)
}

/// Updates a process from its status. A zombie has no memory, but keeps its peak.
fn take_status(measured: &mut Measured, status: &Status) {
    measured.state.uid = status.uids[0];
    measured.state.memory = status.memory;
    measured.peak = measured
        .peak
        .max(status.memory.map_or(0, |memory| memory.peak));
    measured.identity = Identity::of(status);
}
