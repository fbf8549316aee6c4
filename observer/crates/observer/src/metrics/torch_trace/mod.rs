//! The metric torch-trace: traces of `PyTorch`'s profiler, of all ranks at the same steps.
//! libkineto, which is a part of `PyTorch`, asks a daemon every five seconds whether the process is
//! to record a trace. This observer answers in place of the daemon ([`listener`]). libkineto writes
//! the traces into the folder of the results, and the observer copies them into its log.
//!
//! Any process of the target can send anything, and can write anything into the folder. The parser
//! therefore has bounded memory and time, and a fuzz target.

mod listener;
pub mod message;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;

use encode::json::push_known;
use linux::clock;
use linux::read_at::ReadAt;

use self::listener::{Listener, Steps, partial};
use self::rows::{Outcome, TRACE, TraceRow, trace};
use crate::metrics::metric::Metric;
use crate::metrics::world_rank::WorldRanks;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::attempts::OfLastAttempt;
use crate::sampling::columns::Rows;
use crate::sampling::process::{Key, Process};
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::artifacts::writer::Until;
use crate::tools::folder::{Folder, MAX_END};
use crate::tools::results::ResultName;

/// The maximum processes that may record a trace.
const MAX_PROCESSES: usize = 4096;
/// The bytes of a row, for which the log must have room.
const ROW_BYTES: f64 = 512.0;
/// The seconds after a scan in which copies of traces are begun; other traces follow after later
/// scans. `gzip -1` took 0.17 seconds of processor time for a trace of 19 MB; a file is compressed
/// twice, and an observer has a tenth of a processor.
const MAX_COPYING: f64 = 60.0;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "torch-trace",
        description: "traces of PyTorch's profiler, of all ranks at the same steps of training, as raw files",
        help: "traces of PyTorch's profiler, of all ranks at the same steps of training, as raw files; answers PyTorch in place of the daemon dynolog; was never run with a GPU",
        options: &[
            MetricOption::Step,
            MetricOption::Steps,
            MetricOption::Timeout,
            MetricOption::MaxLog,
        ],
        reads: ProcessFiles::Stat,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[TRACE],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let steps = Steps {
        first: settings.step,
        count: settings.steps,
    };
    let mut folder = Folder::open(&settings.folder);
    let listener = match Listener::start(&settings.folder.path, steps) {
        Ok(listener) => Some(listener),
        Err(why) => {
            folder.note(format!(
                "no traces: the observer cannot listen in the folder of the results: {why}"
            ));
            None
        }
    };
    sampler::run(TorchTrace::new(folder, listener), settings, session);
}

struct TorchTrace {
    folder: Folder,
    /// `None` if the observer cannot listen.
    listener: Option<Listener>,
    /// The ranks of the processes.
    ranks: WorldRanks,
    living: BTreeMap<Key, Traced>,
    outcomes: OfLastAttempt<Outcomes>,
    /// The names that files have, or can have.
    names: BTreeSet<ResultName>,
}

/// A process that may record a trace.
struct Traced {
    key: Key,
    pid: i32,
    /// The attempt of its container.
    attempt: u32,
    name: ResultName,
    rank: Option<u32>,
    /// The end of its row: the container and the program.
    tail: Box<[u8]>,
    /// Whether it has a row.
    is_done: bool,
}

/// The ended processes that have asked for a trace, and have none. Which of them were to have one
/// is known at the end: launchers ask, too, and so do processes that a rank has started, such as
/// workers of data loaders, which have the variables of the rank.
#[derive(Default)]
struct Without {
    processes: Vec<Traced>,
    /// Whether processes have a rank. Others are then launchers.
    has_ranks: bool,
    /// The ranks with a trace, complete or not.
    ranks: BTreeSet<u32>,
}

impl Without {
    /// Takes an observed process.
    fn see(&mut self, rank: Option<u32>) {
        self.has_ranks |= rank.is_some();
    }

