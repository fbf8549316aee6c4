//! The metric torch-collectives: the collective operations of `PyTorch` in the application's
//! processes. A recorder, which is loaded into the processes (observer/torch), copies `PyTorch`'s
//! flight recorder into memory that it shares with this observer, at most once a minute and at the
//! end. The observer writes rows from that memory, also when the process was killed.
//!
//! Any process of the target can write anything into the memory. The reader therefore has bounded
//! memory and time, and a fuzz target.

pub mod dump;
pub mod memory;
pub mod rows;

use std::collections::BTreeMap;

use encode::json::push_known;
use encode::number::float;
use linux::clock;

use self::dump::{Collective, Dump};
use self::memory::{Head, LINK};
use self::rows::TorchRows;
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::attempts::OfLastAttempt;
use crate::sampling::columns::Rows;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::nanoseconds;
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::folder::{Folder, MAX_END};
use crate::tools::observed::{Kind, Observed, ObservedProcesses};

/// The maximum calls that have rows at a timepoint, of all processes together, and the minimum for
/// each of them.
const MAX_CALLS: usize = 256;
const MIN_CALLS: usize = 32;
/// The maximum calls of a process that have rows at its end.
const MAX_LAST: usize = 2000;
/// The estimated bytes of the row of a call, and of the rows of a process and its groups.
const CALL_BYTES: usize = 280;
const ROW_BYTES: usize = 4096;
/// The bytes of the last rows of a process for which the log keeps room.
const LAST_BYTES: usize = 65_536;

/// The memory of the recorder. A process has it once it has a process group, which can be long
/// after its start, and it may end soon after that.
static KIND: Kind = Kind {
    link: LINK,
    is_of: |file, pid| memory::is_of(file, pid),
    max_pause: 4.0,
};

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "torch-collectives",
        description: "when the application's processes called the collective operations of PyTorch, and who came late",
        help: "when the application's processes called the collective operations of PyTorch, from copies of its flight recorder; was run with Gloo, and never with NCCL",
        options: &[
            MetricOption::LongRate,
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
    sections: &[TorchRows::PROCESS, TorchRows::GROUP, TorchRows::COLLECTIVE],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let observer = TorchCollectives {
        folder: Folder::open(&settings.folder),
        processes: ObservedProcesses::default(),
        totals: OfLastAttempt::default(),
    };
    sampler::run(observer, settings, session);
}

struct TorchCollectives {
    folder: Folder,
    processes: ObservedProcesses<Written>,
    totals: OfLastAttempt<Totals>,
}

/// The calls of a process that have rows, or for whose rows there was no room.
#[derive(Default)]
struct Written {
    /// The copies of the recorder whose calls have rows.
    copies: u64,
    /// The highest number of a call in each process group of the last copy; see [`Collective::id`].
    numbers: BTreeMap<GroupId, u64>,
}

type GroupId = (usize, Option<u64>, String);

fn group_id(call: &Collective) -> GroupId {
    (call.id.0, call.id.1, call.group.clone())
}

impl Written {
    /// Returns the latest calls that have no row yet, at most `most`.
    fn new_calls<'a>(&self, dump: &'a Dump, most: usize) -> Vec<&'a Collective> {
        let is_new = |call: &&Collective| {
            let known = self.numbers.get(&group_id(call));
            known.is_none_or(|number| call.number > *number)
        };
        let calls: Vec<&Collective> = dump.collectives.iter().filter(is_new).collect();
        let first = calls.len().saturating_sub(most);
        calls[first..].to_vec()
    }

    /// Remembers the calls of a copy.
    fn take(&mut self, dump: &Dump, copies: u64) {
        if copies == self.copies {
            return;
        }
        self.copies = copies;
        // A copy that is not as expected has no calls.
        if dump.collectives.is_empty() {
            return;
        }
        self.numbers.clear();
        for call in &dump.collectives {
            let number = self.numbers.entry(group_id(call)).or_default();
            *number = call.number.max(*number);
        }
    }
}

