//! A thread whose stack is requested: what it does, and whether it can be asked.
//!
//! A thread that computes answers at the next signal of the profiler's timer, which the kernel
//! sends only to a thread that uses a processor. A thread that sleeps is sent a signal. A signal
//! ends many calls, also with `SA_RESTART` (signal(7)), and the program would see EINTR. Therefore
//! only a thread is asked that sleeps in a call that the kernel continues, and has slept in this
//! same call for a while: the time between the look and the signal is then short against the time
//! of its calls.

use linux::proc::files::Task;
use linux::proc::syscall::{self, Position, Restart};
use linux::proc::task_state::{self, TaskState};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

use crate::runtime::identity::Identity;
use crate::sampling::measure::Meter;
use crate::sampling::process::Access;

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

/// The facts about the process of a thread that are needed to ask the thread.
pub struct Asking {
    /// The process id in the pod.
    pub pid: i32,
    /// Whether the process has the profiler; otherwise its threads are only looked at.
    pub has_profiler: bool,
    /// How the files of the process can be read.
    pub access: Access,
    /// The user and group of the process.
    pub identity: Option<Identity>,
}

impl Thread {
    /// Creates a thread that was not looked at.
    #[must_use]
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
    #[must_use]
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
                self.call = read_call(meter, asking, self.id).0;
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
        let (call, can_restart) = read_call(meter, asking, self.id);
        let Some(can_restart) = can_restart else {
            self.activity = Activity::Runs;
            return;
        };
        self.call = call;
        if !asking.has_profiler {
            return;
        }
        if now - self.still_since < MIN_SLEEP {
            if !can_restart && now - self.since > MAX_TURNS {
                self.settle(IN_TURNS);
            }
            return;
        }
        if !can_restart {
            self.settle("a signal would end this call, so the thread was not asked");
        } else if state.blocks(SIGNAL) {
            self.settle("the thread blocks the signal SIGURG");
        } else if self.signals == MAX_SIGNALS {
            if now - self.last_signal > RETRY {
                self.settle("the thread did not answer: its tool may be of an earlier release");
            }
        } else if now - self.last_signal > RETRY {
            self.signals += 1;
            self.last_signal = now;
            if let Err(error) = send(meter, asking, self.id) {
                let reason = error.desc();
                self.settle(&format!("the thread cannot be sent a signal: {reason}"));
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

/// Returns the call in which a thread sleeps, and whether the kernel continues it after a signal;
/// `None` instead of the latter if the thread runs.
fn read_call(meter: &mut Meter, asking: &mut Asking, tid: i32) -> (Option<String>, Option<bool>) {
    let (pid, identity) = (asking.pid, asking.identity);
    let task = Task::Thread(pid, tid);
    let (text, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        let text = meter.files.read(task, "syscall")?;
        Ok(syscall::parse(text))
    });
    let call = match text {
        Ok(Some(Position::Running)) => return (None, None),
        Ok(Some(Position::Elsewhere) | None) => return (None, Some(false)),
        Ok(Some(Position::Sleeping(call))) => call,
        Err(_) => return read_kernel_function(meter, task),
    };
    let can_restart = match call.restart() {
        Restart::Always => true,
        Restart::Never => false,
        Restart::IfPipe(file) => {
            let link = meter.files.read_link(pid, &format!("fd/{file}"));
            let is_pipe = link.is_ok_and(|link| link.starts_with(b"pipe:["));
            is_pipe || is_in_pipe(meter, task)
        }
    };
    let name = call.name().map(str::to_owned);
    let name = name.unwrap_or_else(|| format!("system call {}", call.number));
    (Some(name), Some(can_restart))
}

/// The functions of the kernel in which only calls sleep that it continues: reads of pipes, also
/// those with a name, and waiting for a child.
const RESTARTABLE: [&[u8]; 3] = [b"anon_pipe_read", b"pipe_read", b"do_wait"];

/// Returns the function of the kernel in which a thread sleeps, in brackets. The call itself may be
/// hidden where `kernel.yama.ptrace_scope` is not 0.
fn read_kernel_function(meter: &mut Meter, task: Task) -> (Option<String>, Option<bool>) {
    let Ok(text) = meter.files.read(task, "wchan") else {
        return (None, Some(false));
    };
    if matches!(text, b"" | b"0") {
        return (None, Some(false));
    }
    let can_restart = RESTARTABLE.contains(&text);
    (
        Some(format!("[{}]", encode::json::clean(text))),
        Some(can_restart),
    )
}

fn is_in_pipe(meter: &mut Meter, task: Task) -> bool {
    let text = meter.files.read(task, "wchan");
    text.is_ok_and(|text| RESTARTABLE[..2].contains(&text))
}

/// The flag of `pidfd_open(2)` for a thread, since Linux 6.9.
const PIDFD_THREAD: u32 = 0o200;

/// Sends the signal to a thread.
fn send(meter: &Meter, asking: &Asking, tid: i32) -> Result<(), Errno> {
    let send = || send_to_thread(tid).unwrap_or_else(|| kill(Pid::from_raw(tid), Signal::SIGURG));
    match (send(), asking.identity) {
        (Err(Errno::EPERM), Some(identity)) if meter.own.can_assume(identity) => {
            meter.own.with_effective_user(identity, send)
        }
        (result, _) => result,
    }
}

/// Sends the signal to exactly this thread. `None` before Linux 6.9: then kill(2) sends it to the
/// process, and wakes the thread with this id (kernel/signal.c, `complete_signal`), but another
/// thread that just gets a signal of the timer may take it instead, and it has to be sent again.
fn send_to_thread(tid: i32) -> Option<Result<(), Errno>> {
    let id = rustix::process::Pid::from_raw(tid)?;
    let thread = pidfd_open(id, PidfdFlags::from_bits_retain(PIDFD_THREAD)).ok()?;
    let sent = pidfd_send_signal(thread, rustix::process::Signal::URG);
    Some(sent.map_err(|error| Errno::from_raw(error.raw_os_error())))
}
