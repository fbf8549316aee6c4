//! The metric python-profile: the Python stacks of the application's processes. A sampler, which is
//! loaded into the processes (observer/python), counts the stacks in memory that it shares with
//! this observer. The observer writes rows from that memory, also when the process was killed.
//!
//! Any process of the target can write anything into the memory. The reader therefore has bounded
//! memory and time, and a fuzz target.

pub mod memory;
pub mod rows;
mod share;
pub mod tally;

use encode::json::push_known;
use encode::number::float;
use linux::clock;

use self::memory::{LINK, Profile};
use self::rows::ProfileRows;
use self::share::{Early, LAST_BYTES, Room};
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

/// The estimated bytes of the rows of a process at a timepoint.
const ROW_BYTES: usize = 4096;
const NANOSECONDS: f64 = 1e9;
/// The maximum bytes of the rows of functions of a process, and of its stacks.
const MAX_ROWS: f64 = 1_048_576.0;

/// The memory of the sampler, which a process has from its start on.
pub static KIND: Kind = Kind {
    link: LINK,
    is_of: |file, pid| memory::is_of(file, pid),
    max_pause: 60.0,
};

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "python-profile",
        description: "time of the application's Python processes by function and line and by stack, running and waiting",
        help: "time of the application's Python processes by function and line and by stack, from the samples that a thread in these processes takes",
        options: &[
            MetricOption::Rate,
            MetricOption::Frequency,
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
    sections: &[
        ProfileRows::PROCESS,
        ProfileRows::NOW,
        ProfileRows::FUNCTION,
        ProfileRows::STACK,
    ],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let profiler = PythonProfile {
        folder: Folder::open(&settings.folder),
        processes: ObservedProcesses::default(),
        beginning: None,
        totals: OfLastAttempt::default(),
    };
    sampler::run(profiler, settings, session);
}

struct PythonProfile {
    folder: Folder,
    processes: ObservedProcesses<()>,
    /// When the first process was observed.
    beginning: Option<Beginning>,
    totals: OfLastAttempt<Totals>,
}

/// The processes with last rows, their samples, and the time of all their threads in nanoseconds.
#[derive(Default)]
struct Totals {
    profiles: u64,
    samples: u64,
    time: u64,
}

/// When the first process was observed.
#[derive(Clone, Copy)]
struct Beginning {
    /// The time in seconds since boot.
    at: f64,
    /// The free bytes of the log.
    room: f64,
}

impl Sampler for PythonProfile {
    const INITIAL_ROW_BYTES: f64 = 4096.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        ROW_BYTES
    }

    /// The log must have room for the last rows of all processes.
    fn predict_bytes(&self, _processes: &ProcessTable) -> usize {
        self.processes.count() * (ROW_BYTES + LAST_BYTES)
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.beginning.get_or_insert_with(|| Beginning {
            at: run.processes.now,
            room: run.session.log.budget().room(),
        });
        if let Some(pid) = run.processes.first_observed() {
            let files = &mut run.processes.meter.files;
            self.folder.check_mounts(files, pid);
        }
        self.look_at_processes(run);
        self.write_ended(run, None);
        self.folder.write_notices(&mut run.session.log);
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        for key in keys {
            let Some((observed, profile)) = self.processes.get(key).and_then(|process| {
                let profile = process.memory().and_then(memory::read)?;
                Some((process, profile))
            }) else {
                continue;
            };
            let rows = ProfileRows {
                time: &time,
                pid: observed.pid,
                tail: &observed.tail,
                has_ended: false,
                profile: &profile,
            };
            let now = clock::boot_nanoseconds();
            let log = &mut run.session.log;
            for row in std::iter::once(rows.process()).chain(rows.now(now)) {
                log.line().extend_from_slice(&row);
                log.end_line();
            }
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        self.look_at_processes(run);
        let until = clock::since_boot() + MAX_END;
        self.processes.end(&mut run.processes);
        // The processes may have rows with the time of the last scan.
        run.processes.time = linux::clock::WallTime::now();
        self.write_ended(run, Some(until));
        self.totals.begin(run.processes.containers.target_attempt());
        let totals = self.totals.get();
        if totals.profiles == 0 && run.progress.has_started {
            let why = "none runs CPython, lived until the observer saw it, or could share its \
                       memory";
            let since = run.since_restart();
            self.folder
                .note(format!("{since}no process has a profile of Python: {why}"));
        }
        self.folder.write_notices(&mut run.session.log);
        let mut whole = run.begin_whole();
        push_known(&mut whole, "profiles", Some(totals.profiles));
        push_known(&mut whole, "samples", Some(totals.samples));
        nanoseconds(&mut whole, ",\"wall\":", totals.time);
        whole.push(b'}');
        vec![whole]
    }
}

