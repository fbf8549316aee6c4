//! The rows of the metric pressure.

use encode::number::float;
use linux::cgroup::limit::Limit;
use linux::cgroup::reader::ContainerUsage;

use crate::metrics::pressure::placement::Placement;
use crate::sampling::accounts::Sum;
use crate::sampling::json_rows::{PROCESSES, push_processes};
use crate::sampling::process::{Measured, Process};
use crate::sampling::row::{
    decimal, id, millionths, names_or_none, nanoseconds, number, row, text, thousandths,
};

row! {
    /// the containers of the observed processes, as their cgroups describe them
    pub CONTAINER: "container" of "container", "Containers";
    /// Appends the row of a container. `name` is `None` if the containers have no names.
    pub fn push_container(out, time: &str, name: Option<&str>, usage: &ContainerUsage)
    for thing(time) {
        /// the container
        container: text(name) => key();
        ..USAGE: push_usage(usage);
    }
}

row! {
    /// The values of a container.
    USAGE;
    /// Appends the values of a container, each after a comma.
    pub fn push_usage(out, usage: &ContainerUsage) {
        let ContainerUsage { cpu, cpu_stall, memory_stall, io_stall, events, .. } = usage;
        let limit = |limit: Option<Limit>| limit.and_then(Limit::number);
        /// periods of the CPU quota, usually 100 ms, in which a thread could run
        nr_periods: number(cpu.periods) => counter("count").title("Periods of the CPU limit");
        /// periods in which the CPU quota was used up
        nr_throttled: number(cpu.throttled_periods) => counter("count").title("Throttled periods");
        /// seconds for which threads could not run because the CPU quota was used up, summed over
        /// processors
        throttled: nanoseconds(cpu.throttled) => counter("s").title("Throttled");
        /// CPU seconds
        cpu_usage: nanoseconds(cpu.usage)
            => counter("s").title("CPU time").export_name("container.cpu.time");
        /// processors that the CPU quota allows; null if there is no limit (the column unlimited
        /// then contains cpu)
        cpu_limit: thousandths(limit(usage.cpu_limit))
            => gauge("count").title("CPU limit, processors");
        /// seconds in which a task waited for a processor (cgroup v2)
        cpu_some: millionths(cpu_stall.some)
            => counter("s").title("Some tasks waited for a processor");
        /// seconds in which all tasks waited for a processor (cgroup v2)
        cpu_full: millionths(cpu_stall.full)
            => counter("s").title("All tasks waited for a processor");
        /// seconds in which a task waited for memory (cgroup v2)
        memory_some: millionths(memory_stall.some)
            => counter("s").title("Some tasks waited for memory");
        /// seconds in which all tasks waited for memory (cgroup v2)
        memory_full: millionths(memory_stall.full)
            => counter("s").title("All tasks waited for memory");
        /// seconds in which a task waited for storage (cgroup v2)
        io_some: millionths(io_stall.some) => counter("s").title("Some tasks waited for storage");
        /// seconds in which all tasks waited for storage (cgroup v2)
        io_full: millionths(io_stall.full) => counter("s").title("All tasks waited for storage");
        /// memory in use, including the page cache
        memory_current: number(usage.memory)
            => gauge("bytes").title("Memory in use").export_name("container.memory.usage");
        /// memory in use that the kernel can only free by swapping: anonymous and shared memory
        memory_anon: number(usage.memory_anon) => gauge("bytes").title("Memory without files");
        /// the largest use of memory until now
        memory_peak: number(usage.memory_peak) => gauge("bytes").title("Greatest use of memory");
        /// the limit of memory; null if there is none (the column unlimited then contains memory)
        memory_limit: number(limit(usage.memory_limit)) => gauge("bytes").title("Memory limit");
        /// how often the use of memory went over memory.high (cgroup v2)
        memory_high: number(events.high) => counter("count").title("Times above memory.high");
        /// how often the use of memory reached the limit
        memory_max: number(events.max) => counter("count").title("Times at the memory limit");
        /// how often memory ran out at the limit (cgroup v2)
        oom: number(events.oom) => counter("count").title("Times out of memory");
        /// processes that the kernel killed because memory ran out
        oom_kill: number(events.oom_kill) => counter("count").title("Killed processes");
        /// processes and threads
        pids_current: number(usage.pids) => gauge("count").title("Processes and threads");
        /// the limit of processes and threads; null if there is none (the column unlimited then
        /// contains pids)
        pids_limit: number(limit(usage.pids_limit))
            => gauge("count").title("Limit of processes and threads");
        /// the resources without a limit (of cpu, memory and pids), separated by commas; the word
        /// none if each has a limit
        unlimited: text(unlimited(usage).as_deref());
    }
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
    let unlimited = limits
        .iter()
        .filter(|(_, limit)| *limit == Some(Limit::Unlimited));
    Some(names_or_none(unlimited.map(|(name, _)| *name)))
}

