//! A thread whose stack is requested: what it does, and whether it can be asked.
//!
//! A thread that computes answers at the next signal of the profiler's timer, which the kernel
//! sends only to a thread that uses a processor. A thread that sleeps is sent a signal. A signal
//! ends many calls, also with `SA_RESTART` (signal(7)), and the program would see EINTR. Therefore
//! only a thread is asked that sleeps in a call that the kernel continues, and has slept in this
//! same call for a while: the time between the last look and the signal is then very short against
//! the time of its calls.

use std::os::fd::OwnedFd;

use linux::proc::files::Task;
use linux::proc::task_state::{self, TaskState};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use super::asking::Asking;
use super::sleep::{Position, Sleep, read_position};
use crate::sampling::measure::Meter;

/// The signal of the profiler's timer (observer/loader/loader.h).
pub const SIGNAL: u32 = 23;
/// The seconds for which a thread must sleep without a context switch.
pub const MIN_SLEEP: f64 = 0.1;
/// The seconds until an unanswered signal is sent again, and the maximum number of signals. A
/// thread does not answer while another thread of its process walks its stack.
const RETRY: f64 = 0.2;
const MAX_SIGNALS: u32 = 8;

/// The seconds after which a thread that runs and sleeps in turns is not waited for any more.
const MAX_TURNS: f64 = 1.0;
/// Why such a thread has no stack.
pub const IN_TURNS: &str = "the thread runs and sleeps in turns, so it was not asked";

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It uses a processor, or waits for one.
    Runs,
    /// It sleeps, and a signal wakes it.
    Sleeps,
    /// It waits and cannot be interrupted (state D).
    Blocked,
    /// It was stopped, for example by SIGSTOP or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// The stack of a thread: its addresses, from the innermost function on.
#[derive(Debug, PartialEq, Eq)]
pub struct Stack {
    /// The address of the instruction, and the return addresses of its callers.
    pub addresses: Vec<u64>,
    /// Whether outer functions are missing.
    pub is_cut: bool,
}

/// A thread of an observed process.
pub struct Thread {
    /// The id of the thread in the pod, and in its innermost PID namespace.
    pub id: i32,
    /// See `id`.
    pub inner_id: i32,
    /// What it did at the last look.
    pub activity: Activity,
    /// The call in which it sleeps, or else the function of the kernel; `None` if not known.
    pub call: Option<String>,
    /// The stack, if the thread has answered.
    pub stack: Option<Stack>,
    /// Why there is no stack, if that will not change.
    pub why: Option<String>,
    /// The context switches at the last look, and since when they are the same.
    switches: u64,
    still_since: f64,
    /// When the thread was first looked at.
    since: f64,
    signals: u32,
    last_signal: f64,
}

impl Thread {
    /// Creates a thread that was not looked at.
    pub fn new(id: i32, now: f64) -> Self {
        Self {
            id,
            inner_id: id,
            activity: Activity::Runs,
            call: None,
            stack: None,
            why: None,
            switches: 0,
            still_since: now,
            since: now,
            signals: 0,
            last_signal: 0.0,
        }
    }

    /// Whether nothing more will be known of the thread.
    pub fn is_settled(&self) -> bool {
        self.stack.is_some() || self.why.is_some()
    }

    /// Looks at the thread, and asks it for its stack if it can be asked.
    pub fn look(&mut self, meter: &mut Meter, asking: &mut Asking, now: f64) {
        let Some(state) = read_state(meter, asking.pid, self.id) else {
            self.activity = Activity::Ended;
            self.settle("the thread has ended");
            return;
        };
        self.inner_id = state.inner_id.unwrap_or(self.id);
        if state.switches != self.switches {
            self.switches = state.switches;
            self.still_since = now;
        }
        if state.letter == b'R' && self.signals > 0 {
            // It handles the signal, and its call continues afterwards.
            return;
        }
        self.call = None;
        self.activity = match state.letter {
            b'R' => Activity::Runs,
            b'D' => Activity::Blocked,
            b'T' | b't' => Activity::Stopped,
            b'Z' | b'X' | b'x' => Activity::Ended,
            _ => Activity::Sleeps,
        };
        let is_still = now - self.still_since >= MIN_SLEEP;
        match self.activity {
            Activity::Ended => self.settle("the thread has ended"),
            Activity::Stopped => self.settle("the thread is stopped, for example by a debugger"),
            Activity::Blocked if is_still => {
                if let Position::Sleeping(sleep) = read_position(meter, asking, self.id) {
                    self.call = sleep.call;
                }
                self.settle("the thread waits in the kernel and cannot be interrupted (state D)");
            }
            Activity::Runs if asking.has_profiler && state.blocks(SIGNAL) => {
                self.settle("the thread blocks the signal SIGURG");
            }
            Activity::Sleeps => self.look_asleep(meter, asking, &state, now),
            Activity::Runs | Activity::Blocked => {}
        }
    }

