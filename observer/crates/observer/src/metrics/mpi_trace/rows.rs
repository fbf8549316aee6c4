//! The rows of the metric mpi-trace.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::file::{Communicator, Peer, Place, Row, State, Trace};
use crate::sampling::row::{nanoseconds, number, row, text, thousandths};

/// The maximum peers of a call in a communicator that have rows of their own.
const MAX_PEERS: usize = 32;
/// The maximum communicators whose blocks have rows, and the maximum rows of each.
const MAX_COMMUNICATORS: usize = 8;
const MAX_BLOCKS: usize = 64;

/// The rows of a process. All rows of a process end with its container and program.
pub struct ProcessRows<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// What the process has recorded.
    pub trace: &'a Trace,
    /// The process id in the PID namespace of the pod; `None` if not known.
    pub pid: Option<u32>,
    /// Whether the process has ended.
    pub has_ended: bool,
    /// The end of each row.
    pub tail: &'a [u8],
}

impl ProcessRows<'_> {
    row! {
        /// the processes that have called MPI_Init: at each timepoint, and at their end
        pub RANK: "rank" of "process", "Time in MPI";
        /// Returns the row of the process.
        pub fn rank(&self) for process(self.time, self.pid.map(u64::from), self.tail) {
            let trace = self.trace;
            ..MPI_RANK: push_rank(self.known_rank());
            /// the number of processes of MPI_COMM_WORLD
            mpi_size: number(u64::from(trace.size)) => gauge("count").title("MPI ranks");
            /// the version of the MPI library
            mpi_library: text(some(&trace.library));
            /// the identifier of the job, from PMIX_NAMESPACE, FLUX_JOB_ID, SLURM_JOB_ID or
            /// PMI_JOBID
            job: text(some(&trace.job));
            /// running; finalized, exited without MPI_Finalize, or aborted by MPI_Abort; lost if
            /// the process ended in another way
            state: text(state_name(trace.state, self.has_ended));
            /// time since the end of MPI_Init
            elapsed: nanoseconds(trace.elapsed) => counter("s").title("Time since MPI_Init");
            /// time in calls of MPI, of all threads
            mpi_seconds: nanoseconds(trace.time) => counter("s").title("In MPI");
            /// calls of MPI
            calls: number(trace.calls) => counter("count").title("Calls of MPI");
            /// bytes that the process has sent to others, put into their memory, or written to
            /// files, without receiving
            bytes: number(trace.bytes) => counter("bytes").title("Sent");
            /// time since MPI_Init in which threads that call MPI could run and waited for a
            /// processor, outside of calls
            wait_outside: nanoseconds(trace.waits.map(|waits| waits.outside))
                => counter("s").title("Waiting for a CPU, outside of MPI");
            /// the same in calls
            wait_in_mpi: nanoseconds(trace.waits.map(|waits| waits.in_calls))
                => counter("s").title("Waiting for a CPU, in MPI");
            /// time since MPI_Init in which these threads neither ran nor waited for a processor,
            /// outside of calls: they slept, or waited for storage or a device
            asleep_outside: nanoseconds(trace.waits.map(|waits| waits.asleep_outside))
                => counter("s").title("Asleep outside of MPI");
            /// the time in calls, without waiting for a processor, if all with the same function,
            /// communicator and peer had been as fast as the fastest sixteenth of them
            fast_seconds: nanoseconds(trace.fast_time)
                => gauge("s").title("In MPI, if all calls were fast");
        }
    }

    /// Returns the rows of the calls. Those with the most time are first.
    pub fn calls(&self) -> Vec<Vec<u8>> {
        let rows = merge_peers(&self.trace.rows);
        rows.iter().map(|row| self.call(row)).collect()
    }

    row! {
        /// the calls of MPI of each process by function, communicator and peer: at each timepoint
        /// the 16 with the most time, at its end all
        pub CALL: "call" of "process";
        /// Returns the row of a call.
        fn call(&self, row: &Row) for process(self.time, self.pid.map(u64::from), self.tail) {
            ..MPI_RANK: push_rank(self.known_rank());
            /// the name of the function, such as MPI_Allreduce
            call: text(&*format!("MPI_{}", row.call)) => key();
            /// the communicator, as in the section communicator; none if the call has none or
            /// several; other if there were too many
            communicator: text(&*self.name(row.place)) => key();
            /// the rank of the other process, or of the root, in MPI_COMM_WORLD; none if the call
            /// has none or several; other for all after the first 32
            mpi_peer: text(&*peer_name(row.peer)) => key();
            /// calls
            calls: number(row.calls) => counter("count");
            /// time in these calls
            mpi_seconds: nanoseconds(row.time) => counter("s");
            /// the longest call
            max_ms: thousandths(row.longest / 1000) => gauge("ms");
            /// bytes that these calls have sent, put or written
            bytes: number(row.bytes) => counter("bytes");
        }
    }

    /// Returns the rows of the communicators.
    pub fn communicators(&self) -> Vec<Vec<u8>> {
        let all = self.trace.communicators.iter().enumerate();
        all.map(|(at, communicator)| self.communicator(at, communicator))
            .collect()
    }

    row! {
        /// the communicators of each process, at its end
        pub COMMUNICATOR: "communicator" of "process";
        /// Returns the row of a communicator.
        fn communicator(&self, at: usize, communicator: &Communicator)
        for process(self.time, self.pid.map(u64::from), self.tail) {
            ..MPI_RANK: push_rank(self.known_rank());
            /// world, or SIZE-HASH-NUMBER: the size, a hash of the members, and how many earlier
            /// ones have the same members; jobs- before the size if the members belong to several
            /// jobs
            communicator: text(&*self.name(Place::Communicator(at))) => key();
            /// the number of members
            size: number(u64::from(communicator.size)) => gauge("count");
            /// calls that wait for all members, such as MPI_Barrier and MPI_Allreduce
            collectives: number(communicator.collectives) => counter("count");
            /// time in these calls
            mpi_seconds: nanoseconds(communicator.time) => counter("s");
        }
    }

    /// Returns the rows of the blocks of the communicators with the most collective calls. All
    /// members of a communicator have made the same number of these calls, so they choose the same
    /// communicators.
    pub fn blocks(&self) -> Vec<Vec<u8>> {
        let mut chosen: Vec<(usize, &Communicator)> =
            self.trace.communicators.iter().enumerate().collect();
        chosen.retain(|(_, communicator)| communicator.collectives > 0);
        chosen.sort_by_key(|(at, communicator)| (Reverse(communicator.collectives), *at));
        chosen.truncate(MAX_COMMUNICATORS);
        let rows = chosen.into_iter().flat_map(|(at, communicator)| {
            let name = self.name(Place::Communicator(at));
            let (width, blocks) = merge_blocks(communicator);
            let row = move |(at, time): (u64, u64)| {
                let first = at * width;
                let count = width.min(communicator.collectives - first);
                self.block(&name, first, count, time)
            };
            (0..).zip(blocks).map(row)
        });
        rows.collect()
    }

    row! {
        /// consecutive calls that wait for all members of a communicator, at the end of each
        /// process; blocks with the same first call are about the same calls in all processes
        pub BLOCK: "block" of "process";
        /// Returns the row of a block of calls.
        fn block(&self, communicator: &str, first: u64, count: u64, time: u64)
        for process(self.time, self.pid.map(u64::from), self.tail) {
            ..MPI_RANK: push_rank(self.known_rank());
            /// the communicator, as in the section communicator
            communicator: text(communicator) => key();
            /// the number of the first call of the block, from 0
            first: number(first) => key();
            /// calls in the block
            collectives: number(count) => gauge("count");
            /// time in these calls; the process with the least time came last, and the others
            /// waited for it
            mpi_seconds: nanoseconds(time) => gauge("s");
        }
    }

    /// Returns the rank; `None` if the MPI library is not known.
    fn known_rank(&self) -> Option<u32> {
        let trace = self.trace;
        trace.has_known_library.then_some(trace.rank)
    }

    fn name(&self, place: Place) -> String {
        let known = |at: usize| self.trace.communicators.get(at);
        communicator_name(place, |at| known(at).map(Identity::of))
    }
}

