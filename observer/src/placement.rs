//! The placement of a process: the processors on which it may run, and the NUMA nodes that have its
//! memory. The kernel produces these values slowly, because it walks the page tables of a process:
//! `smaps_rollup` and `numa_maps` took 4 ms each for 300 MB. So they are read rarely.

use std::collections::BTreeMap;

use nix::errno::Errno;

use crate::measure::Meter;
use crate::proc::cpu_list::CpuList;
use crate::proc::files::{MAX_BYTES, Task};
use crate::proc::smaps_rollup::{self, MemoryShare};
use crate::proc::{numa_maps, sched, status};
use crate::process::Measured;
use crate::tasks::add_counts;
use crate::topology::Topology;

/// Seconds between the first two readings of a process. This time doubles after each reading.
const FIRST_GAP: f64 = 5.0;
/// The maximum seconds between two readings of a process.
const MAX_GAP: f64 = 60.0;
/// The KiB of resident memory above which the page tables are not walked. A reading would delay
/// samples, and the reaction to a signal, by more than half a second.
const MAX_RESIDENT: u64 = 16 << 20;
/// The maximum number of threads that are read. The processors of a process with more threads are
/// not known.
const MAX_THREADS: usize = 1024;

/// The placement of a process. A value that cannot be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The list of the processors on which any thread of the process may run.
    pub allowed: Option<String>,
    /// The number of these processors.
    pub allowed_count: Option<u64>,
    /// The number of times that a thread was moved to another processor.
    pub migrations: Option<u64>,
    /// The share of the process in the memory of the node.
    pub share: Option<MemoryShare>,
    /// The memory of the process on each NUMA node, in KiB.
    pub nodes: Option<BTreeMap<u32, u64>>,
    /// The KiB of the memory in `nodes` on NUMA nodes to which none of the allowed processors
    /// belongs.
    pub remote: Option<u64>,
}

/// The state of a process between two readings: when the next reading is due, and the migrations
/// until now.
#[derive(Debug, Default)]
pub struct PlacementState {
    due: f64,
    gap: f64,
    migrations: u64,
    migrations_by_thread: Vec<(i32, u64)>,
}

impl PlacementState {
    /// The time from which the next reading is due, in seconds since boot; 0 before the first
    /// reading.
    #[must_use]
    pub fn due(&self) -> f64 {
        self.due
    }

    /// Plans the next reading.
    pub fn plan_next(&mut self, now: f64) {
        self.gap = (2.0 * self.gap).clamp(FIRST_GAP, MAX_GAP);
        self.due = now + self.gap;
    }
}

/// Reads the placement of a process. `report` gets a sentence for each of the migrations, the share
/// of memory and the memory by node that cannot be read. `None` if the process has ended, or no
/// longer has memory.
pub fn read(
    meter: &mut Meter,
    topology: Option<&Topology>,
    pid: i32,
    measured: &mut Measured,
    state: &mut PlacementState,
    report: &mut dyn FnMut(String),
) -> Option<Placement> {
    let status = meter.read_status(pid, measured)?;
    let resident = status.memory?.resident;
    let mut tids = Vec::new();
    let listed = meter.files.list_threads(pid, MAX_THREADS, &mut tids);
    let processors = read_allowed(meter, pid, &tids);
    let migrations = listed
        .ok()
        .and_then(|()| read_migrations(meter, pid, &tids, state));
    if migrations.is_none() {
        report("migrations cannot be read: this kernel has no /proc/PID/sched".to_owned());
    }
    let mut placement = Placement {
        allowed: processors.as_ref().map(CpuList::to_string),
        allowed_count: processors.as_ref().map(CpuList::count),
        migrations,
        ..Placement::default()
    };
    if resident > MAX_RESIDENT {
        let limit = MAX_RESIDENT >> 20;
        report(format!(
            "the memory of a process with more than {limit} GiB is not read: it would take too long"
        ));
        return Some(placement);
    }
    let identity = measured.identity;
    let (share, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
        let text = meter.files.read(Task::Process(pid), "smaps_rollup")?;
        smaps_rollup::parse(text).ok_or(Errno::ENODATA)
    });
    let nodes = read_nodes(meter, pid);
    for (name, error) in [
        ("smaps_rollup", share.err()),
        ("numa_maps", nodes.as_ref().err().copied()),
    ] {
        let Some(error) = error else { continue };
        if !meter.has_memory(pid) {
            return None;
        }
        let reason = match error {
            Errno::EFBIG => "it is longer than 1 MiB",
            error => error.desc(),
        };
        report(format!("{name} of a process cannot be read: {reason}"));
    }
    placement.share = share.ok();
    placement.nodes = nodes.ok();
    placement.remote = topology
        .zip(placement.nodes.as_ref())
        .zip(processors.as_ref())
        .map(|((topology, nodes), processors)| topology.remote(nodes, processors));
    Some(placement)
}