#[derive(Default)]
struct Totals {
    processes: u64,
    calls: u64,
    /// The longest copy of a recorder, in nanoseconds.
    longest: u64,
}

impl Totals {
    fn add(&mut self, written: Option<(Head, u64)>) {
        let Some((head, calls)) = written else {
            return;
        };
        self.calls += calls;
        self.longest = self.longest.max(head.longest);
    }
}

impl Sampler for TorchCollectives {
    const INITIAL_ROW_BYTES: f64 = 4096.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        ROW_BYTES
    }

    /// The log must have room for the last rows of all processes.
    fn predict_bytes(&self, _processes: &ProcessTable) -> usize {
        let count = self.processes.count();
        count * (ROW_BYTES + LAST_BYTES) + MAX_CALLS.max(count * MIN_CALLS) * CALL_BYTES
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        if let Some(pid) = run.processes.first_observed() {
            let files = &mut run.processes.meter.files;
            self.folder.check_mounts(files, pid);
        }
        self.look_at_processes(run);
        self.write_ended(run, None);
        self.folder.write_notices(&mut run.session.log);
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let most = (MAX_CALLS / self.processes.count_living().max(1)).max(MIN_CALLS);
        for key in keys {
            let Some(process) = self.processes.get(key) else {
                continue;
            };
            let written = write(process, run, &mut self.folder, false, most);
            if let Some(totals) = self.totals.of(process.attempt) {
                totals.add(written);
            }
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.look_at_processes(run);
        let until = clock::since_boot() + MAX_END;
        self.processes.end(&mut run.processes);
        // The processes may have rows with the time of the last scan.
        run.processes.time = clock::WallTime::now();
        self.write_ended(run, Some(until));
        self.totals.begin(run.processes.containers.target_attempt());
        let totals = self.totals.get();
        if totals.processes == 0 && run.progress.has_started {
            let why = "none made a process group with a version of PyTorch that has the recorder, \
                       lived until the observer saw it, or could share its memory";
            let since = run.since_restart();
            self.folder.note(format!(
                "{since}no process has recorded collective operations: {why}"
            ));
        }
        self.folder.write_notices(&mut run.session.log);
        let mut whole = run.begin_whole();
        push_known(&mut whole, "ranks", Some(totals.processes));
        push_known(&mut whole, "calls", Some(totals.calls));
        nanoseconds(&mut whole, ",\"longest_copy\":", totals.longest);
        whole.push(b'}');
        vec![whole]
    }
}

impl TorchCollectives {
    /// Looks for the memory of the observed processes, and separates those that have ended.
    fn look_at_processes(&mut self, run: &mut Run<'_>) {
        let (table, folder) = (&mut run.processes, &mut self.folder);
        self.processes
            .look(&KIND, "the collective operations", table, folder);
    }

    /// Writes the last rows of the processes that have ended, at most until a time in seconds since
    /// boot.
    fn write_ended(&mut self, run: &mut Run<'_>, until: Option<f64>) {
        let ended = self.processes.take_ended();
        let left = ended.write(run, until, |run, process, left| {
            self.write_last(run, process, left);
        });
        if until.is_none() {
            // They follow in the summary.
            self.processes.put_back(left);
        } else if !left.is_empty() {
            self.folder
                .note("there was not enough time for the rows of all processes".to_owned());
        }
    }

    /// Writes the last rows of a process. `left` is the number of processes that still need room in
    /// the log, including this one.
    fn write_last(&mut self, run: &mut Run<'_>, process: &mut Observed<Written>, left: usize) {
        let room = run.session.log.budget().room() / float(left as u64);
        let cost = float(CALL_BYTES as u64);
        // The cast turns a negative number into 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = ((room / cost) as usize).min(MAX_LAST);
        let has_ended = process.has_ended;
        let written = write(process, run, &mut self.folder, has_ended, most);
        if let Some(totals) = self.totals.of(process.attempt) {
            totals.processes += u64::from(written.is_some());
            totals.add(written);
        }
    }
}

