//! The rows about the calls in which the processes are now.

use std::cmp::Reverse;

use super::file::Place;
use super::open_calls::{Begun, OpenCalls, OpenThread};
use super::rows::{Identity, communicator_name, peer_name, some};
use crate::sampling::row::{millionths, nanoseconds, number, row, text};

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

    row! {
        /// at each timepoint, the calls of MPI in which the threads of each process are, at most
        /// eight; a row without a call if no thread is in one
        pub OPEN: "open" of "process";
        /// Returns the row of a thread. `waited` is how long it has been in its call, in
        /// nanoseconds.
        fn thread(&self, thread: Option<&OpenThread>, waited: Option<u64>)
        for process(self.time, u64::from(self.pid), self.tail) {
            let call = thread.and_then(|thread| thread.call.as_ref());
            /// the rank of the process in MPI_COMM_WORLD
            mpi_rank: number(u64::from(self.member.rank)) => key().not_summed();
            /// the number of processes of MPI_COMM_WORLD
            mpi_size: number(u64::from(self.member.size)) => gauge("count").not_exported();
            /// the identifier of the job, as in the section rank
            job: text(some(&self.member.job));
            /// the id of the thread, as the process sees it; null if the process has not called MPI
            /// since MPI_Init
            thread: number(thread.map(|one| u64::from(one.tid))) => key();
            /// the function, such as MPI_Allreduce; null if the thread is in none
            call: text(call.map(|call| format!("MPI_{}", call.name)).as_deref());
            /// the communicator of the call, as in the section communicator; none or other as in
            /// the section call
            communicator: text(call.map(|call| self.name(call.place)).as_deref());
            /// the number of a collective call on its communicator, from 1; null for other calls
            number: number(call.and_then(|call| call.number)) => gauge("count").not_exported();
            /// the rank of the other process, or of the root, in MPI_COMM_WORLD, as in the section
            /// call
            mpi_peer: text(call.map(|call| peer_name(call.peer)).as_deref());
            /// for what a call of point-to-point communication waits: send, receive, or both
            transfer: text(call.and_then(|call| match call.transfer {
                (true, false) => Some("send"),
                (false, true) => Some("receive"),
                (true, true) => Some("both"),
                (false, false) => None,
            }));
            // A process that has not called MPI yet has been outside of MPI since MPI_Init.
            let since = thread.map_or(Some(0), |thread| thread.since);
            /// when the call began, or when the last call ended, as time since the end of MPI_Init
            since: nanoseconds(since.unwrap_or(self.elapsed).min(self.elapsed))
                => gauge("s").not_exported();
            /// time since the end of MPI_Init
            elapsed: nanoseconds(self.elapsed) => counter("s").not_exported();
            /// the longest time from MPI_Init or the end of a collective call to the beginning of
            /// the next one
            longest_gap: nanoseconds(self.calls.longest_gap) => gauge("s").not_exported();
            /// time since the call of the thread began that has been in its call for the longest
            /// time, or 0 if no thread is in one; null for other threads
            waited: nanoseconds(waited) => gauge("s").title("Time in the open call");
            /// the state of the process: running, sleeping, disk (waiting for storage), stopped, or
            /// ended
            process_state: text(self.state);
            /// CPU seconds, summed over threads
            cpu_time: millionths(self.cpu) => counter("s").not_exported();
        }
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
            let is_large = largest.iter().any(|(other, _)| *other == at);
            self.communicator(at, one, is_large)
        };
        chosen.into_iter().map(row).collect()
    }

    row! {
        /// at each timepoint, the communicators of each process with the most collective calls, at
        /// most 32
        pub PROGRESS: "progress" of "process";
        /// Returns the row of a communicator.
        fn communicator(&self, at: usize, one: &Begun, is_large: bool)
        for process(self.time, u64::from(self.pid), self.tail) {
            /// the rank of the process in MPI_COMM_WORLD
            mpi_rank: number(u64::from(self.member.rank)) => key().not_summed();
            /// the communicator, as in the section communicator
            communicator: text(&*self.name(Place::Communicator(at))) => key();
            /// the number of members
            size: number(size_of(one)) => gauge("count").not_exported();
            /// collective calls on the communicator that the process has begun, of all kinds
            begun: number(one.collectives) => counter("count").not_exported();
            /// the same as begun, for the three communicators with the most members; null for
            /// others
            begun_largest: number(Some(one.collectives).filter(|_| is_large))
                => counter("count").title("Collective calls begun");
        }
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