/// Returns the processors on which any of the threads may run: each may be bound to others. `None`
/// if there may be more threads than were listed.
fn read_allowed(meter: &mut Meter, pid: i32, tids: &[i32]) -> Option<CpuList> {
    if tids.is_empty() || tids.len() >= MAX_THREADS {
        return None;
    }
    // A thread that has ended meanwhile has no status.
    union(tids.iter().filter_map(|tid| {
        let text = meter.files.read(Task::Thread(pid, *tid), "status").ok()?;
        Some(status::allowed_processors(text).and_then(CpuList::parse))
    }))
}

/// Returns the processors that are in any of the lists. `None` if there is no list, or one of them
/// is not known.
fn union(lists: impl Iterator<Item = Option<CpuList>>) -> Option<CpuList> {
    lists
        .reduce(|all, own| {
            let (mut all, own) = (all?, own?);
            all.extend(&own);
            Some(all)
        })
        .flatten()
}

fn read_migrations(
    meter: &mut Meter,
    pid: i32,
    tids: &[i32],
    state: &mut PlacementState,
) -> Option<u64> {
    let mut now = Vec::with_capacity(tids.len());
    for &tid in tids {
        let text = meter.files.read(Task::Thread(pid, tid), "sched");
        now.extend(
            text.ok()
                .and_then(sched::parse_migrations)
                .map(|count| (tid, count)),
        );
    }
    if now.is_empty() {
        return None;
    }
    add_counts(&mut state.migrations, &mut state.migrations_by_thread, now);
    Some(state.migrations)
}

fn read_nodes(meter: &mut Meter, pid: i32) -> Result<BTreeMap<u32, u64>, Errno> {
    let text = meter.files.read_whole(&format!("{pid}/numa_maps"))?;
    if text.len() >= MAX_BYTES {
        return Err(Errno::EFBIG);
    }
    numa_maps::parse(text).ok_or(Errno::ENODATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_run_on_the_processors_of_all_its_threads() {
        let of = |lists: &[Option<&str>]| {
            let parse = |text: Option<&str>| text.and_then(|text| CpuList::parse(text.as_bytes()));
            union(lists.iter().copied().map(parse)).map(|all| all.to_string())
        };
        let spread = of(&[Some("0"), Some("32"), Some("1"), Some("33")]);
        assert_eq!(spread.as_deref(), Some("0-1,32-33"));
        assert_eq!(of(&[Some("0-7")]).as_deref(), Some("0-7"));
        assert_eq!(of(&[Some("0"), None]), None);
        assert_eq!(of(&[None, Some("0")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_time_between_readings_doubles_up_to_one_minute() {
        let mut state = PlacementState::default();
        let mut times = Vec::new();
        for now in 0..240 {
            let now = f64::from(now);
            if now >= state.due() {
                times.push(now);
                state.plan_next(now);
            }
        }
        assert_eq!(times, [0.0, 5.0, 15.0, 35.0, 75.0, 135.0, 195.0]);
    }
}