    /// Takes a process that has a trace.
    fn take_trace(&mut self, rank: Option<u32>) {
        if let Some(rank) = rank.filter(|_| self.ranks.len() < MAX_PROCESSES) {
            self.ranks.insert(rank);
        }
    }

    /// Takes a process without a trace. Of the processes of a rank, the first one counts.
    fn add(&mut self, process: Traced) {
        let is_known = |known: &Traced| known.rank.is_some() && known.rank == process.rank;
        match self.processes.iter().position(is_known) {
            Some(at) if self.processes[at].key > process.key => self.processes[at] = process,
            None if self.processes.len() < MAX_PROCESSES => self.processes.push(process),
            _ => {}
        }
    }

    /// Returns the processes that were to have a trace.
    fn take(&mut self) -> Vec<Traced> {
        let mut processes = std::mem::take(&mut self.processes);
        let has_trace = |rank: u32| self.ranks.contains(&rank);
        processes.retain(|process| {
            process.rank.is_some() == self.has_ranks && !process.rank.is_some_and(has_trace)
        });
        processes
    }
}

/// The outcomes of the processes of an attempt.
#[derive(Default)]
struct Outcomes {
    totals: Totals,
    /// The ended processes that have asked for a trace, and have none.
    without: Without,
}

impl Outcomes {
    /// Adds the outcome of a process.
    fn add(&mut self, rank: Option<u32>, outcome: Outcome) {
        match outcome {
            Outcome::Complete { .. } => self.totals.complete += 1,
            Outcome::Incomplete => self.totals.incomplete += 1,
            Outcome::Missing => {
                self.totals.missing += 1;
                return;
            }
        }
        self.without.take_trace(rank);
    }
}

/// The processes by the outcome.
#[derive(Clone, Copy, Default)]
struct Totals {
    complete: u64,
    incomplete: u64,
    missing: u64,
}

impl Sampler for TorchTrace {
    const INITIAL_ROW_BYTES: f64 = 0.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        0
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.guard_size();
        self.look_at_processes(run);
        self.copy_files(run, Until::Begin(clock::since_boot() + MAX_COPYING));
    }

    /// The row of a process is written when its trace is complete, or when the process has ended.
    fn print(&mut self, _run: &mut Run<'_>, _keys: &[Key]) {}

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.look_at_processes(run);
        for (_, process) in std::mem::take(&mut self.living) {
            self.end(run, process);
        }
        for process in self.outcomes.get().without.take() {
            self.write_row(run, &process, Outcome::Missing);
        }
        self.note_problems(run);
        self.copy_files(run, Until::End(clock::since_boot() + MAX_END));
        let mut whole = run.begin_whole();
        let Totals {
            complete,
            incomplete,
            missing,
        } = self.outcomes.get().totals;
        push_known(&mut whole, "traces", Some(complete));
        push_known(&mut whole, "incomplete", Some(incomplete));
        push_known(&mut whole, "missing", Some(missing));
        whole.push(b'}');
        vec![whole]
    }
}

impl TorchTrace {
    fn new(mut folder: Folder, listener: Option<Listener>) -> Self {
        // These files are those of processes that an earlier observer of the pod has observed.
        let earlier = folder.list().map(|listing| listing.names);
        Self {
            folder,
            listener,
            ranks: WorldRanks::default(),
            living: BTreeMap::new(),
            outcomes: OfLastAttempt::default(),
            names: earlier.into_iter().flatten().collect(),
        }
    }

    /// Empties the files if they use too much of the volume. The kubelet evicts a pod whose volume
    /// uses more than its limit.
    fn guard_size(&mut self) {
        let Some(listing) = self.folder.list() else {
            return;
        };
        let results = self.folder.results();
        let Some(results) = results.filter(|results| results.is_too_full(&listing)) else {
            return;
        };
        let count = results.empty(|_| true);
        let (used, why) = (
            listing.used >> 20,
            "more than half of the size limit of their volume",
        );
        self.folder.note(format!(
            "the traces were emptied, because they use {used} MiB, {why}: {count} files; record \
             fewer steps with the option steps"
        ));
    }

