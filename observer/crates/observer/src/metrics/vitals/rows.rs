//! The rows of processes and threads. The rows of containers, placements, interfaces and sockets
//! are those of pressure and network.

use crate::metrics::network::rows::SOCKET;
use crate::metrics::perf_sysstat::sections::{
    CPU_PARTS, CPU_USE, FAULTS, INTERVAL, IO_DELAY, MEMORY, Row, STORAGE, SWITCHES, TABLES,
    Timepoint, push_cpu_parts, push_cpu_use, push_faults, push_interval, push_io_delay,
    push_memory, push_storage, push_switches, push_tables, row_of,
};
use crate::metrics::perf_sysstat::summary::{SUMS, push_sums};
use crate::metrics::pressure::rows::{RUN_DELAY, TOTALS, push_run_delay, push_totals};
use crate::sampling::accounts::Sum;
use crate::sampling::columns::Section;
use crate::sampling::json_rows::{PROCESSES, push_processes};
use crate::sampling::process::{Measured, Process};
use crate::sampling::row::{id, number, row};
use crate::sampling::traffic::Traffic;

/// The rows of the TCP connections of a process to a peer.
pub const PEER: Section = Section {
    name: "peer",
    ..SOCKET.exported_as("network.socket")
};

/// The estimated bytes of the row of a process or thread, without its names.
const PROCESS_BYTES: usize = 448;
const THREAD_BYTES: usize = 352;

/// Estimates the bytes of the rows of a process and its threads in a timepoint.
pub fn estimate_bytes(process: &Process) -> usize {
    let measured = process.measured.as_deref();
    let threads = measured.map_or(0, |measured| measured.thread_rows.len());
    let names = process.tail.len();
    PROCESS_BYTES + names + threads * (THREAD_BYTES + names)
}

/// Appends the row of a process. Values of its interval are null if the interval is shorter than
/// `min_interval` seconds.
pub fn push_process(
    out: &mut Vec<u8>,
    time: &str,
    timepoint: &Timepoint,
    process: &Process,
    min_interval: f64,
) {
    let measured = process.measured.as_deref();
    if let Some((measured, row)) = measured.zip(row_of(process, timepoint.now)) {
        let seconds = row.seconds.filter(|seconds| *seconds >= min_interval);
        push_measured(out, time, timepoint, measured, &Row { seconds, ..row });
    }
}

row! {
    /// the processes of the application; values of an interval are empty in the first row of a
    /// process that started before the observer
    pub PROCESS: "process" of "process", "Processes";
    /// Appends the row of a process that is measured.
    fn push_measured(
        out,
        time: &str,
        timepoint: &Timepoint,
        measured: &Measured,
        row: &Row<'_>,
    )
    for process(time, id(row.pid), row.tail) {
        /// user id
        uid: number(u64::from(row.state.uid));
        ..TOTALS.exported_as("pressure.process"): push_totals(measured, timepoint.ticks);
        ..INTERVAL: push_interval(row);
        ..CPU_PARTS.exported_as("perf_sysstat.process"): push_cpu_parts(timepoint, row);
        ..CPU_USE.exported_as("perf_sysstat.process"): push_cpu_use(timepoint, row);
        ..STORAGE.exported_as("perf_sysstat.process"): push_storage(row);
        ..IO_DELAY.exported_as("perf_sysstat.process"): push_io_delay(timepoint, row);
        ..FAULTS.exported_as("perf_sysstat.process"): push_faults(row);
        ..MEMORY.exported_as("perf_sysstat.process"): push_memory(row);
        ..TABLES.exported_as("perf_sysstat.process"): push_tables(timepoint, row);
        ..SWITCHES.exported_as("perf_sysstat.process"): push_switches(timepoint, row);
    }
}

