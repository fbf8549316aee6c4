//! The waits of an observer: for the next scan, for the reader of the log, and for a signal to end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linux::cgroup::headroom::Headroom;
use linux::clock;
use linux::signals::termination_signals;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use otlp::feed::Feed;
use otlp::settings::ExportSettings;

use crate::runtime::budget::Budget;
use crate::runtime::log::Log;
use crate::runtime::watchdog;

/// The maximum seconds that an observer waits for the reader of its log after a signal has stopped
/// it.
const DRAIN_AFTER_SIGNAL: f64 = 0.5;
/// The maximum seconds that an observer waits for the last push of the live export, after the
/// signal or the end of its log.
const LAST_PUSH: f64 = 0.9;

/// The signals that end an observer, and the log of the observer.
pub struct Session {
    signals: SignalFd,
    is_stopping: bool,
    /// When the signal arrived, in seconds since boot.
    stopped_at: f64,
    headroom: Headroom,
    /// The log.
    pub log: Log,
}

impl Session {
    /// Starts to receive SIGTERM and SIGINT, and opens the log on standard output. If the observer
    /// ends by itself, a call that does not return ends it, too.
    ///
    /// # Errors
    /// If the signals cannot be blocked, or if no file descriptor is left.
    pub fn begin(budget: Budget, ends_by_itself: bool) -> Result<Self, Errno> {
        let signals = termination_signals();
        signals.thread_block()?;
        let signals =
            SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let out: OwnedFd = std::io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|error| errno_of(&error))?;
        watchdog::start(signals.as_fd(), out.as_fd());
        if ends_by_itself {
            watchdog::watch_calls(out.as_fd());
        }
        Ok(Self {
            signals,
            is_stopping: false,
            stopped_at: 0.0,
            headroom: Headroom::detect(),
            log: Log::new(out, budget),
        })
    }

    /// Whether the observer was stopped by a signal.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Lets the kernel free memory if the memory limit of the container is near, and writes the log
    /// meanwhile. Returns false if a signal to end has arrived. A loop that reads many files calls
    /// this method regularly.
    pub fn poll(&mut self) -> bool {
        self.pause(self.headroom.rest())
    }

    /// Waits for `seconds` seconds, and writes the log meanwhile. With 0 seconds, the method does
    /// not wait. Returns false if a signal to end has arrived.
    pub fn pause(&mut self, seconds: f64) -> bool {
        let until = clock::since_boot() + seconds;
        loop {
            let left = (until - clock::since_boot()).max(0.0);
            if self.is_stopping {
                watchdog::count_step();
                return false;
            }
            self.wait(Some(left), &[]);
            if self.is_stopping || clock::since_boot() >= until {
                return !self.is_stopping;
            }
        }
    }

    /// Waits for `seconds` seconds, or until one of the descriptors is readable, and writes the log
    /// meanwhile. Returns whether a descriptor is readable.
    pub fn pause_until_readable<'a>(
        &mut self,
        seconds: f64,
        others: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> bool {
        let others: Vec<BorrowedFd<'_>> = others.collect();
        let until = clock::since_boot() + seconds;
        while !self.is_stopping {
            let left = (until - clock::since_boot()).max(0.0);
            if self.wait(Some(left), &others) {
                return true;
            }
            if clock::since_boot() >= until {
                break;
            }
        }
        false
    }

    /// Waits until the observer is stopped by a signal.
    pub fn wait_for_signal(&mut self) {
        while !self.is_stopping {
            self.wait(None, &[]);
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
            self.wait(Some(left), &[]);
        }
    }

    /// Starts the live export, if it is on. A problem is reported in the log.
    pub fn start_export(&mut self, settings: Result<Option<ExportSettings>, String>) {
        let feed = match settings {
            Ok(None) => return,
            Ok(Some(settings)) => Feed::start(&settings.endpoint),
            Err(problem) => Err(format!("the live export is off: {problem}")),
        };
        match feed {
            Ok(feed) => self.log.feed = Some(feed),
            Err(problem) => self.log.note(&problem),
        }
    }

    /// Reports the first failure of the live export in the log.
    pub fn note_export_problem(&mut self) {
        if let Some(problem) = self.log.feed.as_mut().and_then(Feed::take_problem) {
            self.log.note(&problem);
            self.log.flush();
        }
    }

    /// Waits for the last push of the live export, for less than a second.
    pub fn finish_export(&mut self) {
        let begun = if self.is_stopping {
            self.stopped_at
        } else {
            clock::since_boot()
        };
        if let Some(feed) = &mut self.log.feed {
            feed.finish(begun + LAST_PUSH);
        }
    }

    /// Waits for the signal, the reader of the log, one of the other descriptors, or the timeout,
    /// whichever comes first. Returns whether one of the other descriptors is readable.
    fn wait(&mut self, seconds: Option<f64>, others: &[BorrowedFd<'_>]) -> bool {
        let timeout =
            seconds.map(|seconds| TimeSpec::from(std::time::Duration::from_secs_f64(seconds)));
        let count = others.len();
        let mut waiting = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let others = others.iter();
        waiting.extend(others.map(|other| PollFd::new(*other, PollFlags::POLLIN)));
        if self.log.is_waiting() {
            waiting.push(PollFd::new(self.log.as_fd(), PollFlags::POLLOUT));
        }
        if let Some(feed) = &self.log.feed {
            let descriptors = feed.descriptors().into_iter();
            waiting.extend(descriptors.map(|(pipe, events)| PollFd::new(pipe, events)));
        }
        // The signal is only polled until it arrives.
        let from = usize::from(self.is_stopping);
        let poll = || ppoll(&mut waiting[from..], timeout, None).is_ok();
        let is_written = watchdog::wait_for_event(poll);
        let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(false);
        let is_readable = is_written && waiting[1..=count].iter().any(is_ready);
        let has_signal = is_written && is_ready(&waiting[0]);
        drop(waiting);
        if has_signal && matches!(self.signals.read_signal(), Ok(Some(_))) {
            self.is_stopping = true;
            self.stopped_at = clock::since_boot();
            watchdog::watch_last_steps(self.log.as_fd());
        }
        if let Some(feed) = &mut self.log.feed {
            feed.flush();
        }
        if is_written {
            self.log.flush();
        }
        is_readable
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}
