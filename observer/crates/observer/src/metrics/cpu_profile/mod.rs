//! The metric cpu-profile: the functions in which the application's processes use processor time.
//! gperftools' CPU profiler, which is loaded into the processes (observer/loader), writes a profile
//! when a process ends. This observer keeps the programs and libraries of the processes readable,
//! and writes rows for each profile.
//!
//! Any process of the target can write anything into the folder of the results. Every reader
//! therefore has bounded memory and time, and a fuzz target.

pub mod binaries;
pub mod elf;
pub mod functions;
pub mod maps;
pub mod names;
pub mod observed;
pub mod paths;
pub mod records;
pub mod rows;
pub mod tally;
pub mod time;
pub mod totals;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use encode::json::clean;
use encode::number::float;
use linux::clock;
use linux::proc::files::Task;
use linux::proc::stat;
use linux::proc::status::parse_inner_pid;
use nix::unistd::{SysconfVar, sysconf};

use self::binaries::Binaries;
use self::functions::{Addresses, Functions};
use self::maps::Mapping;
use self::observed::Observed;
use self::paths::Paths;
use self::records::Outline;
use self::rows::{Extent, Owner, ProfileRows, push_process};
use self::tally::Tally;
use self::time::{SampledTime, Ticks};
use self::totals::Totals;
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::attempts::{LastAttempt, OfLastAttempt};
use crate::sampling::columns::Rows;
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::Meter;
use crate::sampling::process::{Access, Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::artifacts::writer::Until;
use crate::tools::earlier::{self, counted};
use crate::tools::folder::{DRAIN, Folder, MAX_END};
use crate::tools::results::{Listing, ResultName};

/// The maximum mappings of all living processes.
const MAX_MAPPINGS: usize = 65_536;
/// The maximum profiles that are remembered as done.
const MAX_DONE: usize = 65_536;
/// A process that has used this many seconds has samples, because the profiler begins after half a
/// second. If it has no profile, it is missing.
const SECONDS_WITH_SAMPLES: f64 = 1.0;
/// Why a process has no profile.
const KILLED: &str = "it was killed, or it could not write into the folder of the results";
/// The maximum bytes of the rows of functions of a process, and of its stacks.
const MAX_ROWS: f64 = 1_048_576.0;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "cpu-profile",
        description: "processor time of the application's processes by function and by stack of functions",
        help: "processor time of the application's processes by function and by stack, from the profiles that gperftools writes in these processes",
        options: &[
            MetricOption::Frequency,
            MetricOption::Timeout,
            MetricOption::MaxLog,
            MetricOption::Artifacts,
        ],
        reads: ProcessFiles::Stat,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[rows::PROCESS, ProfileRows::FUNCTION, ProfileRows::STACK],
    summary: &[totals::PROGRAM],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let profiler = CpuProfile {
        folder: Folder::open(&settings.folder),
        binaries: Binaries::default(),
        living: BTreeMap::new(),
        ended: Vec::new(),
        done: BTreeSet::new(),
        emptied: BTreeSet::new(),
        mappings: 0,
        paths: Paths::default(),
        processors: processors(),
        totals: OfLastAttempt::default(),
    };
    sampler::run(profiler, settings, session);
}

struct CpuProfile {
    folder: Folder,
    binaries: Binaries,
    living: BTreeMap<Key, Observed>,
    /// The processes that have ended, until their profiles are done.
    ended: Vec<Observed>,
    /// The profiles whose rows are written.
    done: BTreeSet<ResultName>,
    /// The profiles that were emptied before their rows were written.
    emptied: BTreeSet<ResultName>,
    /// The number of mappings of the processes in `living`, and the paths of all mappings.
    mappings: usize,
    paths: Paths,
    /// The processors of the machine.
    processors: f64,
    totals: OfLastAttempt<Totals>,
}

