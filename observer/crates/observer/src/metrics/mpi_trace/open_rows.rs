//! The rows about the calls in which the processes are now. src/catalog/mpi-trace.yaml describes
//! their columns.

use std::cmp::Reverse;

use encode::json::{push_known, push_text};

use super::file::Place;
use super::open_calls::{Begun, OpenCalls, OpenThread};
use super::rows::{Identity, MICRO, MICROSECOND, communicator_name, peer_name, some};
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals};

/// The rows of threads.
pub const OPEN: Section = Section {
    name: "open",
    columns: &[
        "container",
        "program",
        "pid",
        "mpi_rank",
        "mpi_size",
        "job",
        "thread",
        "call",
        "communicator",
        "number",
        "mpi_peer",
        "transfer",
        "since",
        "elapsed",
        "longest_gap",
        "waited",
        "process_state",
        "cpu_time",
    ],
};

/// The rows of communicators.
pub const PROGRESS: Section = Section {
    name: "progress",
    columns: &[
        "container",
        "program",
        "pid",
        "mpi_rank",
        "communicator",
        "size",
        "begun",
        "begun_largest",
    ],
};

/// The communicators whose calls are exported: those with the most members.
const MAX_LARGEST: usize = 3;
/// The maximum threads of a process, and the maximum communicators, that have rows at a timepoint.
const MAX_OPEN: usize = 8;
const MAX_COMMUNICATORS: usize = 32;

/// A process of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The number of processes of `MPI_COMM_WORLD`.
    pub size: u32,
    /// The identifier of the job, or an empty text.
    pub job: String,
}

/// The rows of a process.
pub struct OpenRows<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// What the process is doing.
    pub calls: &'a OpenCalls,
    /// The process id in the PID namespace of the pod.
    pub pid: u32,
    /// The rank of the process, its `MPI_COMM_WORLD` and its job.
    pub member: &'a Member,
    /// The time since `MPI_Init`, in nanoseconds.
    pub elapsed: u64,
    /// The state of the process, as [`process_state`] names it.
    pub state: &'static str,
    /// The processor time of the process in microseconds, if it is known.
    pub cpu: Option<u64>,
    /// The end of each row.
    pub tail: &'a [u8],
}

