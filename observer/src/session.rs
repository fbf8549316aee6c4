//! The waits of an observer: for the next scan, for the reader of the log, and for a signal to end.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

use crate::budget::Budget;
use crate::clock;
use crate::log::Log;

/// The maximum seconds that an observer waits for the reader of its log after a signal has stopped
/// it.
const DRAIN_AFTER_SIGNAL: f64 = 0.5;

/// The signals that end an observer, and the log of the observer.
pub struct Session {
    signals: SignalFd,
    is_stopping: bool,
    /// The log.
    pub log: Log,
}

impl Session {
    /// Starts to receive SIGTERM and SIGINT, and opens the log on standard output.
    ///
    /// # Errors
    /// If the signals cannot be blocked, or if no file descriptor is left.
    pub fn begin(budget: Budget) -> Result<Self, Errno> {
        let signals = termination_signals();
        signals.thread_block()?;
        let signals =
            SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let out: OwnedFd = std::io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| errno_of(&error))?;
        Ok(Self {
            signals,
            is_stopping: false,
            log: Log::new(out, budget),
        })
    }

    /// Whether the observer was stopped by a signal.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Waits for `seconds` seconds, and writes the log meanwhile. Returns false if a signal to end
    /// has arrived. With 0 seconds, the method does not wait.
    pub fn pause(&mut self, seconds: f64) -> bool {
        let until = clock::since_boot() + seconds;
        loop {
            let left = (until - clock::since_boot()).max(0.0);
            if self.is_stopping {
                return false;
            }
            self.wait(Some(left));
            if self.is_stopping || clock::since_boot() >= until {
                return !self.is_stopping;
            }
        }
    }

    /// Waits until the observer is stopped by a signal.
    pub fn wait_for_signal(&mut self) {
        while !self.is_stopping {
            self.wait(None);
        }
    }

    /// Writes the rest of the log, for at most `seconds` seconds. If a signal stops the observer,
    /// or has stopped it, the maximum is half a second.
    pub fn drain(&mut self, seconds: f64) {
        let begun = clock::since_boot();
        self.log.flush();
        while self.log.is_waiting() {
            let patience = if self.is_stopping {
                DRAIN_AFTER_SIGNAL.min(seconds)
            } else {
                seconds
            };
            let left = begun + patience - clock::since_boot();
            if left <= 0.0 {
                return;
            }
            self.wait(Some(left));
        }
    }

    /// Waits for the signal, the reader of the log, or the timeout, whichever comes first.
    fn wait(&mut self, seconds: Option<f64>) {
        let timeout =
            seconds.map(|seconds| TimeSpec::from(std::time::Duration::from_secs_f64(seconds)));
        let mut waiting = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if self.log.is_waiting() {
            waiting.push(PollFd::new(self.log.as_fd(), PollFlags::POLLOUT));
        }
        // After the signal, only the log is polled.
        let from = usize::from(self.is_stopping);
        let is_written = ppoll(&mut waiting[from..], timeout, None).is_ok();
        drop(waiting);
        if matches!(self.signals.read_signal(), Ok(Some(_))) {
            self.is_stopping = true;
        }
        if is_written {
            self.log.flush();
        }
    }
}

/// Returns the signals that end the program: SIGTERM from a kubelet, and SIGINT from a terminal.
#[must_use]
pub fn termination_signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}