row! {
    /// with the option threads, the threads of these processes
    pub THREAD: "thread" of "thread";
    /// Appends the row of a thread.
    pub fn push_thread(out, time: &str, timepoint: &Timepoint, row: &Row<'_>)
    for process(time, id(row.pid), row.tail) {
        /// thread id
        tid: number(row.tid.map(id)) => key();
        ..INTERVAL: push_interval(row);
        ..CPU_PARTS.of_threads(): push_cpu_parts(timepoint, row);
        ..CPU_USE.of_threads(): push_cpu_use(timepoint, row);
        ..STORAGE.of_threads(): push_storage(row);
        ..IO_DELAY.of_threads(): push_io_delay(timepoint, row);
        ..FAULTS.of_threads(): push_faults(row);
        ..SWITCHES.of_threads(): push_switches(timepoint, row);
    }
}

row! {
    /// all processes of a program since the observer started, also those that have ended
    pub PROGRAM: "program" of "process";
    /// Returns the line of a program. `container` is empty if the containers have no names.
    pub fn program(sum: &Sum, container: &str, ticks: f64, traffic: Option<Traffic>)
    for program(&sum.program, container) {
        ..PROCESSES.exported_as("perf_sysstat.program"): push_processes(sum);
        ..SUMS.exported_as("perf_sysstat.program"): push_sums(sum, ticks);
        ..RUN_DELAY.exported_as("pressure.program"): push_run_delay(sum);
        bytes_sent: number(traffic.map(|traffic| traffic.sent));
        bytes_received: number(traffic.map(|traffic| traffic.received));
        retransmitted: number(traffic.map(|traffic| traffic.retransmitted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::perf_sysstat::sections::{Form, thread_rows_of};
    use crate::sampling::counters::Base;
    use crate::sampling::process::{Measured, State, ThreadRow};
    use serde_json::Value;

    const TIMEPOINT: Timepoint = Timepoint {
        time: 0,
        now: 102.0,
        ticks: 100.0,
        memory: 1000,
        has_delays: true,
        has_threads: true,
        form: Form::Json,
    };

    fn process() -> Process {
        let base = Base::at_start(100.0, 100.0);
        let thread = ThreadRow {
            tid: 8,
            command: (*b"").into(),
            now: base.counters,
            base,
            state: State::default(),
            is_shown: true,
            is_alive: true,
        };
        let measured = Measured {
            now: base.counters,
            base: Some(base),
            thread_rows: vec![thread],
            ..Measured::default()
        };
        Process {
            pid: 7,
            tail: (*b",\"container\":\"app\",\"program\":\"lmp\"}").into(),
            measured: Some(Box::new(measured)),
            ..Process::default()
        }
    }

    fn row(min_interval: f64) -> Vec<u8> {
        let mut row = Vec::new();
        push_process(&mut row, "", &TIMEPOINT, &process(), min_interval);
        row
    }

    fn thread_row() -> Vec<u8> {
        let (mut out, process) = (Vec::new(), process());
        for row in thread_rows_of(&process, TIMEPOINT.now) {
            push_thread(&mut out, "", &TIMEPOINT, &row);
        }
        out
    }

    #[test]
    fn no_column_is_twice_in_a_row() {
        for row in [row(0.1), thread_row()] {
            let text = String::from_utf8(row).unwrap();
            let mut keys: Vec<&str> = text.split(['{', ',']).collect();
            keys.retain(|key| key.contains(':'));
            let keys = keys.iter().map(|key| key.split(':').next());
            let unique: std::collections::BTreeSet<_> = keys.clone().collect();
            assert_eq!(keys.count(), unique.len(), "{text}");
        }
    }

    #[test]
    fn values_of_a_short_interval_are_null() {
        let value = |min_interval: f64, key: &str| {
            let row: Value = serde_json::from_slice(&row(min_interval)).unwrap();
            row[key].clone()
        };
        let of_interval = [
            "interval",
            "percent_usr",
            "percent_wait",
            "percent_cpu",
            "kb_rd_s",
            "iodelay",
            "minflt_s",
            "cswch_s",
        ];
        for key in of_interval {
            assert_eq!(value(2.5, key), Value::Null, "{key}");
            assert_ne!(value(1.5, key), Value::Null, "{key}");
        }
        for key in ["cpu_time", "run_delay", "majflt", "threads", "cpu"] {
            assert!(value(2.5, key).is_number(), "{key}");
        }
    }

    #[test]
    fn the_estimated_bytes_are_close_to_those_of_the_rows() {
        let bytes = row(0.1).len() + thread_row().len();
        let estimated = estimate_bytes(&process());
        assert!(
            (bytes..2 * bytes).contains(&estimated),
            "{estimated}, {bytes}"
        );
    }
}
