//! perf-sysstat: the resource use of the application's processes in each interval.

pub mod sections;
pub mod summary;

use encode::json::push_string;

use self::sections::{Form, PROCESS, SECTIONS, Timepoint, estimate_bytes};
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::metadata;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::columns::Rows;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "perf-sysstat",
        description: "CPU, memory, I/O, faults and context switches of the application's processes",
        help: "CPU, memory, I/O, faults and context switches of the application's processes",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
            MetricOption::Timeout,
            MetricOption::Threads,
        ],
        reads: ProcessFiles::Counters,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "pidstat",
    sections: &[PROCESS],
    summary: &[summary::PROGRAM],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    sampler::run(PerfSysstat, settings, session);
}

struct PerfSysstat;

impl Sampler for PerfSysstat {
    const INITIAL_ROW_BYTES: f64 = 2400.0;
    const HAS_RATES: bool = true;

    /// Writes the header, with the counters that can be read.
    fn write_header(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        processes: Option<&ProcessTable>,
    ) {
        let counters = processes.map_or("unknown", readable_counters);
        let log = &mut session.log;
        metadata::write(log, settings, &[("counters", counters)]);
        log.write_line("PIDSTAT COMMAND START");
        push_string(log.line(), &settings.target_description());
        log.end_line();
        log.write_line("PIDSTAT COMMAND END");
        log.write_line("METRICS OPERATOR COLLECTION START");
        log.flush();
    }

    fn estimate_bytes(&self, process: &Process) -> usize {
        estimate_bytes(process)
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let timepoint = Timepoint::of(&run.processes, run.settings.has_threads, Form::Jc);
        let log = &mut run.session.log;
        log.write_line("METRICS OPERATOR TIMEPOINT");
        for section in &SECTIONS {
            log.write_line(section.header);
            let rows = keys.iter().filter_map(|key| run.processes.all.get(key));
            section.push_rows(log.line(), &timepoint, rows);
            log.end_line();
        }
    }

    fn totals(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.update_accounts();
        summary::program_lines(&run.processes)
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        summary::lines(run)
    }

    fn empty_summary(&self, settings: &Settings) -> Vec<Vec<u8>> {
        summary::nothing(settings.metric.name, settings.pod())
    }
}

/// Returns `all` if the I/O of all observed processes can be read, `no-io` if the I/O of no process
/// can be read, and otherwise `some-io`.
pub fn readable_counters(processes: &ProcessTable) -> &'static str {
    let shown = &processes.observed;
    let is_hidden = |key: &&Key| {
        let measured = processes
            .all
            .get(*key)
            .and_then(|process| process.measured.as_ref());
        measured.is_none_or(|measured| measured.now.io.is_none())
    };
    let hidden = shown.iter().filter(is_hidden).count();
    match hidden {
        0 => "all",
        _ if hidden == shown.len() => "no-io",
        _ => "some-io",
    }
}
