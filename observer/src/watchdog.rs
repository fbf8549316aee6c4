//! Ends the program if a signal to end is not answered, because the only thread that answers it
//! waits in the kernel.
//!
//! Reading the memory of a process whose thread waits for storage, or a file on a network file
//! system, may take any time. Such waits of the kernel end when the program exits, so a second
//! thread waits for the signal too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{Builder, sleep};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

use crate::proc::stat;

/// The time after which a signal counts as not answered.
const PATIENCE: Duration = Duration::from_millis(700);
/// The time between two looks at a signal that is not answered.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of the thread's stack.
const STACK: usize = 65_536;
const END: &[u8] = b"\nMETRICS OPERATOR COLLECTION END\n";

/// Starts to watch. `signals` is the descriptor from which the signals are read, and `out` that of
/// the log. If there cannot be another thread, a signal may stay unanswered.
pub fn start(signals: BorrowedFd<'_>, out: BorrowedFd<'_>) {
    let Ok(signals) = signals.try_clone_to_owned() else {
        return;
    };
    let Ok(out) = out.try_clone_to_owned() else {
        return;
    };
    let builder = Builder::new().stack_size(STACK);
    let _ = builder.spawn(move || watch(&signals, &out));
}

fn watch(signals: &OwnedFd, out: &OwnedFd) {
    loop {
        is_ready(signals, PollFlags::POLLIN, PollTimeout::NONE);
        sleep(PATIENCE);
        while is_ready(signals, PollFlags::POLLIN, PollTimeout::ZERO) {
            if is_blocked() {
                end(out);
            }
            sleep(PAUSE);
        }
    }
}

/// Whether the first thread of this program waits in the kernel, and no signal can interrupt it.
fn is_blocked() -> bool {
    let text = std::fs::read("/proc/self/stat").unwrap_or_default();
    stat::parse(&text).is_some_and(|stat| stat.state == b'D')
}

/// Ends the program with the closing marker, without which the Metrics Operator's parser ignores a
/// log.
fn end(out: &OwnedFd) -> ! {
    if is_ready(out, PollFlags::POLLOUT, PollTimeout::ZERO) {
        // If this fails, there is no other stream for the marker.
        let _ = write(out, END);
    }
    std::process::exit(0)
}

fn is_ready(descriptor: &OwnedFd, flags: PollFlags, timeout: PollTimeout) -> bool {
    let mut ready = [PollFd::new(descriptor.as_fd(), flags)];
    poll(&mut ready, timeout).is_ok_and(|count| count > 0)
}