/// Writes the rows of a process, and of at most `most` calls that have none yet. Returns the header
/// of its memory, and the number of these calls.
fn write(
    process: &mut Observed<Written>,
    run: &mut Run<'_>,
    folder: &mut Folder,
    has_ended: bool,
    most: usize,
) -> Option<(Head, u64)> {
    let head = process.memory().and_then(memory::read_head)?;
    let dump = if head.copies == process.own.copies {
        Dump::default()
    } else {
        read_dump(process, folder)
    };
    let time = run.processes.time.precise_timestamp();
    let rows = TorchRows {
        time: &time,
        pid: process.pid,
        tail: &process.tail,
        has_ended,
        head: &head,
    };
    let calls = process.own.new_calls(&dump, most);
    let log = &mut run.session.log;
    let others = std::iter::once(rows.process()).chain(rows.groups(&dump));
    for row in others.chain(calls.iter().map(|call| rows.collective(call))) {
        log.line().extend_from_slice(&row);
        log.end_line();
    }
    log.flush();
    let count = calls.len() as u64;
    process.own.take(&dump, head.copies);
    Some((head, count))
}

/// Reads the last copy; empty if it is not as expected, with a notice.
fn read_dump(process: &Observed<Written>, folder: &mut Folder) -> Dump {
    let copy = process.memory().and_then(memory::read);
    let dump = copy.map(|(_, text)| dump::parse(&text));
    if matches!(dump, Some(None)) {
        let (pid, program) = (process.pid, &process.program);
        folder.note(format!(
            "the flight recorder of process {pid} ({program}) is not as expected"
        ));
    }
    dump.flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::dump::tests::copy_of;
    use super::*;

    /// Takes a copy, and returns the groups and the numbers of the calls that get rows.
    fn rows(
        written: &mut Written,
        first: &str,
        calls: &[(u64, u64, u64)],
        most: usize,
    ) -> Vec<(String, u64)> {
        let dump = dump::parse(&copy_of(first, calls)).unwrap();
        let new = written.new_calls(&dump, most).into_iter();
        let rows = new.map(|it| (it.group.clone(), it.number)).collect();
        written.take(&dump, written.copies + 1);
        rows
    }

    fn named(calls: &[(&str, u64)]) -> Vec<(String, u64)> {
        let own = |(name, number): &(&str, u64)| ((*name).to_owned(), *number);
        calls.iter().map(own).collect()
    }

    #[test]
    fn a_process_group_that_was_made_again_has_rows_of_its_own() {
        let mut written = Written::default();
        let first = r#"{"generation":1,"ends":[]}"#;
        let before = rows(&mut written, first, &[(0, 1, 10), (0, 2, 20)], 9);
        assert_eq!(before, named(&[("0", 1), ("0", 2)]));
        let first = r#"{"generation":2,"ends":[[0,-1]]}"#;
        let after = rows(&mut written, first, &[(0, 2, 20), (1, 1, 30)], 9);
        assert_eq!(after, named(&[("0#2", 1)]));
    }

    #[test]
    fn calls_have_rows_if_the_clock_was_set_back() {
        let mut written = Written::default();
        assert_eq!(rows(&mut written, "{}", &[(0, 1, 1000)], 9).len(), 1);
        let after = rows(&mut written, "{}", &[(0, 1, 1000), (0, 2, 20)], 9);
        assert_eq!(after, named(&[("0", 2)]));
    }

    #[test]
    fn the_latest_calls_have_rows_and_those_without_room_get_none_later() {
        let mut written = Written::default();
        let calls = [(0, 1, 10), (0, 2, 20), (0, 3, 30), (0, 4, 40)];
        let latest = rows(&mut written, "{}", &calls[..3], 2);
        assert_eq!(latest, named(&[("0", 2), ("0", 3)]));
        assert_eq!(rows(&mut written, "{}", &calls, 9), named(&[("0", 4)]));
    }
}
