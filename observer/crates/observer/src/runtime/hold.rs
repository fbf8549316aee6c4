//! hold: waits for a signal, so that the node keeps the image of the observers.

use linux::signals::termination_signals;
use nix::errno::Errno;
use nix::sys::signal::Signal;

/// Waits for SIGTERM or SIGINT. The kernel ignores the default action of a signal for process 1 of
/// a container, but delivers a signal that the process waits for.
///
/// # Errors
/// If the signals cannot be blocked, or if the wait fails.
pub fn hold() -> Result<Signal, Errno> {
    let signals = termination_signals();
    signals.thread_block()?;
    loop {
        match signals.wait() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}
