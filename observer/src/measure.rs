//! Measures one process: reads its files, and keeps its counters.

use std::mem::take;

use nix::errno::Errno;

use crate::counters::{Base, Counters, Switches};
use crate::identity::{Guard, Identity, Own};
use crate::machine::Machine;
use crate::proc::files::{Files, Task};
use crate::proc::io::Io;
use crate::proc::stat::{self, Stat};
use crate::proc::status::Status;
use crate::proc::{io, schedstat, status};
use crate::process::{Access, Measured, Process};
use crate::session::Session;
use crate::tasks::{Schedule, Transfer, add_switches, add_transfers};

/// After so many threads it is looked whether the observer is told to end.
const THREADS_AT_ONCE: usize = 64;

/// Reads processes.
pub struct Meter {
    /// The folder `/proc`.
    pub files: Files,
    /// What the node is.
    pub machine: Machine,
    /// Who the observer is.
    pub own: Own,
    /// How many more threads may be read in this look.
    pub threads_left: usize,
    /// How many threads this look leaves out.
    pub threads_left_out: u64,
    tids: Vec<i32>,
}

impl Meter {
    /// A meter that reads as the observer itself, or as others where it may.
    #[must_use]
    pub fn new(files: Files, machine: Machine, own: Own) -> Self {
        Self {
            files,
            machine,
            own,
            threads_left: 0,
            threads_left_out: 0,
            tids: Vec::new(),
        }
    }

    /// Takes the counters of a stat. A process that started since the last look counts from its
    /// start; one that was there before, from now. `last_look` is `None` at the first.
    pub fn take_stat(
        &self,
        process: &mut Process,
        stat: &Stat<'_>,
        now: f64,
        last_look: Option<f64>,
    ) -> bool {
        let is_new = process.measured.is_none();
        let measured = process.measured.get_or_insert_default();
        if is_new {
            process.credit.get_or_insert_default();
            measured.now.switches = Some(Switches::default());
            let started = crate::number::float(stat.start) / self.machine.ticks;
            if last_look.is_some_and(|last| started >= last - 0.02) {
                measured.base = Some(Base::at_start(started, now));
            }
        }
        measured.now.take_stat(stat, self.machine.has_delays);
        measured.state.take_stat(stat);
        is_new
    }

    /// Measures a process of which the stat is taken. False when it is gone, or the observer is
    /// told to end.
    pub fn measure(&mut self, process: &mut Process, now: f64, session: &mut Session) -> bool {
        let (pid, is_zombie) = (process.pid, process.is_zombie);
        let Some(measured) = &mut process.measured else {
            return false;
        };
        let mut tids = take(&mut self.tids);
        self.list_threads(pid, measured, &mut tids);
        let found = self
            .files
            .read(Task::Process(pid), "status")
            .ok()
            .and_then(status::parse);
        let is_measured = found.is_some_and(|status| {
            take_status(measured, &status);
            self.sum_switches(pid, measured, &status, &tids, session);
            self.sum_io(pid, is_zombie, measured, &tids);
            measured.state.open_files = self.count_files(pid, measured);
            measured.base.get_or_insert(Base {
                counters: measured.now,
                at: now,
            });
            true
        });
        self.tids = tids;
        is_measured && !session.is_told()
    }

    /// The ids of a process's threads: its own where it has one. None of them where there are more
    /// than may be read.
    fn list_threads(&mut self, pid: i32, measured: &mut Measured, tids: &mut Vec<i32>) {
        tids.clear();
        let count = measured.state.threads;
        if count <= 1 || measured.is_crowded {
            tids.push(pid);
            return;
        }
        if usize::try_from(count).is_ok_and(|count| count <= self.threads_left) {
            // Gone meanwhile: its own files say so, too.
            let _ = self.files.list_threads(pid, self.threads_left, tids);
            self.threads_left -= tids.len();
        } else {
            self.threads_left_out += count;
            measured.is_crowded = true;
            measured.now.switches = None;
            measured.schedules = None;
        }
        if tids.is_empty() {
            tids.push(pid);
        }
    }