impl Sampler for CpuProfile {
    const INITIAL_ROW_BYTES: f64 = 0.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        0
    }

    fn skip_scan(&mut self) {
        self.guard_size();
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.leave_out_earlier(run);
        let listing = self.guard_size();
        if let Some(pid) = run.processes.first_observed() {
            let files = &mut run.processes.meter.files;
            self.folder.check_mounts(files, pid);
        }
        self.look_at_processes(run);
        self.write_ended(run, &listing, f64::INFINITY);
        self.write_notices(run);
    }

    /// The rows of a process are written when it has ended, and not at the timepoints.
    fn print(&mut self, _run: &mut Run<'_>, _keys: &[Key]) {}

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.end_all(run);
        self.leave_out_earlier(run);
        // Listed last, because a process writes its profile before it ends.
        let listing = self.guard_size();
        let until = clock::since_boot() + MAX_END;
        self.write_ended(run, &listing, until);
        let time = run.processes.time.precise_timestamp();
        self.folder
            .write_raw_files(&time, run.session, Until::End(until));
        self.write_notices(run);
        self.totals.begin(run.processes.containers.target_attempt());
        let totals = self.totals.get();
        let mut whole = run.begin_whole();
        totals.push_whole(&mut whole);
        whole.push(b'}');
        let mut lines = vec![whole];
        lines.extend(totals.program_lines());
        lines
    }
}

impl CpuProfile {
    fn write_notices(&mut self, run: &mut Run<'_>) {
        let folder = &mut self.folder;
        for report in folder.new_reports() {
            folder.note(format!("a process is not profiled: {}", clean(&report)));
        }
        for problem in self.binaries.take_problems() {
            folder.report(problem, &mut run.session.log);
        }
        folder.write_notices(&mut run.session.log);
    }

    /// Lists the profiles, and empties files if they use too much of the volume: first those whose
    /// rows are written, and then all.
    fn guard_size(&mut self) -> Listing {
        let Some(listing) = self.folder.list() else {
            return Listing::default();
        };
        let results = self.folder.results();
        if let Some(results) = results.filter(|results| results.is_too_full(&listing)) {
            let done = &self.done;
            let mut count = results.empty(|name| name.is_some_and(|name| done.contains(&name)));
            if results
                .list()
                .is_ok_and(|listing| results.is_too_full(&listing))
            {
                let emptied = &mut self.emptied;
                count += results.empty(|name| {
                    emptied.extend(name.filter(|name| !done.contains(name)));
                    true
                });
            }
            let why = "they use more than half of the size limit of their volume";
            self.folder.note(format!(
                "files of results were emptied, because {why}: {count}"
            ));
        }
        if listing.is_cut {
            let reason = "the folder of the results has too many files; not all are read";
            self.folder.note(reason.to_owned());
        }
        listing
    }

    /// Leaves out the profiles of an earlier attempt, and reports them.
    fn leave_out_earlier(&mut self, run: &mut Run<'_>) {
        let written = |file: &File| Ticks::read(file, size_of(file))?.written;
        let names = self
            .folder
            .take_earlier(run.settings, &mut run.processes, written);
        if !names.is_empty() {
            let profiles = counted(names.len() as u64, "profile", "profiles");
            self.folder.note(format!(
                "not counted in this log: {profiles} of an earlier attempt of this pod, which the \
                 volume has"
            ));
        }
        self.done.extend(names);
    }

    /// Updates the observed processes, and separates those that have ended.
    fn look_at_processes(&mut self, run: &mut Run<'_>) {
        let now = run.processes.now;
        for key in run.processes.observed.clone() {
            self.look_at(run, key, now);
        }
        let is_over = |key: &Key| {
            run.processes
                .all
                .get(key)
                .is_none_or(|process| process.is_zombie)
        };
        let over: Vec<Key> = self.living.keys().copied().filter(is_over).collect();
        for key in over {
            if let Some(process) = self.living.remove(&key) {
                self.mappings -= process.mappings.len();
                self.ended.push(process);
            }
        }
    }

    /// Separates the processes that have ended since the last scan from those that still run.
    fn end_all(&mut self, run: &mut Run<'_>) {
        let mut running = 0;
        for (key, process) in std::mem::take(&mut self.living) {
            let task = Task::Process(process.pid);
            let text = run
                .processes
                .meter
                .files
                .read(task, "stat")
                .unwrap_or_default();
            let is_running = stat::parse(text).is_some_and(|stat| {
                let known = run.processes.all.get(&key);
                stat.state != b'Z' && known.is_some_and(|known| known.start == stat.start)
            });
            if is_running {
                running += 1;
            } else {
                run.processes.all.remove(&key);
                self.ended.push(process);
            }
        }
        if running > 0 {
            self.folder.note(format!(
                "{running} processes still run, and have no profile yet"
            ));
        }
    }