row! {
    /// the processes of the application
    pub PROCESS: "process" of "process", "Processes";
    /// Appends the row of a process. `ticks` is the number of clock ticks in a second.
    pub fn push_process(out, time: &str, process: &Process, measured: &Measured, ticks: f64)
    for process(time, id(process.pid), &process.tail) {
        ..TOTALS: push_totals(measured, ticks);
        /// the core on which its first thread last ran
        cpu: number(measured.state.stat.processor);
    }
}

row! {
    /// The counters of a process since its start.
    pub TOTALS;
    /// Appends the counters of a process since its start. `ticks` is the number of clock ticks in
    /// a second.
    pub fn push_totals(out, measured: &Measured, ticks: f64) {
        /// seconds for which threads could run and waited on a run queue, summed over threads
        run_delay: nanoseconds(measured.now.switches.and_then(|switches| switches.wait))
            => counter("s").title("Waiting for a processor")
            .quantity("ridealong.process.run_delay");
        /// CPU seconds, summed over threads
        cpu_time: decimal(float(measured.now.stat.cpu()) / ticks)
            => counter("s").title("CPU time").quantity("process.cpu.time");
        /// page faults that had to read from storage, for example from swap space
        majflt: number(measured.now.stat.majflt)
            => counter("count").title("Major page faults").export_name("process.paging.faults")
            .export_unit("{fault}").attribute("system.paging.fault.type", "major");
    }
}

row! {
    /// where the processes may run, and where their memory is; read rarely
    pub PLACEMENT: "placement" of "process", "Processes";
    /// Appends the row of a process's placement.
    pub fn push_placement(out, time: &str, process: &Process, placement: &Placement)
    for process(time, id(process.pid), &process.tail) {
        /// the processors on which any thread of the process may run, for example 0-3,8
        cpus_allowed: text(placement.allowed.as_deref());
        /// how many processors these are
        cpus_allowed_count: number(placement.allowed_count)
            => gauge("count").title("Allowed processors").mean();
        /// how often a thread was moved to another processor
        migrations: number(placement.migrations)
            => counter("count").title("Migrations between processors");
        /// resident memory, in which a page that n processes share counts 1/n
        pss: number(placement.share.map(|share| share.resident))
            => gauge("KiB").title("Memory, shared pages divided");
        /// memory in swap space, counted in the same way
        swap_pss: number(placement.share.map(|share| share.swapped))
            => gauge("KiB").title("Memory in swap");
        let nodes = placement.nodes.as_ref().map(|nodes| {
            let words = nodes.iter().map(|(node, size)| format!("{node}:{size}"));
            words.collect::<Vec<_>>().join(" ")
        });
        /// KiB of resident memory by NUMA node, for example 0:1024 1:96; shared pages count in full
        numa: text(nodes.as_deref());
        /// resident memory on NUMA nodes to which none of the allowed processors belongs
        numa_remote: number(placement.remote) => gauge("KiB").title("Memory on remote NUMA nodes");
        /// the mapped libraries because of which other metrics could say more: gpu (a driver), mpi,
        /// nccl, python and torch, separated by commas, or none
        libraries: text(placement.libraries.as_deref());
    }
}

row! {
    /// all processes of a program since the observer started, also those that have ended
    pub PROGRAM: "program" of "process";
    /// Returns the line of a program. `container` is empty if the containers have no names.
    pub fn program(sum: &Sum, container: &str, ticks: f64) for program(&sum.program, container) {
        ..PROCESSES: push_processes(sum);
        /// CPU seconds
        cpu_seconds: decimal(float(sum.cpu) / ticks)
            => counter("s").export_name("process.cpu.time");
        ..RUN_DELAY: push_run_delay(sum);
    }
}

row! {
    /// The time of a program on run queues.
    pub RUN_DELAY;
    /// Appends the time of a program on run queues.
    pub fn push_run_delay(out, sum: &Sum) {
        /// seconds for which threads could run and waited on a run queue
        run_delay: decimal(float(sum.wait) / 1e9)
            => counter("s").quantity("ridealong.process.run_delay");
    }
}