impl OpenRows<'_> {
    /// Returns a row for each thread that is in a call; those that are in it for the longest time
    /// are first. If no thread is, returns a row of the last one that was. A process whose threads
    /// are not all known has only rows of calls.
    pub fn threads(&self) -> Vec<Vec<u8>> {
        let all = &self.calls.threads;
        let mut open: Vec<&OpenThread> = all.iter().filter(|one| one.call.is_some()).collect();
        open.sort_by_key(|thread| (thread.since, thread.tid));
        open.truncate(MAX_OPEN);
        if open.is_empty() && !self.calls.is_incomplete {
            // A thread whose time is not known was in a call just now.
            let last = |thread: &&OpenThread| thread.since.map_or((true, 0), |time| (false, time));
            return vec![self.thread(all.iter().max_by_key(last), Some(0))];
        }
        let row = |(at, one): (usize, &OpenThread)| {
            let since = one.since.unwrap_or(self.elapsed);
            let waited = (at == 0).then(|| self.elapsed.saturating_sub(since));
            self.thread(Some(one), waited)
        };
        open.into_iter().enumerate().map(row).collect()
    }

    /// Returns the row of a thread. `waited` is how long it has been in its call, in nanoseconds.
    fn thread(&self, thread: Option<&OpenThread>, waited: Option<u64>) -> Vec<u8> {
        let mut out = Vec::new();
        let call = thread.and_then(|thread| thread.call.as_ref());
        let name = call.map(|call| format!("MPI_{}", call.name));
        let place = call.map(|call| self.name(call.place));
        let peer = call.map(|call| peer_name(call.peer));
        let transfer = call.and_then(|call| match call.transfer {
            (true, false) => Some("send"),
            (false, true) => Some("receive"),
            (true, true) => Some("both"),
            (false, false) => None,
        });
        // A process that has not called MPI yet has been outside of MPI since MPI_Init.
        let since = thread.map_or(Some(0), |thread| thread.since);
        let since = since.unwrap_or(self.elapsed).min(self.elapsed);
        self.begin(&mut out, &OPEN);
        let Member { size, job, .. } = self.member;
        push_known(&mut out, "mpi_size", Some(u64::from(*size)));
        push_text(&mut out, "job", some(job));
        push_known(&mut out, "thread", thread.map(|one| u64::from(one.tid)));
        push_text(&mut out, "call", name.as_deref());
        push_text(&mut out, "communicator", place.as_deref());
        push_known(&mut out, "number", call.and_then(|call| call.number));
        push_text(&mut out, "mpi_peer", peer.as_deref());
        push_text(&mut out, "transfer", transfer);
        let gap = self.calls.longest_gap;
        for (key, time) in [
            ("since", since),
            ("elapsed", self.elapsed),
            ("longest_gap", gap),
        ] {
            push_decimals(&mut out, key, Some(time / MICROSECOND), MICRO);
        }
        let waited = waited.map(|waited| waited / MICROSECOND);
        push_decimals(&mut out, "waited", waited, MICRO);
        push_text(&mut out, "process_state", Some(self.state));
        push_decimals(&mut out, "cpu_time", self.cpu, MICRO);
        out.extend_from_slice(self.tail);
        out
    }

    /// Returns the rows of the communicators with several members that were not freed: those with
    /// the most calls.
    pub fn communicators(&self) -> Vec<Vec<u8>> {
        let all = self.calls.communicators.iter().enumerate();
        let mut chosen: Vec<(usize, &Begun)> = all
            .filter(|(_, one)| !one.is_freed && size_of(one) > 1)
            .collect();
        chosen.sort_by_key(|(at, one)| (Reverse(one.collectives), *at));
        chosen.truncate(MAX_COMMUNICATORS);
        let mut largest: Vec<(usize, &Begun)> = chosen.clone();
        largest.sort_by_key(|(at, one)| (Reverse(size_of(one)), *at));
        largest.truncate(MAX_LARGEST);
        let row = |(at, one): (usize, &Begun)| {
            let mut out = Vec::new();
            self.begin(&mut out, &PROGRESS);
            let name = self.name(Place::Communicator(at));
            push_text(&mut out, "communicator", Some(&name));
            push_known(&mut out, "size", Some(size_of(one)));
            push_known(&mut out, "begun", Some(one.collectives));
            let is_large = largest.iter().any(|(other, _)| *other == at);
            let begun = Some(one.collectives).filter(|_| is_large);
            push_known(&mut out, "begun_largest", begun);
            out.extend_from_slice(self.tail);
            out
        };
        chosen.into_iter().map(row).collect()
    }

    fn begin(&self, out: &mut Vec<u8>, section: &Section) {
        begin(out, self.time, section);
        push_known(out, "pid", Some(u64::from(self.pid)));
        push_known(out, "mpi_rank", Some(u64::from(self.member.rank)));
    }

    fn name(&self, place: Place) -> String {
        communicator_name(place, |at| {
            self.calls.communicators.get(at).map(|one| Identity {
                members: one.members,
                size: size_of(one),
                ordinal: one.ordinal,
            })
        })
    }
}

/// Returns the number of members of both groups.
fn size_of(communicator: &Begun) -> u64 {
    u64::from(communicator.size) + u64::from(communicator.remote_size)
}

/// Returns the name of the state of a process, which is a letter (proc(5), /proc/pid/stat).
pub fn process_state(letter: u8) -> &'static str {
    match letter {
        b'R' => "running",
        b'D' => "disk",
        b'T' | b't' => "stopped",
        b'Z' | b'X' => "ended",
        _ => "sleeping",
    }
}

