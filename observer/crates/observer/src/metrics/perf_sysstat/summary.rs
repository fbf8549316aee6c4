//! The lines of perf-sysstat's summary: one for the run, then one for each program of each
//! container.

use encode::number::float;

use crate::sampling::accounts::Sum;
use crate::sampling::json_rows::{PROCESSES, begin_whole, push_processes};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::{decimal, number, row};
use crate::sampling::sampler::Run;

row! {
    /// all processes of a program since the observer started, also those that have ended
    pub PROGRAM: "program" of "process";
    /// Returns the line of a program. `container` is empty if the containers have no names.
    fn program(sum: &Sum, container: &str, ticks: f64) for program(&sum.program, container) {
        ..PROCESSES: push_processes(sum);
        ..SUMS: push_sums(sum, ticks);
    }
}

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
    let line = |sum: &Sum| program(sum, containers.known_name(sum.container), ticks);
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

row! {
    /// The sums of a program.
    pub SUMS;
    /// Appends the sums of a program or of all programs. Unknown sums are null.
    pub fn push_sums(out, sum: &Sum, ticks: f64) {
        let bytes = |count| (!sum.hides_bytes()).then_some(count);
        // A process has no memory once it has ended, so a peak of 0 is that of no living process.
        /// the largest resident memory of a process, in KiB
        peak_rss_kib: number((sum.peak > 0).then_some(sum.peak))
            => gauge("KiB").quantity("ridealong.process.memory.peak");
        /// CPU seconds
        cpu_seconds: decimal(float(sum.cpu) / ticks)
            => counter("s").export_name("process.cpu.time");
        /// bytes read from storage
        bytes_read: number(bytes(sum.read))
            => counter("bytes").export_name("process.disk.io")
            .attribute("disk.io.direction", "read");
        /// bytes written to storage
        bytes_written: number(bytes(sum.written))
            => counter("bytes").export_name("process.disk.io")
            .attribute("disk.io.direction", "write");
        /// context switches
        context_switches: number((!sum.has_too_many_threads).then_some(sum.switches))
            => counter("count").export_name("process.context_switches")
            .export_unit("{context_switch}");
        unaccounted_cpu_seconds: decimal(float(sum.unaccounted.cpu) / ticks);
        unaccounted_bytes_read: number(bytes(sum.unaccounted.read));
        unaccounted_bytes_written: number(bytes(sum.unaccounted.written));
    }
}
