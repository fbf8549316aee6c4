//! The placement of a process: the processors on which it may run, and the NUMA nodes that have its
//! memory. The kernel produces `smaps_rollup` and `numa_maps` slowly, because it walks the page
//! tables of the process ([`crate::runtime::walk_limit`]). So they are read rarely.

use std::collections::BTreeMap;

use linux::proc::cpu_list::CpuList;
use linux::proc::files::{MAX_BYTES, Task};
use linux::proc::smaps_rollup::{self, MemoryShare};
use linux::proc::{numa_maps, sched, status};
use linux::topology::Topology;
use nix::errno::Errno;

use crate::metrics::pressure::libraries::list_libraries;
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::walk_limit::WalkLimit;
use crate::sampling::measure::Meter;
use crate::sampling::process::Measured;
use crate::sampling::tasks::ThreadStates;

/// Seconds between the first two readings of a process. This time doubles after each reading.
const FIRST_GAP: f64 = 5.0;
/// The maximum seconds between two readings of a process.
const MAX_GAP: f64 = 60.0;
/// The maximum number of threads that are read. The processors and the migrations of a process with
/// more threads are not known.
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
    /// The libraries because of which other metrics could say more.
    pub libraries: Option<String>,
}

/// The state of a process between two readings: when the next reading is due, and the migrations
/// until now.
#[derive(Debug, Default)]
pub struct PlacementState {
    due: f64,
    gap: f64,
    migrations: u64,
    migrations_by_thread: ThreadStates<u64>,
    /// How often the process had executed another program.
    executions: u32,
}

impl PlacementState {
    /// The time from which the next reading is due, in seconds since boot; 0 before the first
    /// reading.
    pub fn due(&self) -> f64 {
        self.due
    }

    /// Plans the next reading.
    pub fn plan_next(&mut self, now: f64) {
        self.gap = (2.0 * self.gap).clamp(FIRST_GAP, MAX_GAP);
        self.due = now + self.gap;
    }
}

/// The things that the readings of all processes share.
pub struct Reader<'a> {
    /// The reader of processes.
    pub meter: &'a mut Meter,
    /// The NUMA nodes.
    pub topology: Option<&'a Topology>,
    /// The limit for walks of page tables.
    pub walks: &'a mut WalkLimit,
    /// The signal that ends the run.
    pub session: &'a mut Session,
    /// The reasons why values cannot be read.
    pub notices: &'a mut Notices,
}

impl Reader<'_> {
    fn report(&mut self, reason: String) {
        self.notices.report(reason, &mut self.session.log);
    }

    /// Reports that a file of a process cannot be read, if there is an error.
    fn report_failure(&mut self, name: &str, error: Option<Errno>) {
        let reason = match error {
            None => return,
            Some(Errno::EFBIG) => "it is longer than 1 MiB",
            Some(error) => error.desc(),
        };
        self.report(format!("{name} of a process cannot be read: {reason}"));
    }
}

/// Reads the placement of a process. `None` if the process has ended, or has no memory any more, or
/// if a signal has stopped the observer.
pub fn read(
    reader: &mut Reader<'_>,
    pid: i32,
    measured: &mut Measured,
    state: &mut PlacementState,
) -> Option<Placement> {
    let meter = &mut *reader.meter;
    let status = meter.read_status(pid, measured)?;
    let resident = status.memory?.resident;
    let mut tids = Vec::new();
    let listed = meter.files.list_threads(pid, MAX_THREADS + 1, &mut tids);
    listed.ok()?;
    let processors = read_allowed(meter, pid, &tids);
    let has_executed =
        std::mem::replace(&mut state.executions, measured.executions) != measured.executions;
    let migrations = read_migrations(meter, pid, &tids, state, has_executed);
    if let Err(reason) = migrations {
        reader.report(format!("migrations cannot be read: {reason}"));
    }
    let mut placement = Placement {
        allowed: processors.as_ref().map(CpuList::to_string),
        allowed_count: processors.as_ref().map(CpuList::count),
        migrations: migrations.ok(),
        libraries: read_libraries(reader, pid, measured),
        ..Placement::default()
    };
    let most = reader.walks.max_resident();
    if resident > most {
        let (most, columns) = (most >> 10, "pss, swap_pss, numa and numa_remote");
        reader.report(format!(
            "{columns} of a process with more than {most} MiB are null: reading them takes too long"
        ));
        return Some(placement);
    }
    let share = walk(reader, measured, resident, |meter| {
        let text = meter.files.read(Task::Process(pid), "smaps_rollup")?;
        smaps_rollup::parse(text).ok_or(Errno::ENODATA)
    })?;
    let nodes = walk(reader, measured, resident, |meter| read_nodes(meter, pid))?;
    for (name, error) in [
        ("smaps_rollup", share.err()),
        ("numa_maps", nodes.as_ref().err().copied()),
    ] {
        if error.is_some() && !reader.meter.has_memory(pid) {
            return None;
        }
        reader.report_failure(name, error);
    }
    placement.share = share.ok();
    placement.nodes = nodes.ok();
    placement.remote = reader
        .topology
        .zip(placement.nodes.as_ref())
        .zip(processors.as_ref())
        .map(|((topology, nodes), processors)| topology.remote(nodes, processors));
    Some(placement)
}

/// Reads a file for which the kernel walks the page tables of a process. `None` if a signal has
/// stopped the observer.
fn walk<T>(
    reader: &mut Reader<'_>,
    measured: &mut Measured,
    resident: u64,
    read: impl FnMut(&mut Meter) -> Result<T, Errno>,
) -> Option<Result<T, Errno>> {
    if !reader.walks.prepare(resident, reader.session) {
        return None;
    }
    Some(read_with_access(reader.meter, measured, read))
}

/// Reads files of a process, with the identity of the process if the kernel denies the observer's.
fn read_with_access<T>(
    meter: &mut Meter,
    measured: &mut Measured,
    read: impl FnMut(&mut Meter) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let identity = measured.identity;
    let (found, _guard) = meter.with_access(&mut measured.io_access, identity, read);
    found
}

/// Returns the processors on which any of the threads may run: each may be bound to others. `None`
/// if there may be more threads than were listed.
fn read_allowed(meter: &mut Meter, pid: i32, tids: &[i32]) -> Option<CpuList> {
    if tids.is_empty() || tids.len() > MAX_THREADS {
        return None;
    }
    // A thread that has ended meanwhile has no status.
    union(tids.iter().filter_map(|tid| {
        let text = meter.files.read_status(Task::Thread(pid, *tid)).ok()?;
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
    has_executed: bool,
) -> Result<u64, &'static str> {
    if tids.len() > MAX_THREADS {
        return Err("a process has more than 1,024 threads");
    }
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
        return Err("this kernel has no /proc/PID/sched");
    }
    let (sum, last) = (&mut state.migrations, &mut state.migrations_by_thread);
    last.update(sum, pid, now, has_executed);
    Ok(state.migrations)
}

/// Reads which libraries are mapped. For this file, the kernel does not walk page tables. `None` if
/// the file cannot be read; if it is longer than 1 MiB, its end is not read.
fn read_libraries(reader: &mut Reader<'_>, pid: i32, measured: &mut Measured) -> Option<String> {
    let found = read_with_access(reader.meter, measured, |meter| {
        let text = meter.files.read_whole(&format!("{pid}/maps"))?;
        Ok(list_libraries(text))
    });
    if found.is_err() && !reader.meter.has_memory(pid) {
        return None;
    }
    reader.report_failure("maps", found.as_ref().err().copied());
    found.ok()
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
