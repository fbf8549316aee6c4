//! hold: waits, so that a node keeps the image that it is in.

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::session::ending_signals;

/// Waits for SIGTERM or SIGINT. As process 1 of a container it hears them, too, since it waits for
/// them by name.
///
/// # Errors
/// Where the kernel refuses to block signals.
pub fn hold() -> Result<Signal, Errno> {
    let signals = ending_signals();
    signals.thread_block()?;
    loop {
        match signals.wait() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}
