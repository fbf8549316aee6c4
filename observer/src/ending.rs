//! When and how an observer ends.

use crate::look::Processes;
use crate::number::float;
use crate::session::Session;
use crate::settings::Settings;

/// An ordinary container starts after the ones before it in the pod. What is not there after so
/// many seconds has ended before it was seen, or never started; to wait on would keep a Job from
/// completing.
const PATIENCE: f64 = 30.0;
/// Seconds until the second look: a listing of processes is no snapshot, and one may pass on its
/// work while it is made.
const SECOND_LOOK: f64 = 0.2;

/// What of an observer's run decides about its end.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When it began, in seconds since boot.
    pub began: f64,
    /// Whether the log's header is written.
    pub is_open: bool,
    /// Timepoints that were taken.
    pub timepoints: u64,
    /// Whether a process of the target was seen.
    pub has_started: bool,
}

impl Progress {
    /// Nothing is taken yet.
    #[must_use]
    pub fn new(began: f64) -> Self {
        Self {
            began,
            is_open: false,
            timepoints: 0,
            has_started: false,
        }
    }

    /// Why to end now, in words, after a look; `None` to go on.
    pub fn reason_to_end(
        &mut self,
        settings: &Settings,
        processes: &mut Processes,
        session: &mut Session,
        now: f64,
    ) -> Option<String> {
        let Settings {
            completions,
            timeout,
            target,
            ..
        } = settings;
        if *completions > 0.0 && float(self.timepoints) >= *completions {
            return Some(format!(
                "took the {completions} timepoints that were asked for"
            ));
        }
        let is_alive = processes.live_targets > 0;
        self.has_started |= is_alive;
        let waited = now - self.began;
        if *timeout > 0.0 && !self.is_open && waited >= *timeout {
            return Some(format!(
                "no sign of {} within {timeout} seconds",
                settings.wanted()
            ));
        }
        if !settings.ends_itself || is_alive {
            return None;
        }
        if self.has_started {
            let is_gone = session.pause(SECOND_LOOK)
                && processes.look(session)
                && processes.live_targets == 0;
            return is_gone.then(|| format!("the processes of container {target} are gone"));
        }
        (waited >= PATIENCE).then(|| {
            let why = "it ended before it was seen, or did not start";
            format!("no process of container {target} within {PATIENCE} seconds: {why}")
        })
    }
}
