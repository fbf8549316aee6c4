//! perf-sysstat: the resource use of the application's processes in each interval.

use crate::clock::{self, WallTime};
use crate::ending::Progress;
use crate::json::push_string;
use crate::metadata;
use crate::number::float;
use crate::observer::{UNREADABLE, finish, prepare};
use crate::omissions::Omissions;
use crate::proc::mountinfo;
use crate::process::Key;
use crate::process_table::ProcessTable;
use crate::rows::{SECTIONS, Timepoint, estimate_bytes};
use crate::session::Session;
use crate::settings::Settings;
use crate::totals;

const DESCRIPTION: &str =
    "CPU, memory, I/O, faults and context switches of the application's processes";
/// The estimated bytes of a process's rows, until the first timepoint is written.
const INITIAL_ROW_BYTES: f64 = 2400.0;
/// The maximum seconds between scans. The resource use of a process after its last scan is not
/// observed, so this time must be short.
const MAX_SCAN_INTERVAL: f64 = 5.0;
/// After a scan, the observer is idle for at least this multiple of the scan's processor time. The
/// observer therefore uses at most a quarter of a core, with any number of processes.
const IDLE_FACTOR: f64 = 3.0;

/// Observes until there is a reason to end, and ends the log.
pub fn run(mut settings: Settings, session: &mut Session) {
    match prepare(&mut settings) {
        Ok(processes) => Run::new(&settings, processes, session).run(),
        Err(problem) => {
            write_header(&settings, session, "unknown");
            finish(
                &settings,
                session,
                &problem,
                &totals::nothing(settings.pod()),
            );
        }
    }
}

