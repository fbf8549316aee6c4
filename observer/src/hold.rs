//! hold: waits, so that a node keeps the image of the observers.

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::session::termination_signals;

/// Waits for SIGTERM or SIGINT. The kernel discards the default action of signals for process 1 of
/// a container, but delivers signals that it waits for.
///
/// # Errors
/// If the kernel refuses to block signals.
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
