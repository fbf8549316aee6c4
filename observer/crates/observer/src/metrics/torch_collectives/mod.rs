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
use self::rows::{COLLECTIVE, GROUP, PROCESS, TorchRows};
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::json_rows::push_decimals;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::folder::{DRAIN, Folder, MAX_END};
use crate::tools::observed::{Kind, Observed, is_running};

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
        sections: &[PROCESS, GROUP, COLLECTIVE],
        summary: &[],
    },
    run,
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let observer = TorchCollectives {
        folder: Folder::open(&settings.folder),
        living: BTreeMap::new(),
        ended: Vec::new(),
        totals: Totals::default(),
    };
    sampler::run(observer, settings, session);
}

struct TorchCollectives {
    folder: Folder,
    living: BTreeMap<Key, Recorded>,
    /// The processes with a memory that have ended, or have executed another program, until their
    /// last rows are written.
    ended: Vec<Recorded>,
    totals: Totals,
}

/// A process.
struct Recorded {
    observed: Observed,
    /// The copies of the recorder whose calls have rows.
    copies: u64,
    /// The time of the latest call that has a row, in nanoseconds since 1970.
    written: u64,
}

impl Recorded {
    fn new(process: &Process) -> Self {
        Self {
            observed: Observed::new(process),
            copies: 0,
            written: 0,
        }
    }

    fn has_memory(&self) -> bool {
        self.observed.memory().is_some()
    }

    /// Returns the latest calls that have no row yet, at most `most`.
    fn new_calls<'a>(&self, dump: &'a Dump, most: usize) -> &'a [Collective] {
        let all = &dump.collectives;
        let first = all.partition_point(|call| call.called <= self.written);
        &all[first.max(all.len().saturating_sub(most))..]
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
        let count = self.count_living() + self.ended.len();
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
        let most = (MAX_CALLS / self.count_living().max(1)).max(MIN_CALLS);
        for key in keys {
            let Some(process) = self.living.get_mut(key).filter(|it| it.has_memory()) else {
                continue;
            };
            let written = process.write(run, &mut self.folder, false, most);
            self.totals.add(written);
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.look_at_processes(run);
        let until = clock::since_boot() + MAX_END;
        let living = std::mem::take(&mut self.living).into_values();
        for mut process in living.filter(Recorded::has_memory) {
            process.observed.has_ended = !is_running(&mut run.processes, process.observed.pid);
            self.ended.push(process);
        }
        // The processes may have rows with the time of the last scan.
        run.processes.time = clock::WallTime::now();
        self.write_ended(run, Some(until));
        if self.totals.processes == 0 && run.progress.has_started {
            let why = "none made a process group with a version of PyTorch that has the recorder, \
                       lived until the observer saw it, or could share its memory";
            self.folder.note(format!(
                "no process has recorded collective operations: {why}"
            ));
        }
        self.folder.write_notices(&mut run.session.log);
        let mut whole = run.begin_whole();
        push_known(&mut whole, "ranks", Some(self.totals.processes));
        push_known(&mut whole, "calls", Some(self.totals.calls));
        push_decimals(
            &mut whole,
            "longest_copy",
            Some(self.totals.longest / 1000),
            6,
        );
        whole.push(b'}');
        vec![whole]
    }
}

impl TorchCollectives {
    fn count_living(&self) -> usize {
        self.living.values().filter(|it| it.has_memory()).count()
    }

