//! The metric pressure: the resources for which the application's containers and processes waited.

use std::collections::BTreeMap;

use nix::errno::Errno;

use crate::accounts::Sum;
use crate::cgroup::location::{Location, locate};
use crate::cgroup::reader::{self, ContainerUsage, Gap};
use crate::clock;
use crate::containers::ContainerId;
use crate::cost_limit::CostLimit;
use crate::json::{push_key, push_string};
use crate::json_rows::{begin_program, begin_whole, nothing, write_header};
use crate::measure::{Meter, is_denial};
use crate::notices::Notices;
use crate::number::{float, push_decimal};
use crate::placement::{self, PlacementState};
use crate::pressure_rows::{push_container, push_placement, push_process, push_usage};
use crate::process::{Key, Process};
use crate::process_table::ProcessTable;
use crate::sampling::{self, Run, Sampler};
use crate::session::Session;
use crate::settings::Settings;
use crate::topology::Topology;
use crate::walk_limit::WalkLimit;

const DESCRIPTION: &str = "throttling, pressure stall, memory events, run-queue delay, memory and placement of the application's containers and processes";
/// The estimated bytes of the rows of a process in a timepoint, without its names.
const ROW_BYTES: usize = 512;
/// The maximum number of processes through which the observer tries to read a container in a
/// timepoint.
const MAX_TRIES: usize = 3;
/// The part of the interval in which placements may be read.
const MAX_PART: f64 = 0.25;

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
pub fn run(settings: Settings, session: &mut Session) {
    let began = clock::since_boot();
    let pressure = Pressure {
        containers: BTreeMap::new(),
        placements: BTreeMap::new(),
        topology: Topology::detect("/sys/devices/system/node"),
        cost: CostLimit::new(began),
        walks: WalkLimit::detect(),
        notices: Notices::default(),
    };
    sampling::run(pressure, settings, session);
}

struct Pressure {
    containers: BTreeMap<ContainerId, Container>,
    placements: BTreeMap<Key, PlacementState>,
    topology: Option<Topology>,
    /// The limit of the processor time for reading placements.
    cost: CostLimit,
    walks: WalkLimit,
    notices: Notices,
}

/// A container at the last timepoint.
struct Container {
    /// The process through which the container was read.
    process: Key,
    usage: ContainerUsage,
}

impl Sampler for Pressure {
    const INITIAL_ROW_BYTES: f64 = 1024.0;
    const HAS_RATES: bool = false;

    fn write_header(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        _processes: Option<&ProcessTable>,
    ) {
        write_header(settings, session, DESCRIPTION, &[]);
    }

    fn estimate_bytes(&self, process: &Process) -> usize {
        ROW_BYTES + process.tail.len()
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        self.print_containers(run, keys, &time);
        print_processes(run, keys, &time);
        self.print_placements(run, keys, &time);
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        let mut whole = begin_whole(run);
        whole.push(b'}');
        let mut lines = vec![whole];
        lines.extend(self.container_lines(&run.processes));
        lines.extend(program_lines(&run.processes));
        lines
    }

    fn empty_summary(&self, settings: &Settings) -> Vec<Vec<u8>> {
        nothing(settings.metric, settings.pod())
    }
}

