//! The metric mpi-trace: the calls of MPI of the application's processes. A recorder, which is
//! loaded into the processes (observer/mpi), writes a file for each process about once a second.
//! This observer writes rows from the files. The call in which a process is now is not in its file,
//! but in memory that the recorder shares with the observer.
//!
//! Any process of the target can write anything into the files and the memory. The reader therefore
//! has bounded memory and time, and fuzz targets.

mod absent;
mod attempts;
mod earlier;
pub mod file;
pub mod launcher;
pub mod open_calls;
pub mod open_rows;
pub mod rows;
mod shared_memory;
mod start_rows;
pub mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;

use encode::json::{clean, push_known, push_text};
use encode::number::float;
use linux::clock::{self, WallTime};
use linux::proc::files::Task;
use linux::proc::stat;

use self::absent::{Absent, Entered};
use self::attempts::{Attempts, CountedProcesses};
use self::file::{State, Trace};
use self::launcher::Assigned;
use self::open_rows::{Member, OpenRows};
use self::rows::{ProcessRows, state_name};
pub use self::shared_memory::state_of;
use self::shared_memory::{Owner, SharedMemory};
use self::start_rows::StartRow;
use self::writer::{Finder, Writer};
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::log::Log;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::columns::Rows;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::{self, nanoseconds};
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::artifacts::writer::Until;
use crate::tools::folder::{DRAIN, Folder, MAX_END};
use crate::tools::results::{Listing, ResultName};

/// The number of files with which the recorder begins no other one (`MAX_FILES` in
/// observer/mpi/limits.h). With half as many, the files of ended processes are removed.
const MAX_FILES: usize = 128;
/// The maximum calls of a process that have rows at a timepoint.
const MAX_CALLS: usize = 16;
/// The estimated rows of a process at a timepoint: the process, its calls, and usually three rows
/// about the call in which it is.
const MAX_ROWS: usize = 1 + MAX_CALLS + 3;
/// The estimated bytes of a row.
const ROW_BYTES: usize = 240;
/// The maximum processes in the summary.
const MAX_SUMMARY: usize = 64;
/// The maximum processes that are remembered.
const MAX_PROCESSES: usize = 4096;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "mpi-trace",
        description: "calls of MPI of the application's processes, with the processes for which they waited",
        help: "calls of MPI of the application's processes, from the files that the recorder in these processes writes",
        options: &[
            MetricOption::Rate,
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
    sections: &[
        ProcessRows::RANK,
        ProcessRows::CALL,
        ProcessRows::COMMUNICATOR,
        ProcessRows::BLOCK,
        OpenRows::OPEN,
        OpenRows::PROGRESS,
        StartRow::START,
    ],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let tracer = MpiTrace {
        folder: Folder::open(&settings.folder),
        processes: BTreeMap::new(),
        earlier: BTreeSet::new(),
        attempts: Attempts::default(),
        absent: Absent::default(),
        totals: Totals::default(),
    };
    sampler::run(tracer, settings, session);
}

struct MpiTrace {
    folder: Folder,
    processes: BTreeMap<ResultName, Traced>,
    /// The files of an attempt before the observer.
    earlier: BTreeSet<ResultName>,
    /// The attempts of the target since then.
    attempts: Attempts,
    /// The ranks that have no file, because they have not called `MPI_Init`.
    absent: Absent,
    totals: Totals,
}

/// A process with a file.
#[derive(Default)]
struct Traced {
    /// The number of saves of the file when its rows were last written.
    saves: u64,
    /// When the file was begun, in nanoseconds since boot; 0 if it was not read yet.
    began: u64,
    /// The estimated bytes of the last rows of the process.
    last_bytes: usize,
    /// The end of the rows; `None` until a scan has found the process.
    tail: Option<Box<[u8]>>,
    /// The process that writes the file.
    writer: Writer,
    /// Its rank and its job; `None` if the file was not read, if the process is in `MPI_Init`, or
    /// if the MPI library is not known.
    member: Option<Member>,
    /// What the launcher has assigned to a process that is in `MPI_Init`.
    assigned: Option<Assigned>,
    /// What the launcher has assigned to a process that uses sessions only.
    in_sessions: Option<Assigned>,
    /// The memory that the process shares with the observer.
    memory: SharedMemory,
    /// Whether the process has written its last calls.
    is_complete: bool,
    /// Whether target-command excludes the process.
    is_excluded: bool,
    /// Whether the last rows are written.
    is_done: bool,
}