    /// Updates the observed processes, and writes the rows of those whose trace is complete, or
    /// that have ended.
    fn look_at_processes(&mut self, run: &mut Run<'_>) {
        self.ranks.update(&mut run.processes);
        // The id of a process that has ended can be that of a new one.
        let all = &run.processes.all;
        for process in self.take_over(|key| all.get(key).is_none_or(|process| process.is_zombie)) {
            self.end(run, process);
        }
        self.begin_attempt(run);
        for key in run.processes.observed.clone() {
            let process = run.processes.all.get(&key);
            if let Some(process) = process.filter(|process| !process.is_zombie) {
                self.update(key, process);
            }
        }
        self.write_complete(run);
    }

    /// Begins to count again if the target was started again since the last scan. Then all
    /// processes of the attempt before have ended.
    fn begin_attempt(&mut self, run: &mut Run<'_>) {
        let number = run.processes.containers.target_attempt();
        if let Some(mut before) = self.outcomes.begin(number) {
            for process in before.without.take() {
                self.write_row(run, &process, Outcome::Missing);
            }
        }
    }

    /// Takes the processes that have ended out of the list.
    fn take_over(&mut self, is_over: impl Fn(&Key) -> bool) -> Vec<Traced> {
        let over: Vec<Key> = self.living.keys().copied().filter(is_over).collect();
        let over = over.iter().filter_map(|key| self.living.remove(key));
        over.collect()
    }

    fn update(&mut self, key: Key, process: &Process) {
        let is_known = self.living.contains_key(&key);
        if !is_known && self.living.len() >= MAX_PROCESSES {
            self.folder.note(format!(
                "only the first {MAX_PROCESSES} processes can have traces"
            ));
            return;
        }
        let (names, listener) = (&mut self.names, self.listener.as_ref());
        let traced = self.living.entry(key).or_insert_with(|| {
            let name = new_name(names, process.pid);
            if let Some(listener) = listener {
                listener.add(process.pid, name);
            }
            Traced {
                key,
                pid: process.pid,
                attempt: process.attempt,
                name,
                rank: None,
                tail: Box::default(),
                is_done: false,
            }
        });
        traced.tail.clone_from(&process.tail);
        traced.rank = self.ranks.get(&key).map(|(rank, _)| rank);
        if let Some(outcomes) = self.outcomes.of(traced.attempt) {
            outcomes.without.see(traced.rank);
        }
    }

    /// Writes the rows of the processes whose trace is complete.
    fn write_complete(&mut self, run: &mut Run<'_>) {
        for key in self.living.keys().copied().collect::<Vec<_>>() {
            let open = self.living.get(&key).filter(|process| !process.is_done);
            let Some(outcome) = open.and_then(|process| self.complete(process.name)) else {
                continue;
            };
            if let Some(mut process) = self.living.remove(&key) {
                process.is_done = true;
                self.write_row(run, &process, outcome);
                self.living.insert(key, process);
            }
        }
    }

    /// Writes the row of a process that has ended, or that still runs at the end of the observer,
    /// unless it has a row. Rows of processes without a trace follow at the end.
    fn end(&mut self, run: &mut Run<'_>, process: Traced) {
        if let Some((process, outcome)) = self.forget(process) {
            self.write_row(run, &process, outcome);
        }
    }

    /// Writes the row of a process, and adds its file to those that are copied into the log.
    fn write_row(&mut self, run: &mut Run<'_>, process: &Traced, outcome: Outcome) {
        if let Some(outcomes) = self.outcomes.of(process.attempt) {
            outcomes.add(process.rank, outcome);
        }
        let row = TraceRow {
            time: &run.processes.time.precise_timestamp(),
            pid: process.pid,
            rank: process.rank,
            tail: &process.tail,
            file: &process.name.copy_name(),
            outcome,
        };
        let log = &mut run.session.log;
        if !log.has_room(ROW_BYTES) {
            let why = "the log has no room for the rows of all processes";
            self.folder.note(why.to_owned());
            return;
        }
        log.line().extend_from_slice(&trace(&row));
        log.end_line();
        log.flush();
        if matches!(outcome, Outcome::Complete { .. }) {
            self.folder.add_raw_file(process.name, &row.origin());
        }
    }

