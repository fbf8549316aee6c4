//! The lines of perf-sysstat's summary: one for the run, then one for each program of each
//! container.

use encode::json::{push_key, push_known, push_member};
use encode::number::{float, push_decimal};

use crate::sampling::accounts::Sum;
use crate::sampling::process_table::ProcessTable;

/// Returns the lines. Each line is a JSON object.
#[must_use]
pub fn lines(
    processes: &mut ProcessTable,
    pod: &str,
    timepoints: u64,
    left_out: u64,
) -> Vec<Vec<u8>> {
    processes.close_accounts();
    let mut total = Sum::default();
    for sum in processes.sums.list() {
        total.add(sum);
    }
    let ticks = processes.meter.machine.ticks;
    let count = Count {
        timepoints,
        processes: processes.total,
        left_out,
    };
    let mut lines = vec![whole(pod, count, &total, ticks)];
    lines.extend(program_lines(processes));
    lines
}

/// Returns the lines of the programs, those with the most processor time first.
#[must_use]
pub fn program_lines(processes: &ProcessTable) -> Vec<Vec<u8>> {
    let containers = &processes.containers;
    let ticks = processes.meter.machine.ticks;
    let mut sums: Vec<&Sum> = processes.sums.list().iter().collect();
    let name = |sum: &Sum| {
        (
            containers.name(sum.container).to_owned(),
            sum.program.clone(),
        )
    };
    sums.sort_by_cached_key(|sum| (std::cmp::Reverse(sum.cpu), name(sum)));
    let line = |sum: &Sum| {
        let mut line = b"{\"program\":".to_vec();
        encode::json::push_string(&mut line, &sum.program);
        if containers.has_names {
            push_member(&mut line, "container", containers.name(sum.container));
        }
        push_known(&mut line, "processes", Some(sum.processes));
        push_sums(&mut line, sum, ticks);
        line
    };
    sums.into_iter().map(line).collect()
}

/// The counts of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    timepoints: u64,
    processes: u64,
    left_out: u64,
}

/// Returns the summary of a run that could not begin, which has only one line.
#[must_use]
pub fn nothing(pod: &str) -> Vec<Vec<u8>> {
    vec![whole(pod, Count::default(), &Sum::default(), 1.0)]
}

fn whole(pod: &str, count: Count, total: &Sum, ticks: f64) -> Vec<u8> {
    let mut line = b"{\"metric\":\"perf-sysstat\"".to_vec();
    push_member(&mut line, "pod", pod);
    push_known(&mut line, "timepoints", Some(count.timepoints));
    push_known(&mut line, "processes", Some(count.processes));
    if count.left_out > 0 {
        push_known(&mut line, "processes_left_out", Some(count.left_out));
    }
    push_sums(&mut line, total, ticks);
    line
}

/// Appends the sums of a program or of all programs, and ends the line. Unknown sums are null.
fn push_sums(line: &mut Vec<u8>, sum: &Sum, ticks: f64) {
    let bytes = |count| (!sum.hides_bytes()).then_some(count);
    // A process has no memory once it has ended, so a peak of 0 is that of no living process.
    push_known(line, "peak_rss_kib", (sum.peak > 0).then_some(sum.peak));
    push_seconds(line, "cpu_seconds", float(sum.cpu) / ticks);
    push_known(line, "bytes_read", bytes(sum.read));
    push_known(line, "bytes_written", bytes(sum.written));
    push_known(
        line,
        "context_switches",
        (!sum.has_too_many_threads).then_some(sum.switches),
    );
    push_seconds(
        line,
        "unaccounted_cpu_seconds",
        float(sum.unaccounted.cpu) / ticks,
    );
    push_known(line, "unaccounted_bytes_read", bytes(sum.unaccounted.read));
    push_known(
        line,
        "unaccounted_bytes_written",
        bytes(sum.unaccounted.written),
    );
    line.push(b'}');
}

fn push_seconds(line: &mut Vec<u8>, key: &str, seconds: f64) {
    push_key(line, key);
    push_decimal(line, seconds);
}