impl Traced {
    /// Takes what a file says about its process.
    fn take(&mut self, trace: &Trace) {
        self.began = trace.began;
        self.member = trace.has_known_library.then(|| Member {
            rank: trace.rank,
            size: trace.size,
            job: trace.job.clone(),
        });
        let assigned = Assigned::of(trace);
        (self.assigned, self.in_sessions) = match trace.state {
            State::Sessions => (None, assigned),
            _ => (assigned, None),
        };
    }
}

/// The processes of the last attempt that have ended.
#[derive(Default)]
struct Totals {
    processes: CountedProcesses,
    time: u64,
    lines: Vec<Vec<u8>>,
}

impl Sampler for MpiTrace {
    const INITIAL_ROW_BYTES: f64 = 4096.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        ROW_BYTES * MAX_ROWS
    }

    /// The log must have room for the last rows of all processes.
    fn predict_bytes(&self, _processes: &ProcessTable) -> usize {
        let open = self.processes.values().filter(|traced| !traced.is_done);
        open.map(|traced| traced.last_bytes + ROW_BYTES * MAX_ROWS)
            .sum()
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        if let Some(pid) = run.processes.first_observed() {
            let files = &mut run.processes.meter.files;
            self.folder.check_mounts(files, pid);
        }
        self.list(run);
        self.write_ended(run, None);
        self.note_attempts();
        self.write_notices(run);
    }

    fn print(&mut self, run: &mut Run<'_>, _keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        let open = self.processes.iter().filter(|(_, traced)| !traced.is_done);
        let names: Vec<ResultName> = open.map(|(name, _)| *name).collect();
        for name in names {
            self.print_running(run, name, &time);
        }
        let entered = self.entered();
        let log = &mut run.session.log;
        self.absent.write(&mut run.processes, &entered, log);
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.list(run);
        // The processes may have rows with the time of the last scan. A reader could not tell two
        // rows of a process with the same time apart from the rows of two processes.
        run.processes.time = WallTime::now();
        let until = clock::since_boot() + MAX_END;
        self.write_ended(run, Some(until));
        self.note_attempts();
        let time = run.processes.time.precise_timestamp();
        self.folder
            .write_raw_files(&time, run.session, Until::End(until));
        let has_entered = self.processes.values().any(|it| {
            let known = [&it.assigned, &it.in_sessions];
            known.iter().any(|assigned| assigned.is_some())
        });
        let is_unexplained = self.totals.processes.count == 0 && !has_entered;
        if self.folder.results().is_some() && is_unexplained && run.progress.has_started {
            let why = "MPI_Init was not called, the recorder was not loaded, or the program finds \
                       MPI in another way than by its symbols or with dlsym";
            let since = run.since_restart();
            self.folder.note(format!(
                "{since}no process has recorded calls of MPI: {why}"
            ));
        }
        self.write_notices(run);
        let mut whole = run.begin_whole();
        let CountedProcesses { count, calls, .. } = self.totals.processes;
        push_known(&mut whole, "ranks", Some(count));
        push_known(&mut whole, "calls", Some(calls));
        nanoseconds(&mut whole, ",\"mpi_seconds\":", self.totals.time);
        whole.push(b'}');
        let mut lines = vec![whole];
        lines.append(&mut self.totals.lines);
        lines
    }
}

impl MpiTrace {
    fn write_notices(&mut self, run: &mut Run<'_>) {
        for report in self.folder.new_reports() {
            self.folder.note(clean(&report));
        }
        self.folder.write_notices(&mut run.session.log);
    }