impl PythonProfile {
    /// Looks for the memory of the observed processes, and separates those that have ended.
    fn look_at_processes(&mut self, run: &mut Run<'_>) {
        let (table, folder) = (&mut run.processes, &mut self.folder);
        self.processes
            .look(&KIND, "the Python stacks", table, folder);
    }

    /// Writes the last rows of the processes that have ended, at most until a time in seconds since
    /// boot.
    fn write_ended(&mut self, run: &mut Run<'_>, until: Option<f64>) {
        let early = until.is_none().then(|| Early {
            living: self.processes.count_living(),
            together: self.processes.count(),
        });
        let ended = self.processes.take_ended();
        let left = ended.write(run, until, |run, process, left| {
            self.write_last(run, process, left, early);
        });
        if until.is_none() {
            // They follow in the summary.
            self.processes.put_back(left);
        } else if !left.is_empty() {
            self.folder
                .note("there was not enough time for the rows of all profiles".to_owned());
        }
    }

    /// Writes the last rows of a process. `left` is the number of processes that still need room in
    /// the log, including this one; `early` is `None` at the end of the observer.
    fn write_last(
        &mut self,
        run: &mut Run<'_>,
        process: &Observed<()>,
        left: usize,
        early: Option<Early>,
    ) {
        let Some(profile) = process.memory().and_then(memory::read) else {
            return;
        };
        self.note_limits(process, &profile);
        let [all, _] = tally::totals(&profile);
        if let Some(totals) = self.totals.of(process.attempt) {
            totals.profiles += 1;
            totals.samples = totals.samples.saturating_add(profile.samples);
            totals.time = totals.time.saturating_add(all.time);
        }
        let Some(share) = self.share_of(run, &profile, left, early) else {
            let text = "the log has no room for the rows of all processes; see the option max-log";
            self.folder.note(text.to_owned());
            return;
        };
        let time = run.processes.time.precise_timestamp();
        let rows = ProfileRows {
            time: &time,
            pid: process.pid,
            tail: &process.tail,
            has_ended: process.has_ended,
            profile: &profile,
        };
        let log = &mut run.session.log;
        log.line().extend_from_slice(&rows.process());
        log.end_line();
        // The cast turns a negative number into 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes = (share / 3.0).min(MAX_ROWS) as usize;
        for row in rows.functions(bytes).iter().chain(&rows.stacks(bytes)) {
            log.line().extend_from_slice(row);
            log.end_line();
            log.flush();
        }
    }

    /// Returns the bytes for the last rows of a process; `None` if it gets none.
    fn share_of(
        &self,
        run: &Run<'_>,
        profile: &Profile,
        left: usize,
        early: Option<Early>,
    ) -> Option<f64> {
        let log = &run.session.log;
        if !log.has_room(float(ROW_BYTES as u64)) {
            return None;
        }
        let free = log.budget().room();
        let (at, whole) = self.beginning.map_or((0.0, free), |it| (it.at, it.room));
        let Some(early) = early else {
            return Some(share::even(free, left));
        };
        let room = Room {
            free,
            whole,
            left,
            early,
        };
        let part = float(profile.time) / NANOSECONDS / (run.processes.now - at);
        room.share(part.min(1.0))
    }

    /// Writes a notice if a profile lacks samples or threads.
    fn note_limits(&mut self, process: &Observed<()>, profile: &Profile) {
        let (pid, program) = (process.pid, &process.program);
        let mut note = |text: String| {
            self.folder
                .note(format!("process {pid} ({program}) {text}"));
        };
        if let Some(why) = profile.why_not_sampled() {
            note(format!("is not sampled: {why}"));
        }
        if profile.interpreters > 1 {
            note(
                "has several interpreters of Python, of which only the first is sampled".to_owned(),
            );
        }
        if profile.threads_left_out > 0 {
            let count = profile.threads_left_out;
            note(format!(
                "has too many threads of Python; {count} are not sampled"
            ));
        }
        if profile.cut > 0 {
            let count = profile.cut;
            note(format!(
                "has too many different stacks; {count} samples lack their innermost functions"
            ));
        }
        if profile.lacks_names {
            note(
                "has too many different functions and lines; those without room are (other)"
                    .to_owned(),
            );
        }
        if profile.missed > 0 {
            let seconds = float(profile.missed) / NANOSECONDS;
            note(format!(
                "was stopped, or its sampler had no processor, for {seconds:.1} s; no row has \
                 this time"
            ));
        }
    }
}