    /// Updates an observed process, and reads its libraries if that is due.
    fn look_at(&mut self, run: &mut Run<'_>, key: Key, now: f64) {
        let ProcessTable { meter, all, .. } = &mut run.processes;
        let ticks = meter.machine.ticks;
        let Some(process) = all.get_mut(&key).filter(|process| !process.is_zombie) else {
            return;
        };
        let observed = self.living.entry(key);
        let observed = observed.or_insert_with(|| Observed::new(process, ticks, now));
        observed.update_program(process, now);
        let Some(measured) = &process.measured else {
            return;
        };
        observed.cpu = float(measured.now.stat.cpu()) / ticks;
        if now >= observed.due {
            observed.plan_next(now);
            self.read_libraries(meter, process, key);
        }
    }

    /// Reads the libraries of a process, and keeps them readable after its end.
    fn read_libraries(&mut self, meter: &mut Meter, process: &mut Process, key: Key) {
        let (pid, container) = (process.pid, process.container);
        let (Some(measured), Some(observed)) =
            (process.measured.as_deref_mut(), self.living.get_mut(&key))
        else {
            return;
        };
        if meter.read_status(pid, measured).is_none() {
            return;
        }
        let status = meter.files.read_status(Task::Process(pid));
        observed.inner_pid = status.ok().and_then(parse_inner_pid).unwrap_or(pid);
        let needs_root = container.is_some_and(|container| !self.binaries.has_root(container));
        let identity = measured.identity;
        let (found, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
            let root = needs_root.then(|| meter.files.open_root(pid)).transpose()?;
            let text = meter.files.read_whole(&format!("{pid}/maps"))?;
            Ok((root, maps::parse_all(text)))
        });
        let (root, mut mappings) = match found {
            // Without mappings, the process is about to end.
            Ok((_, mappings)) if mappings.is_empty() => return,
            Ok(found) => found,
            Err(error) => {
                if measured.io_access == Access::Denied {
                    let reason = error.desc();
                    self.folder.note(format!(
                        "the libraries of a process cannot be read: {reason}"
                    ));
                }
                return;
            }
        };
        if !self.paths.share(&mut mappings) {
            let reason = "there is no room for the libraries of all processes";
            self.folder.note(reason.to_owned());
            return;
        }
        if let Some(container) = container {
            if let Some(root) = root {
                let identity = identity.filter(|_| measured.io_access == Access::Assumed);
                self.binaries.add(container, root, identity);
            }
            self.binaries.keep(container, &mappings);
        }
        let count = self.mappings - observed.mappings.len() + mappings.len();
        if count <= MAX_MAPPINGS {
            self.mappings = count;
            observed.mappings = mappings;
        }
    }

    /// Writes the rows of the processes that have ended and of their profiles, at most until a time
    /// in seconds since boot.
    fn write_ended(&mut self, run: &mut Run<'_>, listing: &Listing, until: f64) {
        let living = run
            .processes
            .all
            .values()
            .filter(|process| !process.is_zombie);
        let mut pids: BTreeSet<i32> = living.map(|process| process.pid).collect();
        pids.extend(self.living.values().map(|process| process.inner_pid));
        let mut ready: Vec<ResultName> = listing
            .names
            .iter()
            .copied()
            .filter(|name| !self.done.contains(name))
            .filter(|name| !pids.contains(&name.pid) || self.is_finished(*name))
            .collect();
        ready.truncate(MAX_DONE.saturating_sub(self.done.len()));
        let mut left = ready.len() + self.living.len();
        for name in ready {
            if clock::since_boot() > until {
                self.folder
                    .note("there was not enough time for the rows of all profiles".to_owned());
                break;
            }
            self.done.insert(name);
            self.write_profile(run, name, left);
            left -= 1;
            run.session.drain(DRAIN);
            if !run.session.poll() && until.is_infinite() {
                // The other profiles follow in the summary.
                return;
            }
        }
        for process in std::mem::take(&mut self.ended) {
            let had_samples = process.has_profiler() && process.cpu >= SECONDS_WITH_SAMPLES;
            if had_samples && !process.is_profiled {
                let found = (process.container, process.attempt);
                let owner = owner_of(run, found, process.program, process.pid);
                self.write_missing(run, &owner, KILLED);
            }
        }
    }

    /// Whether a profile is whole, although a living process has the id in its name: in another
    /// namespace, or after the process that wrote it.
    fn is_finished(&self, name: ResultName) -> bool {
        let Some(file) = self.folder.open_file(name) else {
            return false;
        };
        let maps = records::read(&file, |_, _| {}).and_then(|outline| outline.maps);
        let is_whole = maps.is_some() && Ticks::read(&file, size_of(&file)).is_some();
        let mappings = maps.map(|from| maps::read(&file, from)).unwrap_or_default();
        let mut living = self.living.values();
        is_whole && !living.any(|process| observed::is_writer(process, name.pid, &mappings))
    }

    /// Adds the profile of a process to those of its attempt.
    fn count(&mut self, owner: &Owner, extent: Extent) {
        if let Some(totals) = self.totals.of(owner.attempt) {
            totals.add(owner, extent);
        }
    }

    fn write_missing(&mut self, run: &mut Run<'_>, owner: &Owner, why: &str) {
        let Owner { program, pid, .. } = owner;
        self.folder
            .note(format!("process {pid} ({program}) has no profile: {why}"));
        self.count(owner, Extent::Missing);
        let time = run.processes.time.precise_timestamp();
        push_process(run.session.log.line(), &time, owner, None, Extent::Missing);
        run.session.log.end_line();
    }

    /// Writes the rows of a profile. `left` is the number of profiles that still need room in the
    /// log, including this one.
    fn write_profile(&mut self, run: &mut Run<'_>, name: ResultName, left: usize) {
        let Some(file) = self.folder.open_file(name) else {
            let name = name.file_name();
            self.folder.note(format!(
                "the profile {name} is not an ordinary file, or cannot be read"
            ));
            return;
        };
        let mut addresses = Addresses::default();
        let outline = records::read(&file, |_, stack| addresses.add(stack));
        let maps = outline.and_then(|outline| outline.maps);
        let last = maps.map(|from| maps::read(&file, from)).unwrap_or_default();
        let known = observed::find(&self.ended, name.pid, &last);
        let known = known.and_then(|at| self.ended.get_mut(at));
        let is_known = known.is_some();
        if !is_known && !run.settings.pattern.is_empty() {
            // The program of this process does not match target-command.
            return;
        }
        let started = known.as_ref().map_or(0.0, |known| known.started);
        let container = known.as_ref().and_then(|known| known.container);
        let container = container.or_else(|| target_of(run));
        let attempt = known
            .as_ref()
            .map_or_else(|| attempt_of(run, &file), |known| known.attempt);
        let (owner, mappings) = identify(run, (container, attempt), known, (name.pid, last));
        let Some(outline) = outline else {
            if is_known || self.emptied.contains(&name) {
                self.write_missing(run, &owner, KILLED);
            } else {
                let name = name.file_name();
                self.folder
                    .note(format!("the file {name} is not a profile of gperftools"));
            }
            return;
        };
        let Some(extent) = self.measure(&file, outline, started, &owner) else {
            self.write_missing(run, &owner, "its profile is not valid");
            return;
        };
        if run.settings.has_artifacts {
            self.folder.add_raw_file(name, &owner.members());
        }
        let functions = Functions::resolve(addresses, &mappings, |path| {
            run.session.poll();
            self.binaries.open(container?, path)
        });
        self.write_rows(run, (&file, outline, extent), &functions, &owner, left);
    }

    /// Returns the time of a profile and whether it is whole. `started` is when the process
    /// started, in seconds since boot. `None` if the profile has more time than is possible.
    fn measure(
        &mut self,
        file: &File,
        outline: Outline,
        started: f64,
        owner: &Owner,
    ) -> Option<Extent> {
        let Owner { program, pid, .. } = owner;
        let ticks = outline.maps.and_then(|_| Ticks::read(file, size_of(file)));
        let received = ticks.as_ref().map_or(0, |ticks| ticks.received);
        let period = outline.header.period;
        // The cast saturates.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let possible = ((clock::since_boot() - started) * self.processors * 1e6) as u64;
        let time = SampledTime::new(outline.samples, received, period, possible)?;
        let Some(ticks) = ticks else {
            let why = "the process was killed, or it could not write all of it";
            self.folder.note(format!(
                "the profile of process {pid} ({program}) is not complete: {why}"
            ));
            return Some(Extent::Incomplete(time));
        };
        if !ticks.lacks() {
            return Some(Extent::Complete(time));
        }
        let due = ticks.due.map_or_else(String::new, |due| {
            format!(" of {:.1} s", float(due.saturating_mul(period)) / 1e6)
        });
        let why = ticks.stopped.unwrap_or_else(|| {
            "all threads blocked the signal SIGURG, or the program handles it".to_owned()
        });
        let seconds = float(time.microseconds) / 1e6;
        let profile = format!("the profile of process {pid} ({program})");
        self.folder.note(format!(
            "{profile} has {seconds:.1} s{due} of CPU time: {why}"
        ));
        Some(Extent::Partial(time))
    }

    /// Writes the rows of the records of a profile.
    fn write_rows(
        &mut self,
        run: &mut Run<'_>,
        (file, outline, extent): (&File, Outline, Extent),
        functions: &Functions,
        owner: &Owner,
        left: usize,
    ) {
        let mut tally = Tally::new(functions);
        let mut numbers = Vec::new();
        let mut room = outline.samples;
        // If the process still writes, the second reading may find more, which is left out.
        records::read(file, |count, stack| {
            let count = count.min(room);
            room -= count;
            if count == 0 {
                return;
            }
            functions.of_stack(stack, &mut numbers);
            tally.add(count, &numbers);
        });
        self.count(owner, extent);
        let time = run.processes.time.precise_timestamp();
        let log = &mut run.session.log;
        push_process(log.line(), &time, owner, Some(outline.header), extent);
        log.end_line();
        let Some(whole) = extent.time() else { return };
        let room = log.budget().room() / float(left.max(1) as u64);
        // The cast turns a negative number into 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes = (room / 3.0).min(MAX_ROWS) as usize;
        let rows = ProfileRows {
            time: &time,
            owner,
            whole,
            functions,
            tally: &tally,
        };
        for row in rows.functions(bytes).iter().chain(&rows.stacks(bytes)) {
            log.line().extend_from_slice(row);
            log.end_line();
            log.flush();
        }
    }
}