    /// Lists the files, and finds their processes.
    fn list(&mut self, run: &mut Run<'_>) {
        let Some(mut listing) = self.folder.list() else {
            return;
        };
        self.leave_out_earlier(run);
        self.begin_attempt(run);
        self.make_room(&mut listing);
        let count = listing.names.len();
        if count >= MAX_FILES {
            self.folder.note(format!(
                "the folder of the results has {count} files; further processes were not recorded"
            ));
        }
        let has_pattern = !run.settings.pattern.is_empty();
        for name in listing.names {
            if self.processes.len() >= MAX_PROCESSES && !self.processes.contains_key(&name) {
                self.folder
                    .note("there are too many files; not all are read".to_owned());
                return;
            }
            let traced = self.processes.entry(name).or_insert_with(|| Traced {
                is_excluded: has_pattern,
                ..Traced::default()
            });
            if !matches!(traced.writer, Writer::Process(_)) && !traced.is_done {
                self.find_writer(run, name);
            }
            let pid = self.pid_of(name).unwrap_or(0);
            let process = process_of(run, pid).filter(|process| process.is_observed);
            let (Some(process), Some(traced)) = (process, self.processes.get_mut(&name)) else {
                continue;
            };
            traced.is_excluded = false;
            traced.tail = Some(process.tail.clone());
            self.open_memory(run, name);
        }
    }

    /// Removes the files of processes whose last rows are written, if there are many files or they
    /// use too much of the volume. If that is not enough, also empties the files of others.
    fn make_room(&mut self, listing: &mut Listing) {
        let Some(results) = self.folder.results() else {
            return;
        };
        let is_too_full = results.is_too_full(listing);
        if listing.names.len() >= MAX_FILES / 2 || is_too_full {
            let (processes, earlier) = (&mut self.processes, &mut self.earlier);
            listing.names.retain(|name| {
                let is_done = processes.get(name).is_some_and(|it| it.is_done);
                // A process of this attempt may have the same id, and then the same name.
                let is_free = is_done && results.remove(*name) && earlier.remove(name);
                if is_free {
                    processes.remove(name);
                }
                !is_free
            });
        }
        // The files of the processes that still run use less than the volume has.
        if is_too_full
            && results
                .list()
                .is_ok_and(|listing| results.is_too_full(&listing))
        {
            let count = results.empty(|name| name.is_none());
            if count > 0 {
                let why = "the results use more than half of the size limit of their volume";
                self.folder.note(format!(
                    "files that are not of the recorder were emptied, because {why}: {count}"
                ));
            }
        }
    }

    /// Finds the process that writes a file, if the file has calls.
    fn find_writer(&mut self, run: &mut Run<'_>, name: ResultName) {
        let Some(file) = self.folder.open_file(name) else {
            return;
        };
        let Ok(facts) = file.metadata() else {
            return;
        };
        let trace = file::read(&file).filter(|trace| trace.pid == name.pid.cast_unsigned());
        let (Some(trace), Some(traced)) = (trace, self.processes.get_mut(&name)) else {
            return;
        };
        let ids: Vec<i32> = run.processes.all.values().map(|it| it.pid).collect();
        let meter = &mut run.processes.meter;
        let mut finder = Finder {
            files: &mut meter.files,
            machine: &meter.machine,
            ids: &ids,
        };
        traced.take(&trace);
        traced.is_complete = !matches!(
            trace.state,
            State::Running | State::Starting | State::Sessions
        );
        traced.writer = finder.find(&trace, facts.uid());
    }

    /// Opens the memory that a process shares with the observer.
    fn open_memory(&mut self, run: &mut Run<'_>, name: ResultName) {
        let traced = self.processes.get_mut(&name);
        let has_memory = |it: &&mut Traced| it.member.is_some() || it.assigned.is_some();
        let Some(traced) = traced.filter(|it| has_memory(it) && !it.is_done) else {
            return;
        };
        let Writer::Process(pid) = traced.writer else {
            return;
        };
        let memory = &mut traced.memory;
        if let Some(notice) = memory.open(&mut run.processes, pid, name.pid.cast_unsigned()) {
            self.folder.note(notice);
        }
    }