    /// Looks for the memory of the observed processes, and separates those that have ended.
    fn look_at_processes(&mut self, run: &mut Run<'_>) {
        let now = run.processes.now;
        for key in run.processes.observed.clone() {
            let process = run.processes.all.get(&key);
            let Some(process) = process.filter(|process| !process.is_zombie) else {
                continue;
            };
            let recorded = self.living.entry(key);
            let recorded = recorded.or_insert_with(|| Recorded::new(process));
            if recorded.observed.update_names(process) {
                self.ended
                    .push(std::mem::replace(recorded, Recorded::new(process)));
            }
            let observed = &mut recorded.observed;
            if let Some(why) = observed.look(&KIND, &mut run.processes, now) {
                let (pid, program) = (observed.pid, &observed.program);
                self.folder.note(format!(
                    "the collective operations of process {pid} ({program}) cannot be read: {why}"
                ));
            }
        }
        let all = &run.processes.all;
        let is_over = |key: &Key| all.get(key).is_none_or(|process| process.is_zombie);
        let over: Vec<Key> = self.living.keys().copied().filter(is_over).collect();
        let over = over.iter().filter_map(|key| self.living.remove(key));
        self.ended.extend(over.filter(Recorded::has_memory));
    }

    /// Writes the last rows of the processes in `ended`, at most until a time in seconds since
    /// boot.
    fn write_ended(&mut self, run: &mut Run<'_>, until: Option<f64>) {
        let mut ended = std::mem::take(&mut self.ended);
        while let Some(mut process) = ended.pop() {
            if until.is_some_and(|until| clock::since_boot() > until) {
                self.folder
                    .note("there was not enough time for the rows of all processes".to_owned());
                return;
            }
            let left = ended.len() + self.count_living() + 1;
            self.write_last(run, &mut process, left);
            run.session.drain(DRAIN);
            if !run.session.poll() && until.is_none() {
                // The other processes follow in the summary.
                self.ended = ended;
                return;
            }
        }
    }

    /// Writes the last rows of a process. `left` is the number of processes that still need room in
    /// the log, including this one.
    fn write_last(&mut self, run: &mut Run<'_>, process: &mut Recorded, left: usize) {
        let room = run.session.log.budget().room() / float(left as u64);
        let cost = float(CALL_BYTES as u64);
        // The cast turns a negative number into 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = ((room / cost) as usize).min(MAX_LAST);
        let has_ended = process.observed.has_ended;
        let written = process.write(run, &mut self.folder, has_ended, most);
        self.totals.processes += u64::from(written.is_some());
        self.totals.add(written);
    }
}

impl Recorded {
    /// Writes the rows of the process, and of at most `most` calls that have none yet. Returns the
    /// header of its memory, and the number of these calls.
    fn write(
        &mut self,
        run: &mut Run<'_>,
        folder: &mut Folder,
        has_ended: bool,
        most: usize,
    ) -> Option<(Head, u64)> {
        let head = self.observed.memory().and_then(memory::read_head)?;
        let dump = if head.copies == self.copies {
            Dump::default()
        } else {
            self.read_dump(folder)
        };
        let time = run.processes.time.precise_timestamp();
        let rows = TorchRows {
            time: &time,
            pid: self.observed.pid,
            tail: &self.observed.tail,
            has_ended,
            head: &head,
        };
        let calls = self.new_calls(&dump, most);
        let log = &mut run.session.log;
        let others = std::iter::once(rows.process()).chain(rows.groups(&dump));
        for row in others.chain(calls.iter().map(|call| rows.collective(call))) {
            log.line().extend_from_slice(&row);
            log.end_line();
        }
        log.flush();
        let (count, last) = (calls.len() as u64, calls.last().map(|call| call.called));
        self.copies = head.copies;
        self.written = last.unwrap_or(self.written);
        Some((head, count))
    }

    /// Reads the last copy; empty if it is not as expected, with a notice.
    fn read_dump(&self, folder: &mut Folder) -> Dump {
        let copy = self.observed.memory().and_then(memory::read);
        let dump = copy.map(|(_, text)| dump::parse(&text));
        if matches!(dump, Some(None)) {
            let Observed { pid, program, .. } = &self.observed;
            folder.note(format!(
                "the flight recorder of process {pid} ({program}) is not as expected"
            ));
        }
        dump.flatten().unwrap_or_default()
    }
}