#[cfg(test)]
mod tests {
    use super::super::open_calls::{read, tests::example};
    use super::*;
    use crate::sampling::json_rows::columns_of;

    static MEMBER: Member = Member {
        rank: 2,
        size: 4,
        job: String::new(),
    };

    fn rows(calls: &OpenCalls) -> OpenRows<'_> {
        OpenRows {
            time: "T",
            calls,
            pid: 7,
            member: &MEMBER,
            elapsed: 12_500_000_000,
            state: process_state(b'T'),
            cpu: Some(1_500_000),
            tail: b",\"container\":\"app\",\"program\":\"lmp\"}",
        }
    }

    fn parsed(line: &[u8]) -> serde_json::Value {
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn the_rows_have_the_declared_columns() {
        let calls = read(example().as_slice()).unwrap();
        let rows = rows(&calls);
        assert_eq!(columns_of(&rows.threads()[0]), OPEN.sorted_columns());
        assert_eq!(
            columns_of(&rows.communicators()[0]),
            PROGRESS.sorted_columns()
        );
    }

    #[test]
    fn the_row_of_a_thread_has_its_open_call() {
        let calls = read(example().as_slice()).unwrap();
        let row = parsed(&rows(&calls).threads()[0]);
        assert_eq!(
            (&row["call"], &row["communicator"]),
            (&"MPI_Barrier".into(), &"world".into())
        );
        assert_eq!(
            (&row["number"], &row["mpi_peer"]),
            (&9.into(), &"none".into())
        );
        assert_eq!(
            (&row["since"], &row["elapsed"], &row["waited"]),
            (&1.0.into(), &12.5.into(), &11.5.into())
        );
        assert_eq!(
            (&row["process_state"], &row["cpu_time"]),
            (&"stopped".into(), &1.5.into())
        );
    }

    #[test]
    fn a_process_without_an_open_call_has_one_row() {
        let mut calls = read(example().as_slice()).unwrap();
        calls.threads[0].call = None;
        let row = parsed(&rows(&calls).threads()[0]);
        assert_eq!(
            (&row["call"], &row["since"], &row["waited"]),
            (&serde_json::Value::Null, &1.0.into(), &0.0.into())
        );
        calls.threads.clear();
        let row = parsed(&rows(&calls).threads()[0]);
        assert_eq!(
            (&row["thread"], &row["since"]),
            (&serde_json::Value::Null, &0.0.into())
        );
        calls.is_incomplete = true;
        assert!(rows(&calls).threads().is_empty());
    }

    #[test]
    fn only_the_thread_that_waits_longest_has_its_time() {
        let mut calls = read(example().as_slice()).unwrap();
        calls.threads.push(OpenThread {
            tid: 79,
            since: Some(500_000_000),
            ..calls.threads[0].clone()
        });
        let rows = rows(&calls).threads();
        let [first, second] = [parsed(&rows[0]), parsed(&rows[1])];
        assert_eq!(
            (&first["thread"], &first["waited"]),
            (&79.into(), &12.0.into())
        );
        assert!(second["waited"].is_null());
    }

    #[test]
    fn the_largest_communicators_have_a_number_of_their_own() {
        let mut calls = read(example().as_slice()).unwrap();
        let world = calls.communicators[0];
        calls.communicators = [8, 2, 4, 6].map(|size| Begun { size, ..world }).to_vec();
        let rows = rows(&calls).communicators();
        let is_large = |row: &Vec<u8>| !parsed(row)["begun_largest"].is_null();
        let large: Vec<bool> = rows.iter().map(is_large).collect();
        assert_eq!(large, [true, false, true, true]);
    }

    #[test]
    fn communicators_that_were_freed_or_have_one_member_have_no_row() {
        let mut calls = read(example().as_slice()).unwrap();
        calls.communicators[0].is_freed = true;
        assert!(rows(&calls).communicators().is_empty());
        calls.communicators[0].is_freed = false;
        calls.communicators[0].size = 1;
        assert!(rows(&calls).communicators().is_empty());
    }
}