    /// Writes rows of the calls in which a process is now.
    fn print_open(&self, run: &mut Run<'_>, name: ResultName, has_ended: bool) {
        let time = run.processes.time.precise_timestamp();
        let tail = self.tail_of(run, name);
        let traced = self.processes.get(&name).filter(|it| !it.is_excluded);
        let (Some(traced), Some(pid)) = (traced, self.known_pid(name)) else {
            return;
        };
        let owner = Owner {
            pid,
            tail: &tail,
            has_ended,
        };
        let (meter, log) = (&mut run.processes.meter, &mut run.session.log);
        let memory = &traced.memory;
        match (&traced.member, &traced.assigned) {
            (Some(member), _) => memory.write((&time, member), &owner, meter, log),
            (None, Some(assigned)) => {
                memory.write_start((&time, assigned), &owner, meter, log);
            }
            (None, None) => {}
        }
    }

    /// Returns the ranks of this attempt that have called `MPI_Init`, or use sessions.
    fn entered(&self) -> Vec<Entered> {
        let all = self.processes.values();
        let own = all.filter(|traced| !self.attempts.last.is_after(traced.began));
        own.filter_map(|traced| {
            let assigned = traced.member.as_ref().map(|member| Assigned {
                job: member.job.clone(),
                size: member.size,
                rank: Some(member.rank),
            });
            Some(Entered {
                assigned: assigned
                    .or_else(|| traced.assigned.clone())
                    .or_else(|| traced.in_sessions.clone())?,
                began: traced.began,
                is_done: traced.is_done,
            })
        })
        .collect()
    }

    /// Returns the id of the process of a file in the PID namespace of the pod. Until the file was
    /// read, this is the id in its name.
    fn pid_of(&self, name: ResultName) -> Option<i32> {
        match self.processes.get(&name).map(|traced| traced.writer) {
            Some(Writer::Process(pid)) => Some(pid),
            Some(Writer::Unknown) => None,
            Some(Writer::Unread) | None => Some(name.pid),
        }
    }

    /// Returns the id of the process of a file in the PID namespace of the pod, if it was found.
    fn known_pid(&self, name: ResultName) -> Option<u32> {
        match self.processes.get(&name)?.writer {
            Writer::Process(pid) => Some(pid.cast_unsigned()),
            Writer::Unread | Writer::Unknown => None,
        }
    }

    /// Returns what a process has recorded, if that is newer than its rows.
    fn read(&mut self, name: ResultName, is_last: bool) -> Option<Trace> {
        let traced = self.processes.get_mut(&name)?;
        let opened = self.folder.open_file(name)?;
        if !is_last && file::newest(&opened) == Some(traced.saves) {
            return None;
        }
        // Any process can write a file that names another one.
        let trace = file::read(&opened).filter(|it| it.pid == name.pid.cast_unsigned())?;
        traced.saves = trace.saves;
        traced.take(&trace);
        let blocks: usize = trace.communicators.iter().map(|it| it.blocks.len()).sum();
        let rows = 1 + trace.rows.len() + trace.communicators.len() + blocks.min(512);
        traced.last_bytes = rows * ROW_BYTES;
        Some(trace)
    }

    /// Whether the process of a file still runs. It may have started since the last scan. A process
    /// that cannot be found runs until its file is complete, or no process of the target is left.
    fn is_running(&self, run: &mut Run<'_>, name: ResultName) -> bool {
        let traced = self.processes.get(&name);
        let began = traced.map_or(0, |traced| traced.began);
        if self.attempts.last.is_after(began) {
            return false;
        }
        let Some(pid) = self.pid_of(name) else {
            let is_complete = traced.is_some_and(|traced| traced.is_complete);
            return !is_complete && run.processes.live_targets > 0;
        };
        let meter = &mut run.processes.meter;
        let Ok(text) = meter.files.read(Task::Process(pid), "stat") else {
            return false;
        };
        stat::parse(text).is_some_and(|stat| {
            // A process that started after the file was begun has the id of an ended one.
            let start = float(stat.start) / meter.machine.ticks;
            stat.state != b'Z' && (began == 0 || start <= float(began) / 1e9)
        })
    }