row! {
    /// The rank of a process.
    MPI_RANK;
    /// Appends the rank.
    fn push_rank(out, rank: Option<u32>) {
        /// the rank of the process in MPI_COMM_WORLD
        mpi_rank: number(rank.map(u64::from)) => key();
    }
}

/// What identifies a communicator.
pub struct Identity {
    /// A hash of the members.
    pub members: u64,
    /// The number of members of all groups.
    pub size: u64,
    /// The number of earlier communicators with the same members.
    pub ordinal: u32,
}

impl Identity {
    fn of(communicator: &Communicator) -> Self {
        Self {
            members: communicator.members,
            size: u64::from(communicator.size) + u64::from(communicator.remote_size),
            ordinal: communicator.ordinal,
        }
    }
}

/// Returns the name of a communicator, which is the same in all of its members. The recorder adds
/// `MPI_COMM_WORLD` first.
pub fn communicator_name(place: Place, known: impl Fn(usize) -> Option<Identity>) -> String {
    match place {
        Place::None => "none".to_owned(),
        Place::Other => "other".to_owned(),
        Place::Communicator(0) => "world".to_owned(),
        Place::Communicator(at) => known(at).map_or("other".to_owned(), |identity| {
            let Identity {
                members,
                size,
                ordinal,
            } = identity;
            let kind = if members & 1 == 1 { "jobs-" } else { "" };
            format!("{kind}{size}-{:08x}-{ordinal}", members >> 32)
        }),
    }
}

