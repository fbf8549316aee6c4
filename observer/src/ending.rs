//! The conditions under which an observer ends by itself.

use crate::number::float;
use crate::process_table::ProcessTable;
use crate::session::Session;
use crate::settings::Settings;

/// Containers of a pod start in order, the observer's after the target. A target without processes
/// for this many seconds has ended before the first scan or never started; waiting longer would
/// keep a Job from completing.
const START_TIMEOUT: f64 = 30.0;
/// Seconds until the second scan: a listing of processes is no snapshot, and a process may start
/// another one and end while the kernel lists them.
const SECOND_SCAN_DELAY: f64 = 0.2;

/// The progress of an observer's run, as far as it decides about the end.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When it began, in seconds since boot.
    pub began: f64,
    /// Whether the log's header is written.
    pub has_header: bool,
    /// Timepoints that were taken.
    pub timepoints: u64,
    /// Whether a scan found a process of the target.
    pub has_started: bool,
}

impl Progress {
    /// The progress at the beginning, in seconds since boot.
    #[must_use]
    pub fn new(began: f64) -> Self {
        Self {
            began,
            has_header: false,
            timepoints: 0,
            has_started: false,
        }
    }

    /// After a scan, the reason to end now; `None` to go on.
    pub fn reason_to_end(
        &mut self,
        settings: &Settings,
        processes: &mut ProcessTable,
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
        if *timeout > 0.0 && !self.has_header && waited >= *timeout {
            return Some(format!(
                "no sign of {} within {timeout} seconds",
                settings.target_description()
            ));
        }
        if !settings.exits_by_itself || is_alive {
            return None;
        }
        if self.has_started {
            let is_gone = session.pause(SECOND_SCAN_DELAY)
                && processes.scan(session)
                && processes.live_targets == 0;
            return is_gone.then(|| format!("the processes of container {target} are gone"));
        }
        (waited >= START_TIMEOUT).then(|| {
            let why = "it ended before it was seen, or did not start";
            format!("no process of container {target} within {START_TIMEOUT} seconds: {why}")
        })
    }
}