    /// Forgets a process that has ended. Returns it with its outcome, if it is to have a row now.
    fn forget(&mut self, process: Traced) -> Option<(Traced, Outcome)> {
        let listener = self.listener.as_ref();
        let has_asked = listener.is_some_and(|listener| listener.remove(process.pid));
        if process.is_done {
            return None;
        }
        let results = self.folder.results();
        let name = process.name.file_name();
        let has = |name: &str| results.is_some_and(|results| results.has_entry(name));
        let outcome = match self.complete(process.name) {
            Some(complete) => complete,
            None if has(&name) || has(&partial(&name)) => Outcome::Incomplete,
            None => {
                // No file and no row has the name.
                self.names.remove(&process.name);
                if let Some(outcomes) = self.outcomes.of(process.attempt).filter(|_| has_asked) {
                    outcomes.without.add(process);
                }
                return None;
            }
        };
        Some((process, outcome))
    }

    /// Returns the outcome of a process with a complete file.
    fn complete(&self, name: ResultName) -> Option<Outcome> {
        let file = self.folder.open_file(name)?;
        let facts = file.metadata().ok()?;
        if !is_whole(&file, facts.len()) {
            return None;
        }
        let written = facts.modified().ok();
        let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Some(Outcome::Complete {
            bytes: facts.len(),
            written: written.and_then(|at| u64::try_from(at.as_millis()).ok()),
        })
    }

    /// Copies the files of new rows into the log, at most until a time.
    fn copy_files(&mut self, run: &mut Run<'_>, until: Until) {
        let time = run.processes.time.precise_timestamp();
        self.folder.write_raw_files(&time, run.session, until);
        self.folder.write_notices(&mut run.session.log);
    }

    fn note_problems(&mut self, run: &Run<'_>) {
        let refused = self.listener.as_ref().map_or(0, Listener::refused);
        if refused > 0 {
            self.folder.note(format!(
                "datagrams in the folder of the results that are not those of PyTorch: {refused}"
            ));
        }
        let step = run.settings.step;
        let Totals {
            complete,
            incomplete,
            missing,
        } = self.outcomes.get().totals;
        if missing > 0 {
            self.folder.note(format!(
                "processes of PyTorch without a trace: {missing}; an optimizer of PyTorch must \
                 reach step {step}, or a multiple of it, while the observer runs"
            ));
        }
        let has_none = complete + incomplete + missing == 0;
        if has_none && self.listener.is_some() && run.progress.has_started {
            let why = "no process imports torch, or its PyTorch has no client of dynolog";
            let since = run.since_restart();
            self.folder
                .note(format!("{since}no process has asked for a trace: {why}"));
        }
    }
}

/// Returns a new name for the trace of a process. An earlier process can have had the same id.
fn new_name(names: &mut BTreeSet<ResultName>, pid: i32) -> ResultName {
    let all = (0..).map(|number| ResultName::of_trace(pid, number));
    let mut unused = all.skip_while(|name| names.contains(name));
    let name = unused.next().unwrap_or(ResultName::of_trace(pid, u32::MAX));
    names.insert(name);
    name
}