impl Pressure {
    /// Prints a row for each container that has observed processes.
    fn print_containers(&mut self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let mut members: BTreeMap<ContainerId, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let process = run.processes.all.get(key);
            let Some(process) = process.filter(|process| !process.is_zombie) else {
                continue;
            };
            if let Some(container) = process.container {
                members.entry(container).or_default().push(*key);
            }
        }
        for (container, keys) in members {
            let Some(usage) = self.read_container(run, container, &keys) else {
                continue;
            };
            let containers = &run.processes.containers;
            let name = containers.has_names.then(|| containers.name(container));
            push_container(run.session.log.line(), time, name, &usage);
            run.session.log.end_line();
        }
    }

    /// Reads a container through one of the processes `keys`, first through the process of the last
    /// timepoint, and tries at most [`MAX_TRIES`] processes. If access is denied, reports the
    /// reason, and returns an empty usage. `None` if all tries fail for other reasons, for example
    /// because the processes have ended.
    fn read_container(
        &mut self,
        run: &mut Run<'_>,
        container: ContainerId,
        keys: &[Key],
    ) -> Option<ContainerUsage> {
        let last = self.containers.get(&container).map(|known| known.process);
        let last = last.filter(|key| keys.contains(key));
        let others = keys.iter().copied().filter(|key| Some(*key) != last);
        let mut denial = None;
        for key in last.into_iter().chain(others).take(MAX_TRIES) {
            match self.read_through(run, container, key) {
                Ok(usage) => return Some(usage),
                Err(error) if is_denial(error) => denial = Some(error),
                Err(_) => {}
            }
        }
        let containers = &run.processes.containers;
        let name = containers.has_names.then(|| containers.name(container));
        let reason = format!(
            "the cgroups of {} cannot be read: {}",
            description(name),
            denial?.desc()
        );
        self.notices.report(reason, &mut run.session.log);
        Some(ContainerUsage::default())
    }

    fn read_through(
        &mut self,
        run: &mut Run<'_>,
        container: ContainerId,
        key: Key,
    ) -> Result<ContainerUsage, Errno> {
        let ProcessTable {
            meter,
            all,
            containers,
            ..
        } = &mut run.processes;
        let process = all.get_mut(&key).ok_or(Errno::ESRCH)?;
        let pid = process.pid;
        let measured = process.measured.as_mut().ok_or(Errno::ESRCH)?;
        meter.read_status(pid, measured).ok_or(Errno::ESRCH)?;
        let identity = measured.identity;
        let (root, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
            meter.files.open_root(pid)
        });
        let root = root?;
        let location = read_location(meter, pid)?;
        let (notices, log) = (&mut self.notices, &mut run.session.log);
        let name = containers.has_names.then(|| containers.name(container));
        let mut report = |file: &'static str, gap: Gap| {
            let name = description(name);
            notices.report(explain(&name, file, gap), log);
        };
        let usage = reader::read(&mut meter.files, &root, &location, &mut report);
        let known = Container {
            process: key,
            usage,
        };
        self.containers.insert(container, known);
        Ok(usage)
    }

    /// Prints a row for each process whose placement is due, until the limit of processor time or a
    /// part of the interval is used up. The rows of the remaining processes follow in later
    /// timepoints.
    fn print_placements(&mut self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let all = &run.processes.all;
        self.placements.retain(|key, _| all.contains_key(key));
        let now = run.processes.now;
        let until = now + run.settings.rate * MAX_PART;
        for (index, key) in self.due_placements(keys, now).into_iter().enumerate() {
            let is_late = index > 0 && clock::since_boot() > until;
            if is_late || !self.cost.allows_more(now) || !run.session.pause(0.0) {
                return;
            }
            let cpu = clock::own_cpu();
            let ProcessTable { meter, all, .. } = &mut run.processes;
            let Some(process) = all.get_mut(&key) else {
                continue;
            };
            let pid = process.pid;
            let Some(measured) = &mut process.measured else {
                continue;
            };
            // The placement of a blocked process stays due, because reading it may block, too.
            if measured.is_blocked {
                continue;
            }
            let state = self.placements.entry(key).or_default();
            let mut reader = placement::Reader {
                meter,
                topology: self.topology.as_ref(),
                walks: &mut self.walks,
                session: run.session,
                notices: &mut self.notices,
            };
            let found = placement::read(&mut reader, pid, measured, state);
            state.plan_next(now);
            if let Some(found) = found {
                let log = &mut run.session.log;
                push_placement(log.line(), time, process, &found);
                log.end_line();
            }
            self.cost.count(clock::own_cpu() - cpu);
        }
    }

    /// Returns the processes whose placement is due, sorted by the time since which it is due.
    fn due_placements(&mut self, keys: &[Key], now: f64) -> Vec<Key> {
        let due = |key: &Key| (self.placements.entry(*key).or_default().due(), *key);
        let mut list: Vec<(f64, Key)> = keys
            .iter()
            .map(due)
            .filter(|(due, _)| *due <= now)
            .collect();
        list.sort_by(|one, other| one.0.total_cmp(&other.0));
        list.into_iter().map(|(_, key)| key).collect()
    }

    fn container_lines(&self, processes: &ProcessTable) -> Vec<Vec<u8>> {
        let containers = &processes.containers;
        if !containers.has_names {
            return Vec::new();
        }
        let line = |(container, known): (&ContainerId, &Container)| {
            let mut line = b"{\"container\":".to_vec();
            push_string(&mut line, containers.name(*container));
            push_usage(&mut line, &known.usage);
            line.push(b'}');
            line
        };
        self.containers.iter().map(line).collect()
    }
}

fn print_processes(run: &mut Run<'_>, keys: &[Key], time: &str) {
    let ticks = run.processes.meter.machine.ticks;
    let log = &mut run.session.log;
    for process in keys.iter().filter_map(|key| run.processes.all.get(key)) {
        if let Some(measured) = &process.measured {
            push_process(log.line(), time, process, measured, ticks);
            log.end_line();
        }
    }
}

fn read_location(meter: &mut Meter, pid: i32) -> Result<Location, Errno> {
    let cgroup = meter.files.read_whole(&format!("{pid}/cgroup"))?.to_vec();
    let mountinfo = meter.files.read_whole(&format!("{pid}/mountinfo"))?;
    Ok(locate(&cgroup, mountinfo))
}

/// The words for a container in a sentence.
fn description(name: Option<&str>) -> String {
    name.map_or("a container".to_owned(), |name| format!("container {name}"))
}

/// The reason why a value of a container is null.
fn explain(container: &str, value: &str, gap: Gap) -> String {
    match gap {
        Gap::NotMounted => {
            format!("{container} has no {value}: its cgroup is not mounted in the container")
        }
        Gap::InRoot => {
            format!("{container} has no {value}: its cgroup is the root, which is the whole node")
        }
        Gap::OnlyVersion2 => {
            format!("{container} has no {value}, which only version 2 of cgroups has")
        }
        Gap::NoValue => {
            format!("{container} has no {value}: the file does not contain a valid value")
        }
        Gap::Unreadable(Errno::ENOENT) => {
            format!("{container} has no {value}: this kernel or cgroup does not have the file")
        }
        Gap::Unreadable(error) => {
            format!("{value} of {container} cannot be read: {}", error.desc())
        }
    }
}

/// The lines of the summary for the programs. The program with the longest run-queue delay is
/// first.
fn program_lines(processes: &ProcessTable) -> Vec<Vec<u8>> {
    let containers = &processes.containers;
    let ticks = processes.meter.machine.ticks;
    let mut sums: Vec<&Sum> = processes.sums.list().iter().collect();
    sums.sort_by_key(|sum| (std::cmp::Reverse(sum.wait), &sum.program));
    let line = |sum: &Sum| {
        let mut line = begin_program(sum, containers);
        push_key(&mut line, "cpu_seconds");
        push_decimal(&mut line, float(sum.cpu) / ticks);
        push_key(&mut line, "run_delay");
        push_decimal(&mut line, float(sum.wait) / 1e9);
        line.push(b'}');
        line
    };
    sums.into_iter().map(line).collect()
}