    /// Context switches and waiting, with the status of the first thread.
    fn sum_switches(
        &mut self,
        pid: i32,
        measured: &mut Measured,
        status: &Status,
        tids: &[i32],
        session: &mut Session,
    ) {
        if measured.is_crowded {
            return;
        }
        let first = Switches {
            voluntary: status.voluntary,
            involuntary: status.involuntary,
            wait: None,
        };
        if tids.len() == 1 && measured.schedules.is_none() {
            let wait = self.wait(Task::Process(pid));
            measured.now.switches = Some(Switches { wait, ..first });
            return;
        }
        let mut sum = measured.now.switches.unwrap_or_default();
        // One that had one thread until now: that has all that was counted.
        let last = measured.schedules.get_or_insert_with(|| {
            vec![Schedule {
                tid: pid,
                switches: sum,
            }]
        });
        let mut now = Vec::with_capacity(tids.len());
        for (at, tid) in tids.iter().enumerate() {
            if at % THREADS_AT_ONCE == THREADS_AT_ONCE - 1 && !session.pause(0.0) {
                return;
            }
            let found = if tids.len() == 1 {
                Some(first)
            } else {
                self.switches(Task::Thread(pid, *tid))
            };
            let Some(found) = found else { continue };
            let wait = self.wait(Task::Thread(pid, *tid));
            now.push(Schedule {
                tid: *tid,
                switches: Switches { wait, ..found },
            });
        }
        add_switches(&mut sum, last, now);
        measured.now.switches = Some(sum);
    }

    /// A thread's context switches, without its waiting; `None` when it is gone.
    pub fn switches(&mut self, task: Task) -> Option<Switches> {
        let status = self
            .files
            .read(task, "status")
            .ok()
            .and_then(status::parse)?;
        Some(Switches {
            voluntary: status.voluntary,
            involuntary: status.involuntary,
            wait: None,
        })
    }

    /// How long a thread waited on run queues, in nanoseconds.
    pub fn wait(&mut self, task: Task) -> Option<u64> {
        schedstat::parse_wait(self.files.read(task, "schedstat").ok()?)
    }

    /// The bytes of a process or thread.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` where they are hidden.
    pub fn io(&mut self, task: Task) -> Result<Io, Errno> {
        io::parse(self.files.read(task, "io")?).ok_or(Errno::ESRCH)
    }

    /// The bytes that a process itself read and wrote at the storage layer. The kernel adds those
    /// of each child that a process waits for to its own (kernel/exit.c, `wait_task_zombie`):
    /// /proc/PID/io blames a launcher for all that it launched, while a thread's own file has no
    /// children in it.
    fn sum_io(&mut self, pid: i32, is_zombie: bool, measured: &mut Measured, tids: &[i32]) {
        let (found, _guard) = self.with_access(&mut measured.reading, measured.identity, |meter| {
            meter.io(Task::Process(pid))
        });
        match found {
            Ok(whole) => {
                measured.is_hidden = false;
                measured.missed = 0;
                // It may have waited for its first child after its stat was read.
                let has_waited =
                    measured.now.has_waited() || (whole != measured.whole && self.has_waited(pid));
                measured.whole = whole;
                if has_waited {
                    self.sum_own_io(pid, measured, tids);
                } else {
                    measured.now.io = Some(whole);
                }
            }
            Err(error) if is_denial(error) && !measured.is_hidden && !is_zombie => {
                self.miss_io(pid, measured);
            }
            Err(_) => {}
        }
    }

    fn has_waited(&mut self, pid: i32) -> bool {
        let text = self.files.read(Task::Process(pid), "stat");
        let mut counters = Counters::default();
        // Once a process has ended, its bytes stay as they were read before.
        text.ok().and_then(stat::parse).is_none_or(|stat| {
            counters.take_stat(&stat, false);
            counters.has_waited()
        })
    }

