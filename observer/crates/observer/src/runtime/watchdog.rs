//! Ends the program if the thread that does the work cannot end it.
//!
//! Only one thread reads files and writes the log. A call of the kernel that it makes may take any
//! time: reading the memory of a process whose thread waits for storage, or opening a file of a
//! file system whose server does not answer. Such a wait is not always in state D: FUSE waits in
//! state S first, for a signal that this program blocks (fs/fuse/dev.c, `request_wait_answer`).
//! Therefore other threads watch whether the first thread makes progress, whatever its state.
//!
//! Three cases end the program:
//! - a signal to end that the first thread has not read after five seconds, or after less than a
//!   second if this thread waits in state D;
//! - after such a signal, five seconds without progress;
//! - in an observer that ends with its target, a minute in one call that uses no processor time.
//!   Nothing else would end it, and the pod could not complete.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use linux::proc::stat;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// The time after which a signal counts as not answered if no other signal can end the wait of the
/// first thread.
const PATIENCE_IF_BLOCKED: Duration = Duration::from_millis(700);
/// The time after which a signal counts as not answered, and the time without progress after the
/// signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time between two looks after a signal.
const PAUSE: Duration = Duration::from_millis(50);
/// The time in one call after which an observer that ends with its target ends by itself. Storage
/// can be slow, and the rest of the measurement is lost, so the time is long.
const MAX_CALL: Duration = Duration::from_mins(1);
/// The time between two looks without a signal.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// Bytes of a thread's stack.
const STACK: usize = 65_536;
const END: &[u8] = b"\nMETRICS OPERATOR COLLECTION END\n";

/// The number of steps that the first thread has made.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// Whether the first thread waits for an event, which may take any time.
static IS_WAITING: AtomicBool = AtomicBool::new(false);
/// Whether a signal to end has arrived.
static HAS_SIGNAL: AtomicBool = AtomicBool::new(false);
/// Whether the log has its closing marker, or gets it now.
static HAS_END: AtomicBool = AtomicBool::new(false);

/// Counts a step of the first thread: a loop that may take more than a second calls this.
pub fn count_step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Waits for an event, and does not count this time as a lack of progress.
pub fn wait_for_event<T>(wait: impl FnOnce() -> T) -> T {
    IS_WAITING.store(true, Ordering::Relaxed);
    let result = wait();
    IS_WAITING.store(false, Ordering::Relaxed);
    count_step();
    result
}

/// Whether a signal to end has arrived, even if the first thread has not read it yet.
pub fn has_signal() -> bool {
    HAS_SIGNAL.load(Ordering::Relaxed)
}

/// Claims the right to write the closing marker. Returns false if the log has it already.
pub fn claim_end() -> bool {
    !HAS_END.swap(true, Ordering::Relaxed)
}

/// Starts to watch for a signal. `signals` is the descriptor from which the signals are read, and
/// `out` that of the log. If there cannot be another thread, a signal may stay unanswered.
pub fn start(signals: BorrowedFd<'_>, out: BorrowedFd<'_>) {
    if let (Ok(signals), Ok(out)) = (signals.try_clone_to_owned(), out.try_clone_to_owned()) {
        spawn(move || watch_signal(&signals, &out));
    }
}

/// Starts to watch the progress after a signal.
pub fn watch_last_steps(out: BorrowedFd<'_>) {
    HAS_SIGNAL.store(true, Ordering::Relaxed);
    watch_progress(out, PAUSE, |progress| progress.idle >= PATIENCE);
}

/// Starts to watch for a call that does not return.
pub fn watch_calls(out: BorrowedFd<'_>) {
    watch_progress(out, LONG_PAUSE, |progress| progress.in_call >= MAX_CALL);
}