/// Returns the bytes of a file.
fn size_of(file: &File) -> u64 {
    file.metadata().map_or(0, |facts| facts.len())
}

/// Returns the number of processors of the machine.
fn processors() -> f64 {
    let count = sysconf(SysconfVar::_NPROCESSORS_CONF).ok().flatten();
    count
        .and_then(|count| u64::try_from(count).ok())
        .map_or(1.0, float)
}

/// Returns the attempt of the process that wrote a profile, by the time at which it did. Only
/// processes of the target can.
fn attempt_of(run: &Run<'_>, file: &File) -> u32 {
    let written = Ticks::read(file, size_of(file)).and_then(|ticks| ticks.written);
    let written = written.or_else(|| earlier::last_change(file)).unwrap_or(0);
    LastAttempt::of(&run.processes).number_at(written)
}

/// Returns the process with these facts, of which some are of its container: its id, and its
/// attempt.
fn owner_of(
    run: &Run<'_>,
    (container, attempt): (Option<ContainerId>, u32),
    program: String,
    pid: i32,
) -> Owner {
    let containers = &run.processes.containers;
    // Only processes of the target can write profiles.
    let target = run.settings.target.as_str();
    let name = container.map_or(target, |container| containers.name(container));
    Owner {
        container: containers.has_names.then(|| name.to_owned()),
        program,
        pid,
        attempt,
    }
}

