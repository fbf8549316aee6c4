//! The sampling of processes, for metrics that observe processes: the observer scans the
//! processes until there is a reason to end, and writes a timepoint when it is due and the log has
//! room for it.

use encode::json::push_known;
use encode::number::float;
use linux::clock;
use linux::proc::mountinfo;

use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::ending::Progress;
use crate::sampling::json_rows;
use crate::sampling::lifecycle::{UNREADABLE, finish, prepare};
use crate::sampling::omissions::Omissions;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;

/// The maximum seconds between scans, if scans use little processor time (see [`IDLE_FACTOR`]). The
/// resource use of a process after its last scan is not observed, so this time must be short.
const MAX_SCAN_INTERVAL: f64 = 5.0;
/// The minimum seconds between a scan and the scan that follows the end of a container's first
/// process.
const MIN_SCAN_INTERVAL: f64 = 1.0;
/// After a scan, the observer is idle for at least this multiple of the scan's processor time. The
/// observer therefore uses at most a quarter of a core, with any number of processes.
const IDLE_FACTOR: f64 = 3.0;

/// The parts of the log that differ between the metrics: the header, the rows and the summary.
pub trait Sampler {
    /// The estimated bytes of a process's rows, for the first timepoint.
    const INITIAL_ROW_BYTES: f64;
    /// Whether all values of a row are about an interval, so that a process has no row before its
    /// first interval has ended. Otherwise rows contain counters and states, too, which are known
    /// as soon as a process is found.
    const HAS_RATES: bool;

    /// Writes the header when the first process is observed. If no process is ever observed, writes
    /// the header at the end of the run, and `processes` is `None`.
    fn write_header(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        _processes: Option<&ProcessTable>,
    ) {
        json_rows::write_header(settings, session, &[]);
    }

    /// Estimates the bytes of the rows of a process and its threads in one timepoint.
    fn estimate_bytes(&self, process: &Process) -> usize;

    /// Predicts the bytes of the rows of the next timepoint, if that is more than in the last one.
    fn predict_bytes(&self, _processes: &ProcessTable) -> usize {
        0
    }

    /// Takes a scan, also one without a timepoint. Called once the header is written.
    fn take_scan(&mut self, _run: &mut Run<'_>) {}

    /// Skips a scan that has found no process to observe. Called until the header is written.
    fn skip_scan(&mut self) {}

    /// Returns when the sampler has something to do apart from scans, in seconds since boot: then
    /// [`Sampler::look`] is called.
    fn due(&self) -> f64 {
        f64::INFINITY
    }

    /// Does what is due apart from scans, without waiting.
    fn look(&mut self, _run: &mut Run<'_>) {}

    /// Prints the rows of a timepoint.
    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]);

    /// Returns the lines of the summary until now, for the live export.
    fn totals(&mut self, _run: &mut Run<'_>) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Returns the lines of the summary.
    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>>;

    /// Returns the lines of the summary of a run that could not begin.
    fn empty_summary(&self, settings: &Settings) -> Vec<Vec<u8>> {
        json_rows::build_empty_summary(settings.metric.name, settings.pod())
    }
}

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
pub fn run<S: Sampler>(mut sampler: S, mut settings: Settings, session: &mut Session) {
    match prepare(&mut settings, session.log.feed.is_some()) {
        Ok(processes) => Run::new(&settings, processes, session, S::INITIAL_ROW_BYTES).run(sampler),
        Err(problem) => {
            sampler.write_header(&settings, session, None);
            let lines = sampler.empty_summary(&settings);
            finish(&settings, session, &problem, &lines);
        }
    }
}

/// One run of an observer.
pub struct Run<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The processes of the pod.
    pub processes: ProcessTable,
    /// The log, and the signal that ends the run.
    pub session: &'a mut Session,
    /// The progress of the run, such as the number of timepoints.
    pub progress: Progress,
    /// The timepoints, processes and rows that are missing in the log.
    pub omissions: Omissions,
    /// The reasons why counters cannot be read.
    notices: Notices,
    /// The minimum interval of a row in seconds. In a shorter interval, a single clock tick would
    /// be a large part of the values.
    pub min_interval: f64,
    /// When the next timepoint is due, in seconds since boot.
    due: f64,
    /// Average bytes of a process's rows in the last timepoint.
    row_bytes: f64,
    is_log_full: bool,
}

impl<'a> Run<'a> {
    fn new(
        settings: &'a Settings,
        processes: ProcessTable,
        session: &'a mut Session,
        row_bytes: f64,
    ) -> Self {
        let rate = settings.rate;
        Self {
            progress: Progress::new(processes.now),
            omissions: Omissions::default(),
            notices: Notices::default(),
            min_interval: if rate < 0.2 { rate / 2.0 } else { 0.1 },
            due: 0.0,
            row_bytes,
            is_log_full: false,
            settings,
            processes,
            session,
        }
    }

