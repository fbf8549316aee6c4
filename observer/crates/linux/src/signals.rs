//! The signals that end the program.

use nix::sys::signal::{SigSet, Signal};

/// Returns the signals that end the program: SIGTERM from a kubelet, and SIGINT from a terminal.
pub fn termination_signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals
}
