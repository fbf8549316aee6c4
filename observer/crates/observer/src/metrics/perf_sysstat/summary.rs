//! The lines of perf-sysstat's summary: one for the run, then one for each program of each
//! container.

use encode::json::{push_key, push_known};
use encode::number::{float, push_decimal};

use crate::runtime::declaration::Section;
use crate::sampling::accounts::Sum;
use crate::sampling::json_rows::{begin_program, begin_whole};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::Run;

/// The lines of the programs.
pub const PROGRAM: Section = Section {
    name: "program",
    columns: &[
        "program",
        "container",
        "processes",
        "peak_rss_kib",
        "cpu_seconds",
        "bytes_read",
        "bytes_written",
        "context_switches",
        "unaccounted_cpu_seconds",
        "unaccounted_bytes_read",
        "unaccounted_bytes_written",
    ],
};

/// Returns the lines. Each line is a JSON object.
pub fn lines(run: &mut Run<'_>) -> Vec<Vec<u8>> {
    run.processes.close_accounts();
    let mut total = Sum::default();
    for sum in run.processes.sums.list() {
        total.add(sum);
    }
    let mut whole = run.begin_whole();
    push_sums(&mut whole, &total, run.processes.meter.machine.ticks);
    run.end_whole(&mut whole);
    let mut lines = vec![whole];
    lines.extend(program_lines(&run.processes));
    lines
}

/// Returns the lines of the programs, those with the most processor time first.
pub fn program_lines(processes: &ProcessTable) -> Vec<Vec<u8>> {
    let containers = &processes.containers;
    let ticks = processes.meter.machine.ticks;
    let line = |sum: &Sum| {
        let mut line = begin_program(sum, containers);
        push_sums(&mut line, sum, ticks);
        line.push(b'}');
        line
    };
    sorted_sums(processes).into_iter().map(line).collect()
}

/// Returns the sums of the programs, those with the most processor time first.
pub fn sorted_sums(processes: &ProcessTable) -> Vec<&Sum> {
    let containers = &processes.containers;
    let mut sums: Vec<&Sum> = processes.sums.list().iter().collect();
    let name = |sum: &Sum| {
        (
            containers.name(sum.container).to_owned(),
            sum.program.clone(),
        )
    };
    sums.sort_by_cached_key(|sum| (std::cmp::Reverse(sum.cpu), name(sum)));
    sums
}

/// Returns the summary of a run that could not begin, which has only one line.
pub fn nothing(metric: &str, pod: &str) -> Vec<Vec<u8>> {
    let mut line = begin_whole(metric, pod, 0, 0);
    push_sums(&mut line, &Sum::default(), 1.0);
    line.push(b'}');
    vec![line]
}

/// Appends the sums of a program or of all programs. Unknown sums are null.
pub fn push_sums(line: &mut Vec<u8>, sum: &Sum, ticks: f64) {
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
}

fn push_seconds(line: &mut Vec<u8>, key: &str, seconds: f64) {
    push_key(line, key);
    push_decimal(line, seconds);
}
