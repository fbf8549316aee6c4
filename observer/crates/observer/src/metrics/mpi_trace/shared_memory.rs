//! The memory that the recorder in a process shares with the observer, and the rows from it.

use std::fs::File;

use encode::number::float;
use linux::clock;
use linux::proc::files::Task;
use linux::proc::stat;

use super::launcher::Assigned;
use super::open_calls::{self, LINK, OpenCalls};
use super::open_rows::{Member, OpenRows, process_state};
use super::start_rows::StartRow;
use crate::runtime::log::Log;
use crate::sampling::measure::Meter;
use crate::sampling::process_table::ProcessTable;
use crate::tools::shared_memory::{self, Search};

/// The number of times that the memory is looked for. It exists before the file of the recorder has
/// its first rows.
const MAX_TRIES: u32 = 3;

/// The consequence if the memory cannot be read, at the end of a notice.
const CONSEQUENCE: &str = "; its calls have rows only when they have returned";

/// The memory of a process.
#[derive(Default)]
pub struct SharedMemory {
    file: Option<File>,
    tries: u32,
}

/// The process to whose rows the calls belong.
pub struct Owner<'a> {
    /// The process id in the PID namespace of the pod.
    pub pid: u32,
    /// The end of each row.
    pub tail: &'a [u8],
    /// Whether the process has ended.
    pub has_ended: bool,
}

impl Owner<'_> {
    /// Returns the state of the process, and its processor time in microseconds.
    fn state(&self, meter: &mut Meter) -> (&'static str, Option<u64>) {
        if self.has_ended {
            return ("ended", None);
        }
        state_of(meter, self.pid)
    }
}

impl SharedMemory {
    /// Opens the memory of a process, unless it is open. `own_pid` is the process id as the process
    /// sees it. Returns a notice if the memory cannot be opened.
    pub fn open(&mut self, table: &mut ProcessTable, pid: i32, own_pid: u32) -> Option<String> {
        if self.file.is_some() || self.tries >= MAX_TRIES {
            return None;
        }
        let is_of = |file: &File| open_calls::is_of(file, own_pid);
        let reason = match shared_memory::find(table, pid, LINK, is_of) {
            Search::Found(file) => {
                self.file = Some(file);
                return None;
            }
            Search::Unknown => return None,
            Search::Missing => {
                format!("it has closed its open files, or may have too few of them{CONSEQUENCE}")
            }
            Search::Denied { why, help } => format!("{why}{CONSEQUENCE}{help}"),
        };
        self.tries += 1;
        let mut all = table.all.values();
        let process = all.find(|process| process.pid == pid && !process.is_zombie);
        let program = process.and_then(|process| process.program.as_ref());
        let program = program.map_or(String::new(), |program| format!(" ({program})"));
        (self.tries == MAX_TRIES)
            .then(|| format!("the open calls of process {pid}{program} cannot be read: {reason}"))
    }

    /// Writes the row of a process that is in `MPI_Init`, or was when it ended.
    pub fn write_start(
        &self,
        (time, assigned): (&str, &Assigned),
        owner: &Owner<'_>,
        meter: &mut Meter,
        log: &mut Log,
    ) {
        let calls = self.file.as_ref().and_then(open_calls::read);
        let Some((call, since)) = calls.as_ref().and_then(OpenCalls::start) else {
            return;
        };
        let (state, cpu) = owner.state(meter);
        StartRow {
            time,
            pid: owner.pid,
            assigned,
            call: Some(call),
            microseconds: clock::boot_nanoseconds().saturating_sub(since) / 1000,
            state,
            cpu,
            tail: owner.tail,
        }
        .write(log);
    }

    /// Writes the rows of the calls in which the process is now, or was when it ended.
    pub fn write(
        &self,
        (time, member): (&str, &Member),
        owner: &Owner<'_>,
        meter: &mut Meter,
        log: &mut Log,
    ) {
        let Some(calls) = self.file.as_ref().and_then(open_calls::read) else {
            return;
        };
        let (state, cpu) = owner.state(meter);
        let rows = OpenRows {
            time,
            pid: owner.pid,
            member,
            elapsed: elapsed(&calls),
            state,
            cpu,
            tail: owner.tail,
            calls: &calls,
        };
        for row in rows.threads().into_iter().chain(rows.communicators()) {
            log.line().extend_from_slice(&row);
            log.end_line();
        }
    }
}

/// Returns the nanoseconds since `MPI_Init`.
fn elapsed(calls: &OpenCalls) -> u64 {
    clock::boot_nanoseconds().saturating_sub(calls.began)
}

/// Returns the state of a process, and its processor time in microseconds.
pub fn state_of(meter: &mut Meter, pid: u32) -> (&'static str, Option<u64>) {
    let ticks = meter.machine.ticks;
    let text = meter.files.read(Task::Process(pid.cast_signed()), "stat");
    let Some(stat) = text.ok().and_then(stat::parse) else {
        return ("ended", None);
    };
    let seconds = float(stat.counters.cpu()) / ticks;
    let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let microseconds = u64::try_from(duration.as_micros()).ok();
    (process_state(stat.state), microseconds)
}
