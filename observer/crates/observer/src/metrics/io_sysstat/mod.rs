//! io-sysstat: the use of the node's block devices while the application runs. Between the opening
//! and the closing marker of the log, the Metrics Operator's parser accepts only complete documents
//! of iostat.

pub mod document;

use encode::json::{clean, push_member, push_string};
use encode::number::push;
use linux::clock::{self, WallTime};
use nix::sys::utsname::uname;
use nix::unistd::{SysconfVar, sysconf};

use self::document::{DeviceSums, Devices, Host, Sectors, devices, document, whole_devices};
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::metadata;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::columns::{Columns, Part, Rows, Section};
use crate::sampling::ending::Progress;
use crate::sampling::lifecycle::{finish, prepare};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::{number, row};

/// Seconds between two scans for processes of the target, if the observer ends with the target.
const SCAN_INTERVAL: f64 = 1.0;
/// Seconds of each wait while the log is full.
const WHEN_FULL: f64 = 5.0;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The lines of the devices in the summary.
const TOTAL: Section = Section {
    name: "total",
    of: "device",
    title: None,
    description: "the block devices of the node, since the observer started",
    columns: Columns::new(&[document::NAME, Part::Shared(SUMS)]),
};

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "io-sysstat",
        description: "throughput, latency and utilization of the block devices of the node",
        help: "throughput, latency and utilization of the block devices of the node",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
        ],
        reads: ProcessFiles::None,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "iostat",
    sections: &[document::DEVICE],
    summary: &[TOTAL],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(mut settings: Settings, session: &mut Session) {
    let prepared = prepare(&mut settings, session.log.feed.is_some());
    write_header(&settings, session);
    match prepared {
        Ok(processes) => {
            let mut run = Run::new(&settings, processes, session);
            let reason = run.sample_all();
            let lines = run.summary();
            finish(&settings, run.session, &reason, &lines);
        }
        Err(problem) => finish(&settings, session, &problem, &[whole(&settings, 0)]),
    }
}

fn write_header(settings: &Settings, session: &mut Session) {
    metadata::write(&mut session.log, settings, &[("devices", "node")]);
    session.log.write_line("METRICS OPERATOR COLLECTION START");
    session.log.flush();
}