/// Returns a text; `None` if it is empty.
pub(super) fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the name of a peer.
pub fn peer_name(peer: Peer) -> String {
    match peer {
        Peer::Rank(rank) => rank.to_string(),
        Peer::Other => "other".to_owned(),
        Peer::None => "none".to_owned(),
    }
}

/// Returns the name of the state of a process. A process that has ended after `MPI_Init`, but has
/// not exited, was killed.
pub fn state_name(state: State, has_ended: bool) -> &'static str {
    match state {
        State::Running | State::Starting | State::Sessions if has_ended => "lost",
        State::Running | State::Starting | State::Sessions => "running",
        State::Finalized => "finalized",
        State::Exited => "exited",
        State::Aborted => "aborted",
    }
}

/// Adds up the peers of a call in a communicator after the first [`MAX_PEERS`], in the order of
/// their time.
fn merge_peers(rows: &[Row]) -> Vec<Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (Reverse(row.time), &row.call, row.place, row.peer));
    let mut peers: BTreeMap<(&str, Place), usize> = BTreeMap::new();
    let mut merged: Vec<Row> = Vec::new();
    let mut others: BTreeMap<(&str, Place), Row> = BTreeMap::new();
    for row in sorted {
        let key = (row.call.as_str(), row.place);
        let count = peers.entry(key).or_default();
        *count += 1;
        if *count <= MAX_PEERS && row.peer != Peer::Other {
            merged.push(row.clone());
            continue;
        }
        let sum = others.entry(key).or_insert_with(|| Row {
            peer: Peer::Other,
            calls: 0,
            time: 0,
            longest: 0,
            bytes: 0,
            ..row.clone()
        });
        sum.calls = sum.calls.saturating_add(row.calls);
        sum.time = sum.time.saturating_add(row.time);
        sum.bytes = sum.bytes.saturating_add(row.bytes);
        sum.longest = sum.longest.max(row.longest);
    }
    merged.extend(others.into_values());
    merged.sort_by_key(|row| Reverse(row.time));
    merged
}