    /// Writes rows of a process that still runs. Without a process id, there are only last rows, so
    /// that all rows of a process have the same id.
    fn print_running(&mut self, run: &mut Run<'_>, name: ResultName, time: &str) {
        let is_excluded = self.processes.get(&name).is_none_or(|it| it.is_excluded);
        if is_excluded || self.known_pid(name).is_none() || !self.is_running(run, name) {
            return;
        }
        self.print_calls(run, name, time);
        self.print_open(run, name, false);
    }

    /// Writes rows of the calls of a process, if its file has changed.
    fn print_calls(&mut self, run: &mut Run<'_>, name: ResultName, time: &str) {
        let trace = self.read(name, false);
        let has_calls = |it: &Trace| !matches!(it.state, State::Starting | State::Sessions);
        let Some(trace) = trace.filter(has_calls) else {
            return;
        };
        let tail = self.tail_of(run, name);
        let rows = ProcessRows {
            time,
            trace: &trace,
            pid: self.known_pid(name),
            has_ended: false,
            tail: &tail,
        };
        let log = &mut run.session.log;
        log.line().extend_from_slice(&rows.rank());
        log.end_line();
        for row in rows.calls().iter().take(MAX_CALLS) {
            log.line().extend_from_slice(row);
            log.end_line();
        }
    }

    /// Writes the last rows of the processes that have ended. With a time in seconds since boot,
    /// writes those of all processes, at most until then.
    fn write_ended(&mut self, run: &mut Run<'_>, until: Option<f64>) {
        let open = self.processes.iter().filter(|(_, traced)| !traced.is_done);
        let open: Vec<ResultName> = open.map(|(name, _)| *name).collect();
        let mut left = open.len();
        for name in open {
            if until.is_some_and(|until| clock::since_boot() > until) {
                let is_left = |it: &&Traced| !it.is_done && !it.is_excluded;
                let count = self.processes.values().filter(is_left).count();
                self.folder.note(format!(
                    "there was not enough time for the last rows of {count} processes"
                ));
                return;
            }
            let has_ended = !self.is_running(run, name);
            if until.is_none() && (!has_ended || self.has_new_file(name)) {
                continue;
            }
            self.write_last(run, name, has_ended, left);
            left -= 1;
            run.session.drain(DRAIN);
            if !run.session.poll() && until.is_none() {
                // The other processes follow in the summary.
                return;
            }
        }
    }

    /// Whether the file of a process could not be read when its process was looked for, but can be
    /// read now: the process has begun it in the meantime. The next scan looks for the process.
    fn has_new_file(&self, name: ResultName) -> bool {
        let is_unread = |traced: &Traced| traced.writer == Writer::Unread;
        self.processes.get(&name).is_some_and(is_unread)
            && self
                .folder
                .open_file(name)
                .as_ref()
                .and_then(file::read)
                .is_some()
    }