    /// Returns the beginning of a sentence about the last attempt of the target. It is empty if
    /// only one was observed.
    pub fn since_restart(&self) -> String {
        if self.processes.containers.target_attempt() > 1 {
            format!(
                "since container {} was started again, ",
                self.settings.target
            )
        } else {
            String::new()
        }
    }

    /// Begins the line of the summary for the whole run.
    pub fn begin_whole(&self) -> Vec<u8> {
        let (metric, pod) = (self.settings.metric.name, self.settings.pod());
        let (timepoints, processes) = (self.progress.timepoints, self.processes.total);
        let mut line = json_rows::begin_whole(metric, pod, timepoints, processes);
        let left_out = self.omissions.processes();
        if left_out > 0 {
            push_known(&mut line, "processes_left_out", Some(left_out));
        }
        line
    }

    /// Ends the line of the summary for the whole run with the use of the containers. Call this
    /// method when the accounts are closed.
    pub fn end_whole(&self, line: &mut Vec<u8>) {
        let ProcessTable {
            container_uses,
            containers,
            sums,
            ..
        } = &self.processes;
        container_uses.push(line, containers, sums.list());
        line.push(b'}');
    }

    fn run<S: Sampler>(mut self, mut sampler: S) {
        self.log_notices();
        let reason = self.observe(&mut sampler);
        if !self.progress.has_header {
            sampler.write_header(self.settings, self.session, None);
        }
        let lines = sampler.summary(&mut self);
        finish(self.settings, self.session, &reason, &lines);
    }

    fn log_notices(&mut self) {
        let log = &mut self.session.log;
        if !self.processes.containers.has_names {
            let observed = "all containers except those of observers are observed";
            log.note(&format!(
                "no mount of the kubelet contains the names of containers: {observed}"
            ));
        }
        let mounts = self
            .processes
            .meter
            .files
            .read_whole("self/mountinfo")
            .unwrap_or_default();
        if let Some(value) = mountinfo::hidepid(mounts) {
            let value = encode::json::clean(value);
            log.note(&format!(
                "/proc is mounted with hidepid={value}: processes of other users may be hidden"
            ));
        }
        log.note(&format!(
            "waiting for {}",
            self.settings.target_description()
        ));
        log.flush();
    }

    /// Scans the processes until there is a reason to end, and returns the reason.
    fn observe<S: Sampler>(&mut self, sampler: &mut S) -> String {
        let rate = self.settings.rate;
        loop {
            let cpu = clock::own_cpu();
            if !self.processes.scan(self.session) {
                break;
            }
            let has_rows = !self.processes.observed.is_empty();
            if has_rows && !self.progress.has_header {
                self.start_log(sampler);
            }
            if self.progress.has_header {
                sampler.take_scan(self);
            } else {
                sampler.skip_scan();
            }
            if has_rows
                && self.progress.has_header
                && self.processes.now >= self.due - self.min_interval / 2.0
            {
                self.take_timepoint(sampler);
                self.export_totals(sampler);
                self.due = self.processes.now + rate * self.session.log.budget().interval_factor();
            }
            self.report_scan();
            let now = self.processes.now;
            if let Some(reason) =
                self.progress
                    .reason_to_end(self.settings, &mut self.processes, self.session, now)
            {
                return reason;
            }
            let ended = clock::since_boot();
            let earliest = ended + IDLE_FACTOR * (clock::own_cpu() - cpu);
            // The duration of this scan is part of the time until the next scan.
            let next = self.next_scan().max(earliest);
            if !self.wait_for_scan(sampler, earliest, next) {
                break;
            }
        }
        // Processes may have used more, or have ended, since the last scan.
        self.processes.read_last_use(self.session);
        if self.session.is_stopping() {
            "stopped by a signal".to_owned()
        } else {
            UNREADABLE.to_owned()
        }
    }

    /// Reports what is missing because of the memory limit, or cannot be read.
    fn report_scan(&mut self) {
        self.omissions
            .report_scan(&self.processes, &mut self.session.log);
        if let Some(reason) = self.processes.meter.denial.take() {
            let unknown = "the I/O and the open files of a process cannot be read";
            let log = &mut self.session.log;
            self.notices.report(format!("{unknown}: {reason}"), log);
        }
        if self.processes.containers.target_attempt() > 1 {
            let target = &self.settings.target;
            let text = format!("container {target} was started again");
            self.notices.report(text, &mut self.session.log);
        }
        self.session.note_export_problem();
    }