struct Run<'a> {
    settings: &'a Settings,
    processes: ProcessTable,
    session: &'a mut Session,
    progress: Progress,
    omissions: Omissions,
    /// The shortest interval of a row in seconds. A single clock tick would be a large part of a
    /// shorter interval.
    min_interval: f64,
    /// When the next timepoint is due, in seconds since boot.
    due: f64,
    /// Average bytes of a process's rows in the last timepoint.
    row_bytes: f64,
    is_log_full: bool,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, processes: ProcessTable, session: &'a mut Session) -> Self {
        let rate = settings.rate;
        Self {
            progress: Progress::new(processes.now),
            omissions: Omissions::default(),
            min_interval: if rate < 0.2 { rate / 2.0 } else { 0.1 },
            due: 0.0,
            row_bytes: INITIAL_ROW_BYTES,
            is_log_full: false,
            settings,
            processes,
            session,
        }
    }

    fn run(mut self) {
        self.log_notices();
        let reason = self.observe();
        if !self.progress.has_header {
            write_header(self.settings, self.session, "unknown");
        }
        let pod = self.settings.pod();
        let lines = totals::lines(
            &mut self.processes,
            pod,
            self.progress.timepoints,
            self.omissions.processes(),
        );
        finish(self.settings, self.session, &reason, &lines);
    }

    fn log_notices(&mut self) {
        let log = &mut self.session.log;
        if !self.processes.containers.has_names {
            let observed = "the processes of all other containers are observed";
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
            let value = crate::json::clean(value);
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
    fn observe(&mut self) -> String {
        let rate = self.settings.rate;
        loop {
            let cpu = clock::own_cpu();
            if !self.processes.scan(self.session) {
                break;
            }
            let has_rows = !self.processes.observed.is_empty();
            if has_rows && !self.progress.has_header {
                self.start_log();
            }
            if has_rows
                && self.progress.has_header
                && self.processes.now >= self.due - self.min_interval / 2.0
            {
                self.take_timepoint();
                self.due = self.processes.now + rate * self.session.log.budget().interval_factor();
            }
            self.omissions
                .report_scan(&self.processes, &mut self.session.log);
            let now = self.processes.now;
            if let Some(reason) =
                self.progress
                    .reason_to_end(self.settings, &mut self.processes, self.session, now)
            {
                return reason;
            }
            let ended = clock::since_boot();
            let next = self
                .next_scan()
                .max(ended + IDLE_FACTOR * (clock::own_cpu() - cpu));
            // The duration of the scan is part of the interval.
            if !self.session.pause(next - ended) {
                break;
            }
        }
        if self.session.is_stopping() {
            "stopped by a signal".to_owned()
        } else {
            UNREADABLE.to_owned()
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

    /// Writes the header when the first process is observed. The header says which counters can be
    /// read.
    fn start_log(&mut self) {
        let shown = &self.processes.observed;
        let is_hidden = |key: &&Key| {
            let measured = self
                .processes
                .all
                .get(*key)
                .and_then(|process| process.measured.as_ref());
            measured.is_none_or(|measured| measured.now.io.is_none())
        };
        let hidden = shown.iter().filter(is_hidden).count();
        let counters = match hidden {
            0 => "all",
            _ if hidden == shown.len() => "no-io",
            _ => "some-io",
        };
        write_header(self.settings, self.session, counters);
        self.progress.has_header = true;
        self.due = self.processes.now + self.settings.rate;
    }

    fn take_timepoint(&mut self) {
        self.session.log.flush();
        if self.session.log.is_waiting() {
            // The next timepoint also covers this interval.
            self.omissions.count_missed_timepoint();
            return;
        }
        self.omissions
            .report_missed_timepoints(&mut self.session.log);
        if self
            .session
            .log
            .has_room(self.row_bytes * float(self.processes.observed.len() as u64))
        {
            self.progress.timepoints += u64::from(self.print_timepoint());
        } else if !self.is_log_full {
            self.is_log_full = true;
            self.session
                .log
                .note("the log has no room for more timepoints; only the final summary follows");
            self.session.log.flush();
        }
    }

    /// Prints the rows of the processes of this scan, and begins their next interval. Returns false
    /// if no interval is long enough for a row.
    fn print_timepoint(&mut self) -> bool {
        let now = self.processes.now;
        let all = &self.processes.all;
        let is_due = |key: &Key| {
            let measured = all.get(key).and_then(|process| process.measured.as_ref());
            let base = measured.and_then(|measured| measured.base.as_ref());
            base.is_some_and(|base| now - base.at >= self.min_interval)
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
        self.keep_within_memory(&mut keys);
        if self.settings.has_threads {
            self.processes.read_thread_rows(&keys, self.min_interval);
            self.keep_within_memory(&mut keys);
        }
        let before = self.session.log.budget().used();
        self.print_sections(&keys);
        for key in &keys {
            if let Some(process) = self.processes.all.get_mut(key) {
                process.begin_interval(now);
            }
        }
        self.row_bytes = (self.session.log.budget().used() - before) / float(keys.len() as u64);
        true
    }

    /// Omits the last processes if there is not enough memory for the text of their rows.
    fn keep_within_memory(&mut self, keys: &mut Vec<Key>) {
        let limit = self.processes.capacity().rows;
        let mut bytes = 0;
        let fits = |key: &&Key| {
            bytes += self.processes.all.get(key).map_or(0, estimate_bytes);
            bytes <= limit
        };
        let most = keys.iter().take_while(fits).count();
        self.omissions
            .report_missing_rows(keys.len() - most, &mut self.session.log);
        keys.truncate(most);
    }

    fn print_sections(&mut self, keys: &[Key]) {
        let machine = self.processes.meter.machine;
        let timepoint = Timepoint {
            time: WallTime::now().time_of_day(),
            now: self.processes.now,
            ticks: machine.ticks,
            memory: machine.memory,
            has_delays: machine.has_delays,
            has_threads: self.settings.has_threads,
        };
        let log = &mut self.session.log;
        log.write_line("METRICS OPERATOR TIMEPOINT");
        for section in &SECTIONS {
            log.write_line(section.header);
            let rows = keys.iter().filter_map(|key| self.processes.all.get(key));
            section.push_rows(log.line(), &timepoint, rows);
            log.end_line();
        }
        log.flush();
    }
}

fn write_header(settings: &Settings, session: &mut Session, counters: &str) {
    let log = &mut session.log;
    metadata::write(log, settings, DESCRIPTION, &[("counters", counters)]);
    log.write_line("PIDSTAT COMMAND START");
    push_string(log.line(), &settings.target_description());
    log.end_line();
    log.write_line("PIDSTAT COMMAND END");
    log.write_line("METRICS OPERATOR COLLECTION START");
    log.flush();
}