    /// Writes the last rows of a process. `left` is the number of processes that still need room in
    /// the log, including this one.
    fn write_last(&mut self, run: &mut Run<'_>, name: ResultName, has_ended: bool, left: usize) {
        let trace = self.read(name, true);
        let tail = self.tail_of(run, name);
        let Some(traced) = self.processes.get_mut(&name) else {
            return;
        };
        traced.is_done = true;
        if traced.is_excluded {
            return;
        }
        let Some(trace) = trace else {
            let name = name.file_name();
            let why = "the volume is full, the process was killed too early, or it is another file";
            self.folder.note(format!(
                "the file {name} has no calls of MPI that can be read: {why}"
            ));
            return;
        };
        let pid = self.known_pid(name);
        if trace.state == State::Sessions {
            self.note_sessions(name, &trace);
            return;
        }
        if trace.state == State::Starting {
            self.note_start(name, &trace, has_ended);
            self.print_open(run, name, has_ended);
            return;
        }
        self.note_end(name, &trace, has_ended);
        if run.settings.has_artifacts {
            self.add_raw_file(name, &tail, pid);
        }
        self.count(&trace, pid, has_ended);
        let time = run.processes.time.precise_timestamp();
        let rows = ProcessRows {
            time: &time,
            trace: &trace,
            pid,
            has_ended,
            tail: &tail,
        };
        let omitted = write_all(&rows, &mut run.session.log, left);
        self.print_open(run, name, has_ended);
        if omitted > 0 {
            let process = self.description_of(name);
            self.folder.note(format!(
                "the log has no room for {omitted} rows of {process}; see the option max-log"
            ));
        }
    }

    fn add_raw_file(&mut self, name: ResultName, tail: &[u8], pid: Option<u32>) {
        let mut members = tail.strip_suffix(b"}").unwrap_or(tail).to_vec();
        push_known(&mut members, "pid", pid.map(u64::from));
        self.folder.add_raw_file(name, &members);
    }

    fn description_of(&self, name: ResultName) -> String {
        match self.known_pid(name) {
            Some(pid) => format!("process {pid}"),
            None => format!("the process of the file {}", name.file_name()),
        }
    }

    /// Reports that a process uses sessions in place of `MPI_Init`.
    fn note_sessions(&mut self, name: ResultName, trace: &Trace) {
        let (process, rank) = (self.description_of(name), assigned_rank(trace));
        self.folder.note(format!(
            "{process}{rank} uses sessions of MPI (MPI_Session_init) without MPI_Init: its calls \
             are not recorded"
        ));
    }

    /// Reports that a process has not returned from `MPI_Init`.
    fn note_start(&mut self, name: ResultName, trace: &Trace, has_ended: bool) {
        let (process, rank) = (self.description_of(name), assigned_rank(trace));
        let end = if has_ended {
            "ended"
        } else {
            "was observed until the end"
        };
        self.folder.note(format!(
            "{process}{rank} {end} without having returned from MPI_Init: it has no calls"
        ));
    }

    /// Reports what is missing in the last rows of a process.
    fn note_end(&mut self, name: ResultName, trace: &Trace, has_ended: bool) {
        let process = self.description_of(name);
        if self.known_pid(name).is_none() {
            let why = "it has a PID namespace of its own, or another user than the file";
            self.folder.note(format!(
                "{process} was not found, because {why}: its rows have no pid and no program"
            ));
        }
        if !trace.has_known_library {
            let library = &trace.library;
            self.folder.note(format!(
                "{process} is not recorded, because its MPI library is not known: {library}"
            ));
        } else if trace.state == State::Running && has_ended {
            let why =
                "the calls since the file was last written, usually for a second, are missing";
            let rank = trace.rank;
            self.folder.note(format!(
                "{process} (rank {rank}) ended without MPI_Finalize: {why}"
            ));
        }
        if trace.uncounted > 0 {
            let (rank, calls) = (trace.rank, trace.uncounted);
            let why = "it does not know their requests, or another thread has freed the \
                       communicator or the datatype";
            self.folder.note(format!(
                "{process} (rank {rank}): the recorder did not count the bytes of {calls} calls, \
                 because {why}"
            ));
        }
    }

    /// Returns the end of the rows of a process. If no scan has found the process, only its
    /// container is known: that of the target.
    fn tail_of(&self, run: &Run<'_>, name: ResultName) -> Box<[u8]> {
        let known = self.processes.get(&name);
        if let Some(tail) = known.and_then(|traced| traced.tail.clone()) {
            return tail;
        }
        let has_names = run.processes.containers.has_names;
        let target = run.settings.target.as_str();
        let mut tail = Vec::new();
        push_text(&mut tail, "container", has_names.then_some(target));
        push_text(&mut tail, "program", None);
        let began = known.map_or(0, |traced| traced.began);
        let number = self.attempts.last.number_at(began);
        row::attempt(&mut tail, ",\"attempt\":", number);
        tail.push(b'}');
        tail.into()
    }
}

