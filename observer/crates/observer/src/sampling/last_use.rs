//! Reads the last counters of processes that no observed process waits for.
//!
//! When a process ends, its parent gets its processor time and its I/O as those of a child. The
//! first process of a container has its parent outside of the pod, and the parent of a process may
//! not be observed. The use of such a process after the last scan would be lost, which is most of
//! the run of a short job. Therefore their `stat` files stay open, and are read ten times a second
//! at first and once a second later, without a row. A process descriptor (`pidfd_open(2)`) reports
//! the end of the process: the process is then a zombie, whose counters are complete until its
//! parent has waited for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

use encode::number::float;
use linux::clock;
use linux::proc::files::Task;
use linux::proc::io::{self, Io};
use linux::proc::stat;
use nix::errno::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::runtime::cost_limit::CostLimit;
use crate::runtime::session::Session;
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::Meter;
use crate::sampling::process::{Key, Process};

/// The maximum number of processes whose files stay open. The limit of open files of a container
/// is usually at least 1,024.
const MAX_PROCESSES: usize = 128;
/// The maximum bytes of a stat, which has at most 52 numbers and a name of 15 bytes, or of an io.
const MAX_BYTES: usize = 2048;
/// The seconds between two readings, as a part of the age of the youngest process, and the minimum
/// and the maximum in seconds. The use that is lost at the end of a process is therefore at most
/// this part of its time, or that of the minimum.
const PART_OF_AGE: f64 = 0.02;
const MIN_INTERVAL: f64 = 0.1;
const MAX_INTERVAL: f64 = 1.0;
/// The seconds between two readings if they have used too much processor time.
const LONG_INTERVAL: f64 = 2.0;

/// The processes whose files stay open.
pub struct LastUse {
    kept: Vec<Kept>,
    /// The limit of the processor time for the readings.
    cost: CostLimit,
    /// When the next reading is due, in seconds since boot.
    due: f64,
}

struct Kept {
    key: Key,
    /// When the process started, in ticks since boot.
    start: u64,
    stat: File,
    /// The `io` file. It cannot be opened after the process has ended.
    io: Option<File>,
    /// Becomes readable when the process ends. `None` before Linux 5.3, or if it is not allowed.
    end: Option<OwnedFd>,
}

/// Which of the kept processes have ended since the last reading.
#[derive(Debug, Default)]
pub struct Ended {
    /// The containers of the processes that have ended.
    pub containers: Vec<ContainerId>,
    /// Whether one of them has ended that had no parent in the pod, such as the first process of a
    /// container.
    pub has_first: bool,
}

impl LastUse {
    /// Creates the list for a run that began at the time `began`, in seconds since boot.
    pub fn new(began: f64) -> Self {
        Self {
            kept: Vec::new(),
            cost: CostLimit::new(began),
            due: 0.0,
        }
    }

    /// Keeps the files of a process open, if there is room.
    pub fn keep(&mut self, key: Key, process: &mut Process, meter: &mut Meter) {
        if self.kept.len() >= MAX_PROCESSES {
            return;
        }
        let task = Task::Process(process.pid);
        let Ok(stat) = meter.files.open_file(task, "stat") else {
            return;
        };
        let io = process.measured.as_mut().and_then(|measured| {
            let (file, _guard) =
                meter.with_access(&mut measured.io_access, measured.identity, |meter| {
                    meter.files.open_file(Task::Process(process.file_id), "io")
                });
            file.ok()
        });
        let end =
            Pid::from_raw(process.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.kept.push(Kept {
            key,
            start: process.start,
            stat,
            io,
            end,
        });
    }

    /// Whether the files of a process stay open.
    pub fn has(&self, key: Key) -> bool {
        self.kept.iter().any(|kept| kept.key == key)
    }

    /// The descriptors that become readable when a process ends.
    pub fn ends(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.kept
            .iter()
            .filter_map(|kept| kept.end.as_ref().map(AsFd::as_fd))
    }

    /// When the next reading is due, in seconds since boot; infinity without processes.
    pub fn due(&self) -> f64 {
        if self.kept.is_empty() {
            f64::INFINITY
        } else {
            self.due
        }
    }

    /// Reads the counters of all kept processes of a table. Forgets the processes that have ended,
    /// and returns which have.
    pub fn read(
        &mut self,
        all: &mut BTreeMap<Key, Process>,
        meter: &mut Meter,
        session: &mut Session,
    ) -> Ended {
        let cpu = clock::own_cpu();
        let mut ended = Ended::default();
        self.kept.retain(|kept| {
            let Some(process) = all.get_mut(&kept.key) else {
                return false;
            };
            let is_alive = kept.read(process, meter, session);
            if !is_alive {
                ended.containers.extend(process.container);
            }
            ended.has_first |= !is_alive && process.parent.is_none();
            is_alive
        });
        self.cost.count(clock::own_cpu() - cpu);
        let now = clock::since_boot();
        let is_cheap = self.cost.allows_more(now);
        self.due = if is_cheap {
            now + self.interval(now, meter.machine.ticks)
        } else {
            now + LONG_INTERVAL
        };
        ended
    }

    /// Counts processor time that was used for readings at the same time, in seconds.
    pub fn count_cost(&mut self, seconds: f64) {
        self.cost.count(seconds);
    }

    /// Postpones the next reading after a scan, which has read the same counters at the time
    /// `scanned`, in seconds since boot. A machine has `ticks` clock ticks per second.
    pub fn postpone(&mut self, scanned: f64, ticks: f64) {
        self.due = self.due.max(scanned + self.interval(scanned, ticks));
    }

    /// Returns the seconds from a reading at the time `now` until the next one.
    fn interval(&self, now: f64, ticks: f64) -> f64 {
        let starts = self.kept.iter().map(|kept| float(kept.start) / ticks);
        interval_of(now - starts.fold(f64::NEG_INFINITY, f64::max))
    }
}

/// Returns the seconds between two readings if the youngest process is `age` seconds old.
fn interval_of(age: f64) -> f64 {
    (age * PART_OF_AGE).clamp(MIN_INTERVAL, MAX_INTERVAL)
}

impl Kept {
    /// Reads the counters of the process. Returns whether it lives. After its parent has waited for
    /// it, its files cannot be read any more.
    fn read(&self, process: &mut Process, meter: &mut Meter, session: &mut Session) -> bool {
        let mut text = [0; MAX_BYTES];
        let read = self.stat.read_at(&mut text, 0);
        let Some(stat) = read.ok().and_then(|length| stat::parse(&text[..length])) else {
            return false;
        };
        let Some(measured) = &mut process.measured else {
            return false;
        };
        if stat.start != self.start {
            return false;
        }
        measured.now.stat = stat.counters;
        if stat.state != b'Z' || stat.gauges.threads > 1 {
            return true;
        }
        let whole = self.io.as_ref().and_then(|file| {
            let (found, _guard) =
                meter.with_access(&mut measured.io_access, measured.identity, |_| {
                    read_io(file)
                });
            found.ok()
        });
        meter.measure_end(process, whole, session);
        false
    }
}

fn read_io(file: &File) -> Result<Io, Errno> {
    let mut text = [0; MAX_BYTES];
    let length = file
        .read_at(&mut text, 0)
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    io::parse(&text[..length]).ok_or(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_process_is_read_less_often_than_a_young_one() {
        for (age, expected) in [
            (-0.01, 0.1),
            (0.0, 0.1),
            (5.0, 0.1),
            (20.0, 0.4),
            (50.0, 1.0),
            (1e9, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert!((interval_of(age) - expected).abs() < 1e-9, "{age}");
        }
    }
}
