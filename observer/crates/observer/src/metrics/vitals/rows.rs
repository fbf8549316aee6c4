//! The rows of processes and threads, as JSON Lines. src/catalog/vitals.yaml describes their
//! columns. The rows of containers, placements, interfaces and sockets are those of pressure and
//! network.

use encode::json::push_known;

use crate::metrics::network::rows::SOCKET;
use crate::metrics::perf_sysstat::sections::{Row, SECTIONS, Timepoint, row_of};
use crate::metrics::pressure::rows::push_totals;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_pid};
use crate::sampling::process::Process;

/// The rows of processes.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "uid",
        "run_delay",
        "cpu_time",
        "majflt",
        "percent_usr",
        "percent_system",
        "percent_guest",
        "percent_wait",
        "percent_cpu",
        "cpu",
        "usr_ms",
        "system_ms",
        "guest_ms",
        "kb_rd_s",
        "kb_wr_s",
        "kb_ccwr_s",
        "iodelay",
        "prio",
        "policy",
        "minflt_s",
        "majflt_s",
        "vsz",
        "rss",
        "percent_mem",
        "minflt_nr",
        "majflt_nr",
        "stksize",
        "threads",
        "fd_nr",
        "cswch_s",
        "nvcswch_s",
    ],
};

/// The rows of threads.
pub const THREAD: Section = Section {
    name: "thread",
    columns: &[
        "container",
        "program",
        "pid",
        "tid",
        "percent_usr",
        "percent_system",
        "percent_guest",
        "percent_wait",
        "percent_cpu",
        "cpu",
        "kb_rd_s",
        "kb_wr_s",
        "kb_ccwr_s",
        "iodelay",
        "prio",
        "policy",
        "minflt_s",
        "majflt_s",
        "cswch_s",
        "nvcswch_s",
    ],
};

/// The rows of the TCP connections of a process to a peer.
pub const PEER: Section = Section {
    name: "peer",
    ..SOCKET
};

/// The estimated bytes of the row of a process or thread, without its names.
const PROCESS_BYTES: usize = 640;
const THREAD_BYTES: usize = 448;

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
    let Some((measured, row)) = process
        .measured
        .as_deref()
        .zip(row_of(process, timepoint.now))
    else {
        return;
    };
    let seconds = row.seconds.filter(|seconds| *seconds >= min_interval);
    let row = Row { seconds, ..row };
    begin(out, time, &PROCESS);
    push_pid(out, process);
    push_known(out, "uid", Some(u64::from(row.state.uid)));
    push_totals(out, measured, timepoint.ticks);
    for section in SECTIONS.iter().filter(|section| !section.is_repetition) {
        section.push_body(out, timepoint, &row);
    }
    out.extend_from_slice(&process.tail);
}

/// Appends the row of a thread.
pub fn push_thread(out: &mut Vec<u8>, time: &str, timepoint: &Timepoint, row: &Row<'_>) {
    let id = |id: i32| Some(u64::from(id.unsigned_abs()));
    begin(out, time, &THREAD);
    push_known(out, "pid", id(row.pid));
    push_known(out, "tid", row.tid.and_then(id));
    for section in &SECTIONS {
        if section.has_threads && !section.is_repetition {
            section.push_body(out, timepoint, row);
        }
    }
    out.extend_from_slice(row.tail);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::perf_sysstat::sections::{Form, thread_rows_of};
    use crate::sampling::counters::Base;
    use crate::sampling::json_rows::columns_of;
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
    fn the_rows_have_the_declared_columns() {
        assert_eq!(columns_of(&row(0.1)), PROCESS.sorted_columns());
        assert_eq!(columns_of(&thread_row()), THREAD.sorted_columns());
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
            "percent_usr",
            "percent_wait",
            "percent_cpu",
            "usr_ms",
            "kb_rd_s",
            "iodelay",
            "minflt_s",
            "majflt_nr",
            "cswch_s",
        ];
        for key in of_interval {
            assert_eq!(value(2.5, key), Value::Null, "{key}");
            assert_ne!(value(1.5, key), Value::Null, "{key}");
        }
        for key in ["cpu_time", "run_delay", "majflt", "threads", "prio"] {
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
