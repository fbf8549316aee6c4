//! The command `stacks`: the stacks of the observed processes now, as JSON on standard output.
//! Another process than the observer runs it, in the container of the observer (`kubectl exec`).
//!
//! It asks the loader of cpu-profile in each process (observer/loader/stacks.h), and reads what the
//! sampler of python-profile has last seen, so it needs neither ptrace nor a capability. Where a
//! process has neither of them, or a thread cannot be asked, the output says why, and in which call
//! the thread sleeps.

pub mod answers;
pub mod asking;
pub mod output;
pub mod process;
pub mod python;
pub mod request;
pub mod resolve;
pub mod sleep;
pub mod thread;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::thread::{Builder, sleep};
use std::time::Duration;

use linux::clock;

use self::answers::Answers;
use self::process::{AskedProcess, has_sampler};
use self::python::PythonStacks;
use self::request::{Request, is_busy};
use self::resolve::Resolved;
use self::thread::{Activity, IN_TURNS, Stack};
use crate::metrics::world_rank::find_launchers;
use crate::runtime::budget::Budget;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::lifecycle::{UNREADABLE, prepare};
use crate::sampling::process_table::ProcessTable;

/// The maximum processes and threads that are looked at.
const MAX_PROCESSES: usize = 1024;
const MAX_THREADS: usize = 4096;
/// The maximum seconds until all threads have answered. A thread answers after 10 ms of processor
/// time, which can take longer if it seldom gets a processor.
const PATIENCE: f64 = 3.0;
/// The seconds to wait for the end of another request.
const PATIENCE_FOR_OTHER: f64 = 6.0;
/// The seconds between two looks, and the least multiple of the processor time of a look.
const PAUSE: f64 = 0.02;
const IDLE_FACTOR: f64 = 3.0;
/// The time after which the program ends, whatever it waits for, such as a file on a file system
/// whose server does not answer.
const MAX_TIME: Duration = Duration::from_secs(25);
/// The exit code if that happens.
const TIMED_OUT: i32 = 3;

/// Writes the stacks to standard output. With `has_threads`, those of all threads; otherwise those
/// of the first thread of each process.
///
/// # Errors
/// A sentence that says why there are no stacks.
pub fn run(mut settings: Settings, has_threads: bool) -> Result<(), String> {
    // Without a thread, only the caller ends a program that waits forever.
    let _ = Builder::new().spawn(|| {
        sleep(MAX_TIME);
        std::process::exit(TIMED_OUT);
    });
    let budget = Budget::new(settings.max_log);
    let mut session = Session::begin(budget, false).map_err(|error| error.desc().to_owned())?;
    let folder = settings.folder.path.clone();
    let mut table = prepare(&mut settings, false)?;
    if !table.scan(&mut session) {
        return Err(UNREADABLE.to_owned());
    }
    let (mut processes, left_out) = find_processes(&mut table, has_threads);
    ask(&mut table, &mut session, &mut processes, Path::new(&folder));
    for process in &mut processes {
        process.python = PythonStacks::read(&mut table, process.pid, has_sampler(process));
    }
    let resolved = Resolved::new(&mut processes, &mut table.meter);
    let ProcessTable {
        meter, containers, ..
    } = &mut table;
    let lines = output::lines(&processes, &resolved, containers, meter, left_out);
    let written = std::io::stdout().write_all(&lines);
    written.map_err(|error| format!("cannot write: {error}"))
}

fn find_processes(table: &mut ProcessTable, has_threads: bool) -> (Vec<AskedProcess>, usize) {
    let keys = table.observed.clone();
    let mut threads = 0;
    let mut left_out = 0;
    let mut processes = Vec::new();
    let mut local = BTreeSet::new();
    for key in keys {
        if processes.len() >= MAX_PROCESSES || threads >= MAX_THREADS {
            left_out += 1;
            continue;
        }
        let found = AskedProcess::find(table, key, has_threads);
        threads += found.as_ref().map_or(0, |process| process.threads.len());
        local.extend(found.iter().filter(|it| it.rank.is_local).map(|_| key));
        processes.extend(found);
    }
    let launchers = find_launchers(table, &local);
    let pid_of = |key| table.all.get(key).map(|process| process.pid);
    let launchers: BTreeSet<i32> = launchers.iter().filter_map(pid_of).collect();
    for process in &mut processes {
        if launchers.contains(&process.pid) {
            process.rank.given = None;
        }
    }
    (processes, left_out)
}

