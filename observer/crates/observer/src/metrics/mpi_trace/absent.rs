//! The processes to which the launcher of an MPI job has given a rank, and that have not called
//! `MPI_Init` yet. All others of the job wait for them there.

use std::collections::BTreeMap;
use std::time::Duration;

use linux::clock;

use super::launcher::{Assigned, started_at};
use super::shared_memory::state_of;
use super::start_rows::StartRow;
use crate::runtime::log::Log;
use crate::sampling::environ::Environs;
use crate::sampling::process::Key;
use crate::sampling::process_table::ProcessTable;

/// A rank that has called `MPI_Init`.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The job and the rank.
    pub assigned: Assigned,
    /// When it did, in nanoseconds since boot.
    pub began: u64,
    /// Whether its process has ended.
    pub is_done: bool,
}

/// A process that has not called `MPI_Init`.
struct AbsentProcess {
    pid: u32,
    /// The end of its rows.
    tail: Box<[u8]>,
}

/// The ranks that have not called `MPI_Init`.
#[derive(Default)]
pub struct Absent {
    /// The ranks that launchers have assigned to processes.
    assigned: Environs<Assigned>,
    /// The ranks with a row at the last timepoint, each with the process of its row.
    shown: BTreeMap<Assigned, AbsentProcess>,
}

impl Absent {
    /// Writes a row for each rank that has not called `MPI_Init`, and one for each such rank whose
    /// processes have ended since the last timepoint. If a rank has several processes, such as a
    /// shell and what it starts, the row is about the one that started last.
    pub fn write(&mut self, table: &mut ProcessTable, entered: &[Entered], log: &mut Log) {
        self.assigned.update(table, Assigned::parse);
        let time = table.time.precise_timestamp();
        let mut shown = BTreeMap::new();
        for (assigned, key) in self.latest(table, entered) {
            let Some(process) = table.all.get(&key) else {
                continue;
            };
            let shown_process = AbsentProcess {
                pid: process.pid.unsigned_abs(),
                tail: process.tail.clone(),
            };
            let age = clock::since_boot() - started_at(process, &table.meter.machine);
            let age = Duration::try_from_secs_f64(age).unwrap_or_default();
            let state = state_of(&mut table.meter, shown_process.pid);
            row(&time, &assigned, &shown_process, age, state).write(log);
            shown.insert(assigned, shown_process);
        }
        for (assigned, process) in std::mem::take(&mut self.shown) {
            let has_entered = entered.iter().any(|one| one.assigned == assigned);
            if !has_entered && !shown.contains_key(&assigned) {
                let ended = ("ended", None);
                row(&time, &assigned, &process, Duration::ZERO, ended).write(log);
            }
        }
        self.shown = shown;
    }

    /// Returns the ranks that have not called `MPI_Init`, each with the process that started last.
    fn latest(&self, table: &ProcessTable, entered: &[Entered]) -> BTreeMap<Assigned, Key> {
        let start = |key: &Key| table.all.get(key).map(|one| (one.start, one.pid));
        let mut latest: BTreeMap<Assigned, Key> = BTreeMap::new();
        for key in &table.observed {
            let Some(assigned) = self.assigned.get(key) else {
                continue;
            };
            let known = latest.entry(assigned.clone()).or_insert(*key);
            if start(key) > start(known) {
                *known = *key;
            }
        }
        let machine = &table.meter.machine;
        latest.retain(|assigned, key| {
            let process = table.all.get(key);
            let start = process.map_or(0.0, |process| started_at(process, machine));
            !entered.iter().any(|one| is_same(one, assigned, start))
        });
        latest
    }
}

/// Whether a rank has called `MPI_Init`. `start` is when its process started. Without an identifier
/// of the job, an earlier job in the same pod has the same ranks.
fn is_same(one: &Entered, assigned: &Assigned, start: f64) -> bool {
    let Entered {
        assigned: known,
        began,
        is_done,
    } = one;
    known.rank == assigned.rank
        && known.job == assigned.job
        && (!is_done || !known.job.is_empty() || start <= encode::number::float(*began) / 1e9)
}

fn row<'a>(
    time: &'a str,
    assigned: &'a Assigned,
    process: &'a AbsentProcess,
    age: Duration,
    (state, cpu): (&'a str, Option<u64>),
) -> StartRow<'a> {
    StartRow {
        time,
        pid: process.pid,
        assigned,
        call: None,
        microseconds: u64::try_from(age.as_micros()).unwrap_or(0),
        state,
        cpu,
        tail: &process.tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(job: &str, is_done: bool) -> Entered {
        Entered {
            assigned: rank(job),
            began: 5_000_000_000,
            is_done,
        }
    }

    fn rank(job: &str) -> Assigned {
        Assigned {
            job: job.to_owned(),
            size: 2,
            rank: Some(1),
        }
    }

    #[test]
    fn a_rank_of_a_later_job_has_not_called_mpi_init() {
        assert!(is_same(&entered("", false), &rank(""), 6.0));
        assert!(is_same(&entered("", true), &rank(""), 4.0));
        assert!(!is_same(&entered("", true), &rank(""), 6.0));
    }

    #[test]
    fn the_rank_of_a_job_with_an_identifier_calls_mpi_init_once() {
        assert!(is_same(&entered("1.1", true), &rank("1.1"), 6.0));
        assert!(!is_same(&entered("1.1", true), &rank("1.2"), 4.0));
    }
}