    fn look_asleep(&mut self, meter: &mut Meter, asking: &mut Asking, state: &TaskState, now: f64) {
        let sleep = match read_position(meter, asking, self.id) {
            Position::Running => {
                self.activity = Activity::Runs;
                return;
            }
            Position::Sleeping(sleep) => sleep,
        };
        self.call.clone_from(&sleep.call);
        if !asking.has_profiler {
            return;
        }
        if now - self.still_since < MIN_SLEEP {
            if !sleep.can_restart && now - self.since > MAX_TURNS {
                self.settle(IN_TURNS);
            }
            return;
        }
        if !sleep.can_restart {
            self.settle("a signal would end this call, so the thread was not asked");
        } else if state.blocks(SIGNAL) {
            self.settle("the thread blocks the signal SIGURG");
        } else if self.signals == MAX_SIGNALS {
            if now - self.last_signal > RETRY {
                self.settle("the thread did not answer: its tool may be of an earlier release");
            }
        } else if now - self.last_signal > RETRY {
            match send(meter, asking, self.id, &sleep) {
                Ok(Sent::Yes) => {
                    self.signals += 1;
                    self.last_signal = now;
                }
                Ok(Sent::Left) => {}
                Err(error) => {
                    let reason = error.desc();
                    self.settle(&format!("the thread cannot be sent a signal: {reason}"));
                }
            }
        }
    }

    /// Says why there is no stack, unless the thread answers in time.
    pub fn settle(&mut self, why: &str) {
        self.why.get_or_insert_with(|| why.to_owned());
    }
}

fn read_state(meter: &mut Meter, pid: i32, tid: i32) -> Option<TaskState> {
    let text = meter.files.read_status(Task::Thread(pid, tid)).ok()?;
    task_state::parse(text)
}

/// The flag of `pidfd_open(2)` for a thread, since Linux 6.9.
const PIDFD_THREAD: u32 = 0o200;

/// Whether a thread was sent the signal.
enum Sent {
    Yes,
    /// It has left the call in which it slept.
    Left,
}

/// Sends the signal to a thread if it still sleeps in this call. Everything else is done before the
/// last look: a thread that leaves its call between this look and the signal, and begins another
/// call that the kernel does not continue, sees EINTR.
fn send(meter: &mut Meter, asking: &mut Asking, tid: i32, sleep: &Sleep) -> Result<Sent, Errno> {
    let thread = open_thread(tid);
    let send = || match &thread {
        Some(thread) => pidfd_send_signal(thread, rustix::process::Signal::URG)
            .map_err(|error| Errno::from_raw(error.raw_os_error())),
        None => kill(Pid::from_raw(tid), Signal::SIGURG),
    };
    if !sleep.lasts(meter, asking, tid) {
        return Ok(Sent::Left);
    }
    match (send(), asking.identity) {
        (Err(Errno::EPERM), Some(identity)) if meter.own.can_assume(identity) => {
            if !sleep.lasts(meter, asking, tid) {
                return Ok(Sent::Left);
            }
            meter.own.with_effective_user(identity, send)?;
            Ok(Sent::Yes)
        }
        (result, _) => result.map(|()| Sent::Yes),
    }
}

/// Opens exactly this thread. `None` before Linux 6.9: then kill(2) sends the signal to the
/// process, and wakes the thread with this id (kernel/signal.c, `complete_signal`), but another
/// thread that just gets a signal of the timer may take it instead, and it has to be sent again.
fn open_thread(tid: i32) -> Option<OwnedFd> {
    let id = rustix::process::Pid::from_raw(tid)?;
    pidfd_open(id, PidfdFlags::from_bits_retain(PIDFD_THREAD)).ok()
}