    /// Waits until the time `next`, and meanwhile reads the counters of the processes for which no
    /// observed process waits, and does what the sampler has to do. If the first process of a
    /// container ends, the next scan is due earlier, but not before the time `earliest`. Returns
    /// false if a signal to end has arrived.
    fn wait_for_scan<S: Sampler>(&mut self, sampler: &mut S, earliest: f64, mut next: f64) -> bool {
        let scanned = self.processes.now;
        let ticks = self.processes.meter.machine.ticks;
        self.processes.last_use.postpone(scanned, ticks);
        loop {
            let now = clock::since_boot();
            if now >= next || self.session.is_stopping() {
                return self.session.pause(0.0);
            }
            if sampler.due() <= now {
                sampler.look(self);
                continue;
            }
            let due = self.processes.last_use.due().min(sampler.due());
            let ends = self.processes.last_use.ends();
            let has_ended = self
                .session
                .pause_until_readable((next.min(due) - now).max(0.0), ends);
            let is_due = has_ended || clock::since_boot() >= due;
            if is_due && self.processes.read_last_use(self.session) {
                let soon = self.processes.now + MIN_SCAN_INTERVAL;
                next = next.min(soon.max(earliest));
            }
        }
    }

    fn next_scan(&self) -> f64 {
        let (now, rate) = (self.processes.now, self.settings.rate);
        if !self.progress.has_header {
            return now + rate.min(1.0);
        }
        let next = now + rate / (rate / MAX_SCAN_INTERVAL).ceil();
        if self.due > now {
            next.min(self.due)
        } else {
            next
        }
    }

    /// Writes the header when the first process is observed.
    fn start_log<S: Sampler>(&mut self, sampler: &mut S) {
        sampler.write_header(self.settings, self.session, Some(&self.processes));
        self.progress.has_header = true;
        self.due = self.processes.now;
        if S::HAS_RATES {
            self.due += self.settings.rate;
        }
    }

    fn take_timepoint<S: Sampler>(&mut self, sampler: &mut S) {
        self.session.log.flush();
        if self.session.log.is_waiting() {
            // The interval of each process continues until the next timepoint.
            self.omissions.count_missed_timepoint();
            return;
        }
        self.omissions
            .report_missed_timepoints(&mut self.session.log);
        let as_before = self.row_bytes * float(self.processes.observed.len() as u64);
        let predicted = float(sampler.predict_bytes(&self.processes) as u64);
        if self.session.log.has_room(as_before.max(predicted)) {
            self.progress.timepoints += u64::from(self.print_timepoint(sampler));
        } else if !self.is_log_full {
            self.is_log_full = true;
            self.session
                .log
                .note("the log has no room for more timepoints; only the final summary follows");
            self.session.log.flush();
        }
    }

    fn export_totals<S: Sampler>(&mut self, sampler: &mut S) {
        if self.session.log.feed.is_none() {
            return;
        }
        let lines = sampler.totals(self);
        if let Some(feed) = &mut self.session.log.feed {
            feed.push_totals(&lines);
            feed.flush();
        }
    }

    /// Prints the rows of the processes of this scan, and begins the next interval of each process.
    /// Returns false if no process can have a row yet.
    fn print_timepoint<S: Sampler>(&mut self, sampler: &mut S) -> bool {
        let now = self.processes.now;
        let all = &self.processes.all;
        let is_due = |key: &Key| {
            let measured = all.get(key).and_then(|process| process.measured.as_ref());
            let base = measured.and_then(|measured| measured.base.as_ref());
            base.is_some_and(|base| !S::HAS_RATES || now - base.at >= self.min_interval)
        };
        let mut keys: Vec<Key> = self
            .processes
            .observed
            .iter()
            .copied()
            .filter(is_due)
            .collect();
        if keys.is_empty() {
            return false;
        }
        self.keep_within_memory(sampler, &mut keys);
        if self.settings.has_threads {
            self.processes.read_thread_rows(&keys, self.min_interval);
            self.keep_within_memory(sampler, &mut keys);
        }
        let before = self.session.log.budget().used();
        sampler.print(self, &keys);
        self.session.log.flush();
        for key in &keys {
            if let Some(process) = self.processes.all.get_mut(key) {
                process.begin_interval(now, self.min_interval);
            }
        }
        self.row_bytes = (self.session.log.budget().used() - before) / float(keys.len() as u64);
        true
    }

    /// Omits the last processes if there is not enough memory for the text of their rows.
    fn keep_within_memory<S: Sampler>(&mut self, sampler: &S, keys: &mut Vec<Key>) {
        let limit = self.processes.capacity().rows;
        let mut bytes = 0;
        let fits = |key: &&Key| {
            bytes += self
                .processes
                .all
                .get(key)
                .map_or(0, |process| sampler.estimate_bytes(process));
            bytes <= limit
        };
        let most = keys.iter().take_while(fits).count();
        self.omissions
            .report_missing_rows(keys.len() - most, &mut self.session.log);
        keys.truncate(most);
    }
}