/// Asks the threads for their stacks, and looks at those that cannot be asked.
fn ask(
    table: &mut ProcessTable,
    session: &mut Session,
    processes: &mut [AskedProcess],
    folder: &Path,
) {
    let has_profiler = processes.iter().any(|process| process.why.is_none());
    let request = if has_profiler {
        begin(session, folder)
    } else {
        Err("no process has the tool of cpu-profile".to_owned())
    };
    let (_request, mut answers) = match request {
        Ok((request, answers)) => (Some(request), Some(answers)),
        Err(why) => {
            for process in processes.iter_mut() {
                process.asking.has_profiler = false;
                process.why.get_or_insert_with(|| why.clone());
            }
            (None, None)
        }
    };
    let until = clock::since_boot() + PATIENCE;
    loop {
        let cpu = clock::own_cpu();
        take_answers(processes, answers.as_mut());
        let is_done = look(table, processes);
        if is_done || clock::since_boot() > until {
            break;
        }
        let idle = (clock::own_cpu() - cpu) * IDLE_FACTOR;
        if !session.pause(idle.max(PAUSE)) {
            break;
        }
    }
    take_answers(processes, answers.as_mut());
    settle(processes);
}

fn begin(session: &mut Session, folder: &Path) -> Result<(Request, Answers), String> {
    let until = clock::since_boot() + PATIENCE_FOR_OTHER;
    loop {
        match Request::begin(folder) {
            Ok(begun) => return Ok(begun),
            Err(error) if is_busy(&error) && clock::since_boot() < until => {
                session.pause(PAUSE);
            }
            Err(error) if is_busy(&error) => {
                return Err("another request for stacks has not ended".to_owned());
            }
            Err(error) => {
                return Err(format!(
                    "the folder of the results of cpu-profile cannot be written: {error}"
                ));
            }
        }
    }
}

fn take_answers(processes: &mut [AskedProcess], answers: Option<&mut Answers>) {
    for answer in answers.map(Answers::read_new).unwrap_or_default() {
        let is_id = |id: i32, other: u32| u32::try_from(id).is_ok_and(|id| id == other);
        let mut asked = processes.iter_mut();
        let process = asked.find(|process| {
            process.timer == Some(answer.timer) && is_id(process.inner_pid, answer.process)
        });
        let thread = process.and_then(|process| {
            let mut threads = process.threads.iter_mut();
            threads.find(|thread| is_id(thread.inner_id, answer.thread))
        });
        if let Some(thread) = thread.filter(|thread| thread.stack.is_none()) {
            thread.stack = Some(Stack {
                addresses: answer.addresses,
                is_cut: answer.is_cut,
            });
        }
    }
}

/// Looks at all threads. Returns whether nothing more will be known of them.
fn look(table: &mut ProcessTable, processes: &mut [AskedProcess]) -> bool {
    let now = clock::since_boot();
    let mut is_done = true;
    for process in processes {
        // What a thread without the profiler does is known after one look.
        let is_asked = process.asking.has_profiler;
        for thread in &mut process.threads {
            if thread.is_settled() {
                continue;
            }
            thread.look(&mut table.meter, &mut process.asking, now);
            is_done &= thread.is_settled() || !is_asked;
        }
    }
    is_done
}

/// Gives a reason to the threads that have not answered in time.
fn settle(processes: &mut [AskedProcess]) {
    for thread in processes
        .iter_mut()
        .flat_map(|process| &mut process.threads)
    {
        if thread.stack.is_some() {
            continue;
        }
        thread.settle(match thread.activity {
            Activity::Runs => {
                "the thread has used too little processor time for a sample, or its tool is of an \
                 earlier release"
            }
            Activity::Sleeps => IN_TURNS,
            Activity::Blocked => "the thread waits in the kernel (state D)",
            Activity::Stopped | Activity::Ended => "the thread has ended",
        });
    }
}
