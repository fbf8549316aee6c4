//! What an observer waits for: its next look, the reader of its log, and the signal to end.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

use crate::budget::Budget;
use crate::clock;
use crate::log::Log;

/// Seconds that the end of a log waits for its reader when the observer was told to end.
const LAST_WORDS: f64 = 0.5;

/// The signals that end an observer, and its log.
pub struct Session {
    signals: SignalFd,
    is_told: bool,
    /// The log.
    pub log: Log,
}

impl Session {
    /// Takes over SIGTERM and SIGINT, and standard output.
    ///
    /// # Errors
    /// Where the kernel has no descriptor left.
    pub fn begin(budget: Budget) -> Result<Self, Errno> {
        let signals = ending_signals();
        signals.thread_block()?;
        let signals =
            SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let out: OwnedFd = std::io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| errno_of(&error))?;
        Ok(Self {
            signals,
            is_told: false,
            log: Log::new(out, budget),
        })
    }

    /// Whether the observer was told to end.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    /// Waits for some seconds, and writes what the log's reader takes meanwhile. False when it is
    /// time to end. With 0 it only looks whether it is.
    pub fn pause(&mut self, seconds: f64) -> bool {
        let until = clock::since_boot() + seconds;
        loop {
            let left = (until - clock::since_boot()).max(0.0);
            if self.is_told {
                return false;
            }
            self.wait(Some(left));
            if self.is_told || clock::since_boot() >= until {
                return !self.is_told;
            }
        }
    }

    /// Waits until the observer is told to end.
    pub fn wait_for_end(&mut self) {
        while !self.is_told {
            self.wait(None);
        }
    }

    /// Writes the rest of the log: for a moment where the observer was told to end, else for so
    /// many seconds, or until it is.
    pub fn drain(&mut self, seconds: f64) {
        let begun = clock::since_boot();
        self.log.flush();
        while self.log.is_waiting() {
            let patience = if self.is_told {
                LAST_WORDS.min(seconds)
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

    /// Waits for the signal, the log's reader, or the time to pass, whichever comes first.
    fn wait(&mut self, seconds: Option<f64>) {
        let timeout =
            seconds.map(|seconds| TimeSpec::from(std::time::Duration::from_secs_f64(seconds)));
        let mut waiting = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if self.log.is_waiting() {
            waiting.push(PollFd::new(self.log.as_fd(), PollFlags::POLLOUT));
        }
        // After the signal only the log is waited for.
        let from = usize::from(self.is_told);
        let is_written = ppoll(&mut waiting[from..], timeout, None).is_ok();
        drop(waiting);
        if matches!(self.signals.read_signal(), Ok(Some(_))) {
            self.is_told = true;
        }
        if is_written {
            self.log.flush();
        }
    }
}

/// SIGTERM, as a kubelet sends it, and SIGINT, as a terminal does.
#[must_use]
pub fn ending_signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}