struct Run<'a> {
    settings: &'a Settings,
    processes: ProcessTable,
    session: &'a mut Session,
    progress: Progress,
    host: Host,
    /// The use of the devices since the beginning of the run.
    sums: DeviceSums,
    /// Bytes of the last document in the log.
    document_bytes: f64,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, processes: ProcessTable, session: &'a mut Session) -> Self {
        let mut progress = Progress::new(processes.now);
        progress.has_header = true;
        Self {
            settings,
            processes,
            session,
            progress,
            host: host(),
            sums: DeviceSums::default(),
            document_bytes: 0.0,
        }
    }

    /// Takes samples until there is a reason to end, and returns the reason.
    fn sample_all(&mut self) -> String {
        let mut before = match self.read() {
            Ok(first) => first,
            Err(problem) => return problem,
        };
        self.sums = DeviceSums::new(before.clone());
        let mut began = clock::since_boot();
        loop {
            if let Some(reason) = self.reason_to_end() {
                return reason;
            }
            if !self.session.log.has_room(self.document_bytes) {
                if let Some(reason) = self.wait(WHEN_FULL) {
                    return reason;
                }
                self.update_sums();
                continue;
            }
            let seconds = (self.settings.rate * self.session.log.budget().interval_factor())
                .floor()
                .max(1.0);
            if let Some(reason) = self.wait(seconds) {
                return reason;
            }
            let now = match self.read() {
                Ok(now) => now,
                Err(problem) => return problem,
            };
            let ended = clock::since_boot();
            self.sums.update(&now);
            // If this document is not printed, the interval of the next document begins at the
            // beginning of this interval.
            if self.print(ended - began, &before, &now) {
                (before, began) = (now, ended);
            }
        }
    }

    /// Waits for `seconds` seconds. If the observer ends with the target, also scans for processes
    /// of the target. Returns the reason to end, if there is one.
    fn wait(&mut self, seconds: f64) -> Option<String> {
        let until = clock::since_boot() + seconds;
        loop {
            let left = until - clock::since_boot();
            if left <= 0.0 {
                return None;
            }
            if !self.session.pause(left.min(SCAN_INTERVAL)) {
                return Some("stopped by a signal".to_owned());
            }
            if self.settings.exits_by_itself {
                if !self.processes.scan(self.session) {
                    return Some("stopped by a signal".to_owned());
                }
                if let Some(reason) = self.reason_to_end() {
                    return Some(reason);
                }
            }
        }
    }

    fn reason_to_end(&mut self) -> Option<String> {
        let now = clock::since_boot();
        self.progress
            .reason_to_end(self.settings, &mut self.processes, self.session, now)
    }

    fn read(&mut self) -> Result<Devices, String> {
        let text = self.processes.meter.files.read_whole("diskstats");
        text.map(devices)
            .map_err(|error| format!("/proc/diskstats cannot be read: {}", error.desc()))
    }

    /// Prints a document and returns true. Returns false, without printing, if the previous
    /// document is not completely written yet because the reader of the log is slow.
    fn print(&mut self, seconds: f64, before: &Devices, now: &Devices) -> bool {
        self.session.log.flush();
        if self.session.log.is_waiting() {
            return false;
        }
        let date = WallTime::now().short_date();
        let text = document(
            &self.host,
            &date,
            seconds,
            before,
            now,
            whole_devices().as_deref(),
        );
        let log = &mut self.session.log;
        log.write_line("METRICS OPERATOR TIMEPOINT");
        let used = log.budget().used();
        for line in text.split(|byte| *byte == b'\n') {
            log.line().extend_from_slice(line);
            log.end_line();
        }
        self.document_bytes = log.budget().used() - used;
        log.flush();
        self.progress.timepoints += 1;
        self.export_totals();
        true
    }

    /// Adds the use of the devices since the last sample. A device may be removed before the next.
    fn update_sums(&mut self) {
        if let Ok(now) = self.read() {
            self.sums.update(&now);
        }
    }

    fn export_totals(&mut self) {
        if self.session.log.feed.is_none() {
            return;
        }
        let lines = self.device_lines();
        if let Some(feed) = &mut self.session.log.feed {
            feed.push_totals(&lines);
            feed.flush();
        }
    }

    /// Returns the lines of the summary: a line for the run, then a line for each device that has
    /// read or written data since the run began.
    fn summary(&mut self) -> Vec<Vec<u8>> {
        let mut lines = vec![whole(self.settings, self.progress.timepoints)];
        self.update_sums();
        lines.extend(self.device_lines());
        lines
    }

    /// Returns a line for each device that has read or written data since the beginning of the run.
    fn device_lines(&self) -> Vec<Vec<u8>> {
        let line = |(name, sectors): &(String, Sectors)| line_of(name, *sectors);
        self.sums.used().map(line).collect()
    }
}

fn whole(settings: &Settings, timepoints: u64) -> Vec<u8> {
    let mut line = b"{\"metric\":".to_vec();
    push_string(&mut line, settings.metric.name);
    push_member(&mut line, "pod", settings.pod());
    line.extend_from_slice(b",\"devices\":\"node\",\"timepoints\":");
    push(&mut line, timepoints);
    line.push(b'}');
    line
}

fn line_of(name: &str, sectors: Sectors) -> Vec<u8> {
    let mut line = b"{\"device\":".to_vec();
    push_string(&mut line, name);
    push_sums(&mut line, sectors);
    line.push(b'}');
    line
}

row! {
    /// The bytes of a device.
    SUMS;
    /// Appends the bytes of a device.
    fn push_sums(out, sectors: Sectors) {
        /// bytes read
        bytes_read: number(sectors.read.saturating_mul(SECTOR)) => counter("bytes");
        /// bytes written
        bytes_written: number(sectors.written.saturating_mul(SECTOR)) => counter("bytes");
    }
}

fn host() -> Host {
    let name = uname().ok();
    let text = |of: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
        name.as_ref()
            .map(|name| clean(of(name).as_encoded_bytes()))
            .unwrap_or_default()
    };
    Host {
        node: text(|name| name.nodename()),
        system: text(|name| name.sysname()),
        release: text(|name| name.release()),
        machine: text(|name| name.machine()),
        processors: sysconf(SysconfVar::_NPROCESSORS_CONF)
            .ok()
            .flatten()
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(1),
    }
}