/// Returns the process that wrote a profile, and its mappings. `known` is the process if a scan has
/// found it; otherwise the id in the name of the profile and the mappings in the profile are used.
fn identify(
    run: &Run<'_>,
    found: (Option<ContainerId>, u32),
    known: Option<&mut Observed>,
    (pid, last): (i32, Vec<Mapping>),
) -> (Owner, Vec<Mapping>) {
    let Some(known) = known else {
        let owner = owner_of(run, found, program_of(&last), pid);
        return (owner, last);
    };
    known.is_profiled = true;
    let owner = owner_of(run, found, known.program.clone(), known.pid);
    (owner, maps::add_earlier(last, &known.mappings))
}

/// Returns the container of the target, if it was found: only its processes can write profiles.
fn target_of(run: &Run<'_>) -> Option<ContainerId> {
    let containers = &run.processes.containers;
    (0..containers.count()).find(|container| containers.is_target(*container))
}

/// Returns the program of a process that no scan has found: the first file with code.
fn program_of(mappings: &[Mapping]) -> String {
    let path = mappings
        .iter()
        .find(|mapping| mapping.path.starts_with(b"/"));
    let name = path.and_then(|mapping| mapping.path.rsplit(|byte| *byte == b'/').next());
    clean(name.unwrap_or_default())
}
