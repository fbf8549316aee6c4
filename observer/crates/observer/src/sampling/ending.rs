//! The conditions under which an observer ends by itself.

use encode::number::float;

use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::process_table::ProcessTable;

/// The seconds for which an observer that ends with its target waits for the target's first
/// process. The containers of a pod start in order, and the observer starts after the target. A
/// target without processes has therefore ended before the first scan, or never started. A longer
/// wait would delay the completion of a Job.
const START_TIMEOUT: f64 = 30.0;
/// Seconds until a second scan of `/proc` confirms that all processes of the target have ended. A
/// listing of processes is not a snapshot: a process may start another process and end while the
/// kernel lists the processes.
const SECOND_SCAN_DELAY: f64 = 0.2;

/// The progress of a run. It determines when an observer ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// When the run began, in seconds since boot.
    pub began: f64,
    /// Whether the log's header is written.
    pub has_header: bool,
    /// The number of timepoints taken so far.
    pub timepoints: u64,
    /// Whether a scan has found a process of the target.
    pub has_started: bool,
}

impl Progress {
    /// Creates the progress of a run that begins at `began`, in seconds since boot.
    pub fn new(began: f64) -> Self {
        Self {
            began,
            has_header: false,
            timepoints: 0,
            has_started: false,
        }
    }

    /// Returns the reason to end after a scan, or `None` to continue.
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
            return Some(format!("took the requested {completions} timepoints"));
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
            let returns = if settings.target_may_return {
                "; if the kubelet starts it again, it is not observed"
            } else {
                ""
            };
            return is_gone
                .then(|| format!("all processes of container {target} have ended{returns}"));
        }
        (waited >= START_TIMEOUT).then(|| {
            let why = "the container ended before the first scan, or did not start";
            format!("no process of container {target} within {START_TIMEOUT} seconds: {why}")
        })
    }
}