fn watch_progress(out: BorrowedFd<'_>, pause: Duration, is_over: fn(&Progress) -> bool) {
    if let Ok(out) = out.try_clone_to_owned() {
        spawn(move || {
            let mut progress = Progress::default();
            while !is_over(&progress) {
                sleep(pause);
                progress.add(pause, Look::now());
            }
            end(&out);
        });
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    // Without a thread, the program still ends when its first thread does.
    let _ = Builder::new().stack_size(STACK).spawn(work);
}

fn watch_signal(signals: &OwnedFd, out: &OwnedFd) {
    loop {
        is_ready(signals, PollFlags::POLLIN, PollTimeout::NONE);
        let mut waited = Duration::ZERO;
        while is_ready(signals, PollFlags::POLLIN, PollTimeout::ZERO) {
            HAS_SIGNAL.store(true, Ordering::Relaxed);
            let is_blocked = || first_thread().is_some_and(|(state, _)| state == b'D');
            if waited >= PATIENCE || (waited >= PATIENCE_IF_BLOCKED && is_blocked()) {
                end(out);
            }
            sleep(PAUSE);
            waited += PAUSE;
        }
    }
}

/// The progress of the first thread. Its times are sums of pauses of the thread that watches,
/// because a clock also counts the time in which the whole container is stopped.
#[derive(Default)]
struct Progress {
    steps: u64,
    cpu: u64,
    /// The time without a step.
    idle: Duration,
    /// The time without a step and without use of processor time.
    in_call: Duration,
}

/// A look at the first thread.
#[derive(Clone, Copy)]
struct Look {
    steps: u64,
    is_waiting: bool,
    /// Clock ticks of processor time; `None` if they cannot be read.
    cpu: Option<u64>,
}

impl Look {
    fn now() -> Self {
        Self {
            steps: STEPS.load(Ordering::Relaxed),
            is_waiting: IS_WAITING.load(Ordering::Relaxed),
            cpu: first_thread().map(|(_, cpu)| cpu),
        }
    }
}

impl Progress {
    /// Adds a look that follows the last one after a pause.
    fn add(&mut self, pause: Duration, look: Look) {
        if look.steps != self.steps || look.is_waiting {
            self.idle = Duration::ZERO;
            self.in_call = Duration::ZERO;
        }
        if look.cpu != Some(self.cpu) {
            self.in_call = Duration::ZERO;
        }
        self.idle += pause;
        self.in_call += pause;
        self.steps = look.steps;
        self.cpu = look.cpu.unwrap_or_default();
    }
}

/// Returns the state of the first thread, and the clock ticks of processor time of this program.
/// The other threads use almost none.
fn first_thread() -> Option<(u8, u64)> {
    let text = std::fs::read("/proc/self/stat").ok()?;
    stat::parse(&text).map(|stat| (stat.state, stat.counters.cpu()))
}

/// Ends the program with the closing marker, without which the Metrics Operator's parser ignores a
/// log.
fn end(out: &OwnedFd) -> ! {
    if claim_end() && is_ready(out, PollFlags::POLLOUT, PollTimeout::ZERO) {
        // If this fails, there is no other stream for the marker.
        let _ = write(out, END);
    }
    std::process::exit(0)
}

fn is_ready(descriptor: &OwnedFd, flags: PollFlags, timeout: PollTimeout) -> bool {
    let mut ready = [PollFd::new(descriptor.as_fd(), flags)];
    poll(&mut ready, timeout).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the seconds without a step, and in one call, after these looks: steps, whether the
    /// thread waits for an event, and processor time.
    fn after(looks: &[(u64, bool, Option<u64>)]) -> (u64, u64) {
        let mut progress = Progress::default();
        for (steps, is_waiting, cpu) in looks.iter().copied() {
            let look = Look {
                steps,
                is_waiting,
                cpu,
            };
            progress.add(SECOND, look);
        }
        (progress.idle.as_secs(), progress.in_call.as_secs())
    }

    #[test]
    fn steps_waits_for_events_and_use_of_processor_time_are_progress() {
        let stuck = (7, false, Some(3));
        assert_eq!(after(&[stuck; 4]), (4, 4));
        assert_eq!(after(&[stuck, stuck, (8, false, Some(3))]), (1, 1));
        assert_eq!(after(&[stuck, stuck, (7, true, Some(3)), stuck]), (2, 2));
        let busy = (7, false, Some(4));
        assert_eq!(after(&[stuck, stuck, busy, busy]), (4, 2));
        assert_eq!(after(&[(7, false, None); 4]), (4, 1));
    }

    #[test]
    fn this_program_can_look_at_itself() {
        let before = Look::now().steps;
        wait_for_event(|| ());
        let now = Look::now();
        assert!(now.steps > before && now.cpu.is_some());
    }
}