    /// The io of a process without memory is root's. When it ends, what was read before stays;
    /// where only its first thread has ended, it is there at the next look, too. Its status is read
    /// anew, since it may have ended after that was read.
    fn miss_io(&mut self, pid: i32, measured: &mut Measured) {
        measured.missed += 1;
        let has_memory = |text: &[u8]| status::has_memory(text);
        if measured.missed > 1
            || self
                .files
                .read(Task::Process(pid), "status")
                .is_ok_and(has_memory)
        {
            measured.is_hidden = true;
            measured.now.io = None;
            measured.transfers = None;
        }
    }

    fn sum_own_io(&mut self, pid: i32, measured: &mut Measured, tids: &[i32]) {
        if measured.is_crowded {
            // The children's bytes cannot be told from its own.
            measured.is_hidden = true;
            measured.now.io = None;
            return;
        }
        let mut now = Vec::with_capacity(tids.len());
        for tid in tids {
            if let Ok(io) = self.io(Task::Thread(pid, *tid)) {
                now.push(Transfer { tid: *tid, io });
            }
        }
        let before = measured.now.io.unwrap_or_default();
        if let Some(last) = &mut measured.transfers {
            let mut sum = before;
            add_transfers(&mut sum, last, now);
            measured.now.io = Some(sum);
            return;
        }
        // The first time: the threads that live have all, but for what threads that are gone were
        // seen to do.
        let mut sum = Io::default();
        let mut last = Vec::new();
        add_transfers(&mut sum, &mut last, now);
        measured.transfers = Some(last);
        measured.now.io = Some(Io {
            read: sum.read.max(before.read),
            written: sum.written.max(before.written),
            cancelled: sum.cancelled.max(before.cancelled),
        });
    }

    /// How many files a process has open; `None` where its folder may not be listed. Listing a
    /// thousand names takes long, so where the folder's size says it, it is only found out whether
    /// it may be listed.
    fn count_files(&mut self, pid: i32, measured: &mut Measured) -> Option<u64> {
        if measured.listing == Access::Unknown {
            let (_, _guard) = self.with_access(&mut measured.listing, measured.identity, |meter| {
                if meter.files.may_list_files(pid) {
                    Ok(())
                } else {
                    Err(Errno::EACCES)
                }
            });
        }
        if measured.listing == Access::Denied {
            return None;
        }
        if self.machine.has_size_of_fd {
            return self.files.size_of_fd(pid).ok();
        }
        let (count, _guard) = self.with_access(&mut measured.listing, measured.identity, |meter| {
            meter.files.count_open_files(pid)
        });
        count.ok()
    }

    /// Reads something as the observer itself, or, where that is denied, as the process's own user
    /// and group. Which of them it was is remembered in `access`; while the guard lives, more can
    /// be read in the same way.
    fn with_access<T>(
        &mut self,
        access: &mut Access,
        identity: Option<Identity>,
        mut read: impl FnMut(&mut Self) -> Result<T, Errno>,
    ) -> (Result<T, Errno>, Option<Guard>) {
        let other = identity.filter(|identity| self.own.may_become(*identity));
        if *access != Access::AsIt {
            let found = read(self);
            let is_denied = matches!(&found, Err(error) if is_denial(*error));
            if !is_denied || other.is_none() {
                *access = if is_denied {
                    Access::Denied
                } else {
                    Access::Plain
                };
                return (found, None);
            }
        }
        let guard = other.map(|identity| self.own.become_for_now(identity));
        let found = read(self);
        let is_denied = matches!(&found, Err(error) if is_denial(*error));
        *access = if is_denied {
            Access::Denied
        } else {
            Access::AsIt
        };
        (found, guard)
    }
}

fn is_denial(error: Errno) -> bool {
    matches!(error, Errno::EACCES | Errno::EPERM)
}

/// Takes a status. A zombie has no memory any more, and its peak stays what it was.
fn take_status(measured: &mut Measured, status: &Status) {
    measured.state.uid = status.uids[0];
    measured.state.memory = status.memory;
    measured.peak = measured
        .peak
        .max(status.memory.map_or(0, |memory| memory.peak));
    measured.identity = Identity::of(status);
}