/// Returns the rank that the launcher has assigned, for a sentence; otherwise an empty text.
fn assigned_rank(trace: &Trace) -> String {
    let rank = Assigned::of(trace).and_then(|assigned| assigned.rank);
    rank.map_or(String::new(), |rank| format!(" (rank {rank})"))
}

impl Totals {
    fn add(&mut self, trace: &Trace, pid: Option<u32>, has_ended: bool) {
        self.processes.add(trace);
        self.time = self.time.saturating_add(trace.time);
        if self.lines.len() >= MAX_SUMMARY {
            return;
        }
        let mut line = b"{\"mpi_rank\":".to_vec();
        encode::number::push(&mut line, u64::from(trace.rank));
        push_known(&mut line, "pid", pid.map(u64::from));
        push_text(&mut line, "state", Some(state_name(trace.state, has_ended)));
        nanoseconds(&mut line, ",\"elapsed\":", trace.elapsed);
        nanoseconds(&mut line, ",\"mpi_seconds\":", trace.time);
        push_known(&mut line, "calls", Some(trace.calls));
        push_known(&mut line, "bytes", Some(trace.bytes));
        line.push(b'}');
        self.lines.push(line);
    }
}

/// Writes all rows of a process for which the log has room, and returns the number of the others.
/// `left` is the number of processes that still need room, including this one.
fn write_all(rows: &ProcessRows<'_>, log: &mut Log, left: usize) -> usize {
    log.line().extend_from_slice(&rows.rank());
    log.end_line();
    let room = log.budget().room() / float(left.max(1) as u64);
    let end = log.budget().used() + room;
    let mut omitted = 0;
    let sections = [rows.communicators(), rows.calls(), rows.blocks()];
    for row in sections.iter().flatten() {
        if log.budget().used() + float(row.len() as u64) > end {
            omitted += 1;
            continue;
        }
        log.line().extend_from_slice(row);
        log.end_line();
        log.flush();
    }
    omitted
}

/// Returns a living process.
fn process_of<'a>(run: &'a Run<'_>, pid: i32) -> Option<&'a Process> {
    let table = &run.processes;
    let mut all = table.all.values();
    all.find(|process| process.pid == pid && !process.is_zombie)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::settings::FolderSettings;

    #[test]
    fn a_process_can_have_the_name_of_a_removed_earlier_file() {
        let path = std::env::temp_dir().join(format!("ridealong-room-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let name = |pid: usize| ResultName::parse(format!("mpi_{pid}").as_bytes()).unwrap();
        for pid in 1..=MAX_FILES / 2 {
            std::fs::write(path.join(name(pid).file_name()), "").unwrap();
        }
        let folder = Folder::open(&FolderSettings {
            path: path.to_str().unwrap().to_owned(),
            size_limit: 0,
            mounts: Vec::new(),
        });
        let done = || Traced {
            is_done: true,
            ..Traced::default()
        };
        let mut tracer = MpiTrace {
            folder,
            processes: BTreeMap::from([(name(1), done()), (name(2), done())]),
            earlier: BTreeSet::from([name(1)]),
            attempts: Attempts::default(),
            absent: Absent::default(),
            totals: Totals::default(),
        };
        let mut listing = tracer.folder.list().unwrap();
        tracer.make_room(&mut listing);
        let left = tracer.folder.list().unwrap().names.len();
        assert_eq!(left, MAX_FILES / 2 - 2);
        assert!(!tracer.processes.contains_key(&name(1)));
        assert!(!listing.names.contains(&name(1)), "it is not looked for");
        assert!(tracer.processes.contains_key(&name(2)));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