/// Whether a file is a whole JSON object, as far as its beginning and its end show. A file that was
/// emptied while it was written begins with zeros.
fn is_whole(file: &impl ReadAt, bytes: u64) -> bool {
    let read = |at: u64| {
        let mut piece = [0; 16];
        let count = file.read_at(at, &mut piece);
        piece[..count].trim_ascii().to_vec()
    };
    let (beginning, end) = (read(0), read(bytes.saturating_sub(16)));
    beginning.starts_with(b"{") && end.ends_with(b"}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::settings::FolderSettings;

    #[test]
    fn a_trace_is_whole_if_it_begins_and_ends_as_an_object() {
        let is_whole = |text: &[u8]| is_whole(&text.to_vec(), text.len() as u64);
        // The beginning and the end of a trace of PyTorch 2.15.0.
        let recorded = b" {\n    \"schemaVersion\": 1,\n  ],\"traceName\": \"/r/trace_18\" }";
        assert!(is_whole(recorded));
        assert!(is_whole(b"{}\n"));
        for text in [
            &recorded[..50],
            b"",
            b"{",
            b"}",
            &[&[0; 20], &recorded[..]].concat(),
        ] {
            assert!(!is_whole(text), "{text:?}");
        }
    }

    fn traced(key: Key, rank: Option<u32>) -> Traced {
        Traced {
            key,
            pid: i32::try_from(key).unwrap(),
            name: ResultName::of_trace(7, 0),
            attempt: 1,
            rank,
            tail: Box::default(),
            is_done: false,
        }
    }

    /// Returns the processes that were to have a trace, of processes that have asked.
    fn missing(asked: Vec<Traced>, with_trace: &[Traced]) -> Vec<Key> {
        let mut without = Without::default();
        for process in asked.iter().chain(with_trace) {
            without.see(process.rank);
        }
        for process in with_trace {
            without.take_trace(process.rank);
        }
        for process in asked {
            without.add(process);
        }
        without.take().iter().map(|process| process.key).collect()
    }

    #[test]
    fn launchers_and_the_processes_of_a_rank_are_not_missing() {
        let ranked = |key: Key, number: u32| traced(key, Some(number));
        let other = |key: Key| traced(key, None);
        let none: [Key; 0] = [];
        // Without ranks, each process counts.
        assert_eq!(missing(vec![other(1), other(2)], &[]), [1, 2]);
        // A launcher has no rank.
        assert_eq!(missing(vec![other(1)], &[ranked(2, 0)]), none);
        assert_eq!(missing(vec![other(1), ranked(2, 0)], &[]), [2]);
        // A worker of a rank with a trace, and of ranks without one.
        assert_eq!(missing(vec![ranked(3, 0)], &[ranked(2, 0)]), none);
        let workers = vec![ranked(5, 0), ranked(2, 0), ranked(6, 0), ranked(3, 1)];
        assert_eq!(missing(workers, &[]), [2, 3]);
    }

    #[test]
    fn a_process_with_the_id_of_an_earlier_one_has_a_file_of_its_own() {
        let mut names = BTreeSet::from([ResultName::of_trace(7, 0)]);
        let found = [7, 7, 8].map(|pid| new_name(&mut names, pid).copy_name());
        assert_eq!(found, ["trace_7.1.json", "trace_7.2.json", "trace_8.json"]);
        for name in names {
            assert_eq!(ResultName::parse_copy(&name.copy_name()), Some(name));
        }
    }

    #[test]
    fn a_process_without_a_file_leaves_no_name() {
        let path = std::env::temp_dir().join(format!("ridealong-trace-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let settings = FolderSettings {
            path: path.to_str().unwrap().to_owned(),
            size_limit: 0,
            mounts: Vec::new(),
        };
        let mut observer = TorchTrace::new(Folder::open(&settings), None);
        let mut outcomes = Vec::new();
        for (key, pid, file) in [(1, 7, ""), (2, 7, ".tmp"), (3, 7, ""), (4, 8, "")] {
            let process = Process {
                pid,
                ..Process::default()
            };
            observer.update(key, &process);
            let name = observer.living[&key].name.file_name();
            if !file.is_empty() {
                std::fs::write(path.join(format!("{name}{file}")), "").unwrap();
            }
            for process in observer.take_over(|over| *over == key) {
                outcomes.push(observer.forget(process).map(|(_, outcome)| outcome));
            }
        }
        std::fs::remove_dir_all(&path).unwrap();
        assert_eq!(outcomes, [None, Some(Outcome::Incomplete), None, None]);
        assert_eq!(observer.names, BTreeSet::from([ResultName::of_trace(7, 0)]));
    }
}
