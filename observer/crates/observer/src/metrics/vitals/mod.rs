//! vitals: what perf-sysstat, pressure and network measure, with one scan of the processes and in
//! one log.

pub mod rows;

use self::rows::{
    PEER, PROCESS, PROGRAM, THREAD, estimate_bytes, program, push_process, push_thread,
};
use crate::metrics::metric::Metric;
use crate::metrics::network::rows::{INFINIBAND, INTERFACE, TCP};
use crate::metrics::network::{self, Network};
use crate::metrics::perf_sysstat::readable_counters;
use crate::metrics::perf_sysstat::sections::{Form, Timepoint, thread_rows_of};
use crate::metrics::perf_sysstat::summary::{push_sums, sorted_sums};
use crate::metrics::pressure::Pressure;
use crate::metrics::pressure::rows::{CONTAINER, PLACEMENT, push_run_delay};
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::accounts::Sum;
use crate::sampling::columns::Rows;
use crate::sampling::json_rows::write_header;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "vitals",
        description: "CPU, memory, I/O, throttling, pressure, placement and network traffic of the application's containers and processes",
        help: "what perf-sysstat, pressure and network measure, in one log",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
            MetricOption::Timeout,
            MetricOption::Threads,
        ],
        reads: ProcessFiles::Counters,
        reads_sockets: true,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[
        PROCESS,
        THREAD,
        CONTAINER.exported_as("pressure.container"),
        PLACEMENT.exported_as("pressure.placement"),
        INTERFACE.exported_as("network.interface"),
        TCP.exported_as("network.tcp"),
        PEER,
        INFINIBAND.exported_as("network.infiniband"),
    ],
    summary: &[PROGRAM],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let vitals = Vitals {
        pressure: Pressure::begin(),
        network: Network::new(&settings, PEER.name),
    };
    sampler::run(vitals, settings, session);
}

/// The parts of the other metrics that keep a state between two timepoints.
struct Vitals {
    pressure: Pressure,
    network: Network,
}

impl Sampler for Vitals {
    const INITIAL_ROW_BYTES: f64 = 2048.0;
    const HAS_RATES: bool = false;

    fn write_header(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        processes: Option<&ProcessTable>,
    ) {
        let counters = processes.map_or("unknown", readable_counters);
        let extra = [("counters", counters), ("scope", self.network.scope)];
        write_header(settings, session, &extra);
        self.network.report_unheard(settings, session);
    }

    fn estimate_bytes(&self, process: &Process) -> usize {
        estimate_bytes(process) + self.network.estimate_bytes(process)
    }

    fn predict_bytes(&self, processes: &ProcessTable) -> usize {
        let rows = |key: &Key| {
            let process = processes.all.get(key);
            process.map_or(0, |process| estimate_bytes(process) + network::PREFIX)
        };
        let of_processes: usize = processes.observed.iter().map(rows).sum();
        of_processes + self.network.predict_bytes(processes)
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.network.take_scan(run);
    }

    fn skip_scan(&mut self) {
        self.network.skip_scan();
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        print_processes(run, keys, &time);
        self.pressure.print_containers(run, keys, &time);
        self.network.print(run, keys);
        self.pressure.print_placements(run, keys, &time);
    }

    fn totals(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.update_accounts();
        self.program_lines(&run.processes)
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        self.network.close(run);
        run.processes.close_accounts();
        let mut lines = vec![self.whole(run)];
        lines.extend(self.pressure.container_lines(&run.processes));
        lines.extend(self.program_lines(&run.processes));
        lines
    }
}

impl Vitals {
    /// Returns the line of the summary for the whole run.
    fn whole(&self, run: &Run<'_>) -> Vec<u8> {
        let mut total = Sum::default();
        for sum in run.processes.sums.list() {
            total.add(sum);
        }
        let mut line = run.begin_whole();
        push_sums(&mut line, &total, run.processes.meter.machine.ticks);
        push_run_delay(&mut line, &total);
        self.network.push_whole(&mut line, run);
        run.end_whole(&mut line);
        line
    }

    /// Returns the lines of the summary for the programs, those with the most processor time first.
    fn program_lines(&self, processes: &ProcessTable) -> Vec<Vec<u8>> {
        let ticks = processes.meter.machine.ticks;
        let line = |sum: &Sum| {
            let container = processes.containers.known_name(sum.container);
            program(sum, container, ticks, self.network.known_traffic(sum))
        };
        sorted_sums(processes).into_iter().map(line).collect()
    }
}

fn print_processes(run: &mut Run<'_>, keys: &[Key], time: &str) {
    let timepoint = Timepoint::of(&run.processes, run.settings.has_threads, Form::Json);
    let (processes, min_interval) = (&run.processes, run.min_interval);
    let log = &mut run.session.log;
    for process in keys.iter().filter_map(|key| processes.all.get(key)) {
        if process.measured.is_none() {
            continue;
        }
        push_process(log.line(), time, &timepoint, process, min_interval);
        log.end_line();
        for thread in thread_rows_of(process, timepoint.now).filter(|_| timepoint.has_threads) {
            push_thread(log.line(), time, &timepoint, &thread);
            log.end_line();
        }
    }
}