/// Merges neighbors until there are at most [`MAX_BLOCKS`] blocks. Returns the number of calls in a
/// block, which depends only on the number of calls, and the time of each block.
fn merge_blocks(communicator: &Communicator) -> (u64, Vec<u64>) {
    let (mut width, mut blocks) = (communicator.width, communicator.blocks.clone());
    while blocks.len() > MAX_BLOCKS {
        let sum = |pair: &[u64]| {
            pair.iter()
                .fold(0, |sum: u64, time| sum.saturating_add(*time))
        };
        blocks = blocks.chunks(2).map(sum).collect();
        width = width.saturating_mul(2);
    }
    (width, blocks)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::metrics::mpi_trace::file::Waits;
    use proptest::prelude::*;

    fn row(call: &str, peer: Peer, time: u64) -> Row {
        Row {
            call: call.to_owned(),
            place: Place::Communicator(0),
            peer,
            calls: 1,
            time,
            longest: time,
            bytes: 8,
        }
    }

    fn communicator(collectives: u64, width: u64) -> Communicator {
        let blocks = (0..collectives.div_ceil(width)).map(|at| at + 1).collect();
        Communicator {
            members: 0x1234_5678_9abc_def0,
            size: 4,
            remote_size: 0,
            ordinal: 1,
            collectives,
            time: 5_000_000,
            width,
            blocks,
        }
    }

    /// A process that has called two functions.
    pub fn trace() -> Trace {
        Trace {
            saves: 1,
            pid: 7,
            namespace: 1,
            rank: 2,
            size: 4,
            state: State::Running,
            has_known_library: true,
            library: "MPICH".to_owned(),
            job: String::new(),
            began: 0,
            elapsed: 2_500_000_000,
            calls: 3,
            time: 1_234_567,
            bytes: 16,
            uncounted: 0,
            waits: Some(Waits {
                outside: 300_000,
                in_calls: 200_000,
                asleep_outside: 400_000,
            }),
            fast_time: 1_000,
            communicators: vec![communicator(0, 1), communicator(130, 1)],
            rows: vec![
                row("Send", Peer::Rank(3), 1_500),
                row("Barrier", Peer::None, 9_000),
            ],
        }
    }

    fn parsed(lines: &[Vec<u8>]) -> Vec<serde_json::Value> {
        let parse = |line: &Vec<u8>| serde_json::from_slice(line).unwrap();
        lines.iter().map(parse).collect()
    }

    fn rows_of<'a>(trace: &'a Trace, tail: &'a [u8]) -> ProcessRows<'a> {
        ProcessRows {
            time: "T",
            trace,
            pid: Some(7),
            has_ended: true,
            tail,
        }
    }

    const TAIL: &[u8] = b",\"container\":\"app\",\"program\":\"lmp\"}";

    #[test]
    fn a_process_that_was_killed_is_lost() {
        let trace = trace();
        let row = &parsed(&[rows_of(&trace, TAIL).rank()])[0];
        assert_eq!(row["state"], "lost");
        assert_eq!((&row["pid"], &row["mpi_rank"]), (&7.into(), &2.into()));
        assert_eq!(
            (&row["elapsed"], &row["job"]),
            (&2.5.into(), &serde_json::Value::Null)
        );
        assert_eq!(row["program"], "lmp");
    }

    #[test]
    fn the_call_with_the_most_time_is_first() {
        let trace = trace();
        let rows = parsed(&rows_of(&trace, TAIL).calls());
        assert_eq!(
            (&rows[0]["call"], &rows[0]["mpi_peer"]),
            (&"MPI_Barrier".into(), &"none".into())
        );
        assert_eq!(
            (&rows[1]["communicator"], &rows[1]["mpi_peer"]),
            (&"world".into(), &"3".into())
        );
        assert_eq!(rows[0]["max_ms"], 0.009);
    }

    #[test]
    fn peers_after_the_first_ones_are_one_row() {
        let rows: Vec<Row> = (0..40)
            .map(|rank| row("Send", Peer::Rank(rank), 1000))
            .collect();
        let merged = merge_peers(&rows);
        assert_eq!(merged.len(), MAX_PEERS + 1);
        let other = merged.iter().find(|row| row.peer == Peer::Other).unwrap();
        assert_eq!(
            (other.calls, other.time, other.longest, other.bytes),
            (8, 8000, 1000, 64)
        );
    }

    #[test]
    fn blocks_have_the_number_of_their_first_call() {
        let trace = trace();
        let rows = parsed(&rows_of(&trace, TAIL).blocks());
        // 130 blocks of one call become 33 of four; the last one has only two.
        assert_eq!(rows.len(), 33);
        assert_eq!(rows[0]["communicator"], "4-12345678-1");
        assert_eq!(
            (&rows[1]["first"], &rows[1]["collectives"]),
            (&4.into(), &4.into())
        );
        assert_eq!(
            (&rows[32]["first"], &rows[32]["collectives"]),
            (&128.into(), &2.into())
        );
    }

    #[test]
    fn the_name_of_a_communicator_tells_whether_it_connects_jobs() {
        let mut trace = trace();
        trace.communicators[1].members |= 1;
        trace.communicators[1].remote_size = 3;
        let name = rows_of(&trace, TAIL).name(Place::Communicator(1));
        assert_eq!(name, "jobs-7-12345678-1");
    }

    proptest! {
        #[test]
        fn no_time_is_lost_when_blocks_merge(collectives in 0u64..=1024, doublings in 2u32..6) {
            let communicator = communicator(collectives, 1 << doublings);
            let (width, blocks) = merge_blocks(&communicator);
            prop_assert!(blocks.len() <= MAX_BLOCKS);
            prop_assert_eq!(collectives.div_ceil(width), blocks.len() as u64);
            let sum: u64 = communicator.blocks.iter().sum();
            prop_assert_eq!(blocks.iter().sum::<u64>(), sum);
        }
    }
}
