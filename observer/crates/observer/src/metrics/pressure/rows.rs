//! The rows of the metric pressure, as JSON Lines. src/catalog/pressure.yaml describes their
//! columns.

use encode::json::{push_key, push_known, push_text};
use encode::number::{float, push_decimal};
use linux::cgroup::limit::Limit;
use linux::cgroup::reader::ContainerUsage;
use linux::cgroup::stall::Stall;

use crate::metrics::pressure::placement::Placement;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals, push_pid};
use crate::sampling::process::{Measured, Process};

/// The rows of containers.
pub const CONTAINER: Section = Section {
    name: "container",
    columns: &[
        "container",
        "nr_periods",
        "nr_throttled",
        "throttled",
        "cpu_usage",
        "cpu_limit",
        "cpu_some",
        "cpu_full",
        "memory_some",
        "memory_full",
        "io_some",
        "io_full",
        "memory_current",
        "memory_anon",
        "memory_peak",
        "memory_limit",
        "memory_high",
        "memory_max",
        "oom",
        "oom_kill",
        "pids_current",
        "pids_limit",
        "unlimited",
    ],
};

/// The rows of processes.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "run_delay",
        "cpu_time",
        "majflt",
        "cpu",
    ],
};

/// The rows of the placements of processes.
pub const PLACEMENT: Section = Section {
    name: "placement",
    columns: &[
        "container",
        "program",
        "pid",
        "cpus_allowed",
        "cpus_allowed_count",
        "migrations",
        "pss",
        "swap_pss",
        "numa",
        "numa_remote",
    ],
};

/// The number of decimals of a time in seconds.
const MICRO: u32 = 6;
/// The number of decimals of a number of processors.
const MILLI: u32 = 3;

/// Appends the row of a container. `name` is `None` if the containers have no names.
pub fn push_container(out: &mut Vec<u8>, time: &str, name: Option<&str>, usage: &ContainerUsage) {
    begin(out, time, &CONTAINER);
    push_text(out, "container", name);
    push_usage(out, usage);
    out.push(b'}');
}

/// Appends the values of a container, each after a comma.
pub fn push_usage(out: &mut Vec<u8>, usage: &ContainerUsage) {
    let ContainerUsage {
        cpu,
        cpu_limit,
        cpu_stall,
        memory_stall,
        io_stall,
        memory,
        memory_anon,
        memory_peak,
        memory_limit,
        events,
        pids,
        pids_limit,
    } = usage;
    let microseconds = |nanoseconds: Option<u64>| nanoseconds.map(|time| time / 1000);
    let number = |limit: &Option<Limit>| limit.and_then(Limit::number);
    push_known(out, "nr_periods", cpu.periods);
    push_known(out, "nr_throttled", cpu.throttled_periods);
    push_decimals(out, "throttled", microseconds(cpu.throttled), MICRO);
    push_decimals(out, "cpu_usage", microseconds(cpu.usage), MICRO);
    push_decimals(out, "cpu_limit", number(cpu_limit), MILLI);
    push_stall(out, ["cpu_some", "cpu_full"], *cpu_stall);
    push_stall(out, ["memory_some", "memory_full"], *memory_stall);
    push_stall(out, ["io_some", "io_full"], *io_stall);
    push_known(out, "memory_current", *memory);
    push_known(out, "memory_anon", *memory_anon);
    push_known(out, "memory_peak", *memory_peak);
    push_known(out, "memory_limit", number(memory_limit));
    push_known(out, "memory_high", events.high);
    push_known(out, "memory_max", events.max);
    push_known(out, "oom", events.oom);
    push_known(out, "oom_kill", events.oom_kill);
    push_known(out, "pids_current", *pids);
    push_known(out, "pids_limit", number(pids_limit));
    push_text(out, "unlimited", unlimited(usage).as_deref());
}

/// Returns the names of the resources without a limit, or `none` if each resource has a limit or
/// cannot be read. Returns `None`, not the text `none`, if no limit can be read.
fn unlimited(usage: &ContainerUsage) -> Option<String> {
    let limits = [
        ("cpu", usage.cpu_limit),
        ("memory", usage.memory_limit),
        ("pids", usage.pids_limit),
    ];
    if limits.iter().all(|(_, limit)| limit.is_none()) {
        return None;
    }
    let names: Vec<&str> = limits
        .iter()
        .filter(|(_, limit)| *limit == Some(Limit::Unlimited))
        .map(|(name, _)| *name)
        .collect();
    Some(if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(",")
    })
}

/// Appends the row of a process. `ticks` is the number of clock ticks in a second.
pub fn push_process(
    out: &mut Vec<u8>,
    time: &str,
    process: &Process,
    measured: &Measured,
    ticks: f64,
) {
    begin(out, time, &PROCESS);
    push_pid(out, process);
    push_totals(out, measured, ticks);
    push_known(out, "cpu", Some(measured.state.stat.processor));
    out.extend_from_slice(&process.tail);
}

/// Appends the counters of a process since its start. `ticks` is the number of clock ticks in a
/// second.
pub fn push_totals(out: &mut Vec<u8>, measured: &Measured, ticks: f64) {
    let wait = measured.now.switches.and_then(|switches| switches.wait);
    push_decimals(out, "run_delay", wait.map(|wait| wait / 1000), MICRO);
    push_key(out, "cpu_time");
    push_decimal(out, float(measured.now.stat.cpu()) / ticks);
    push_known(out, "majflt", Some(measured.now.stat.majflt));
}

/// Appends the row of a process's placement.
pub fn push_placement(out: &mut Vec<u8>, time: &str, process: &Process, placement: &Placement) {
    let Placement {
        allowed,
        allowed_count,
        migrations,
        share,
        nodes,
        remote,
    } = placement;
    begin(out, time, &PLACEMENT);
    push_pid(out, process);
    push_text(out, "cpus_allowed", allowed.as_deref());
    push_known(out, "cpus_allowed_count", *allowed_count);
    push_known(out, "migrations", *migrations);
    push_known(out, "pss", share.map(|share| share.resident));
    push_known(out, "swap_pss", share.map(|share| share.swapped));
    let text = nodes.as_ref().map(|nodes| {
        let words = nodes.iter().map(|(node, size)| format!("{node}:{size}"));
        words.collect::<Vec<_>>().join(" ")
    });
    push_text(out, "numa", text.as_deref());
    push_known(out, "numa_remote", *remote);
    out.extend_from_slice(&process.tail);
}

fn push_stall(out: &mut Vec<u8>, [some, full]: [&str; 2], stall: Stall) {
    push_decimals(out, some, stall.some, MICRO);
    push_decimals(out, full, stall.full, MICRO);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::json_rows::columns_of;

    fn process() -> Process {
        Process {
            tail: (*b",\"container\":\"app\",\"program\":\"lmp\"}").into(),
            ..Process::default()
        }
    }

    fn columns(push: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
        let mut row = Vec::new();
        push(&mut row);
        columns_of(&row)
    }

    #[test]
    fn the_rows_have_the_declared_columns() {
        let container = columns(|out| push_container(out, "", None, &ContainerUsage::default()));
        let process_row =
            columns(|out| push_process(out, "", &process(), &Measured::default(), 100.0));
        let placement = columns(|out| push_placement(out, "", &process(), &Placement::default()));
        assert_eq!(container, CONTAINER.sorted_columns());
        assert_eq!(process_row, PROCESS.sorted_columns());
        assert_eq!(placement, PLACEMENT.sorted_columns());
    }
}
