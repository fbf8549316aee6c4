//! The rows of the metric nccl-ras.

use std::cmp::Reverse;
use std::time::Duration;

use super::answer::{Answer, Communicator, Format, OPERATIONS, Rank, State};
use super::history::{History, Unchanged};
use super::role::Role;
use crate::sampling::process::Process;
use crate::sampling::row::{id, millionths, number, row, text, thousandths};

/// The maximum rows of communicators, and of ranks, of an answer.
const MAX_COMMUNICATORS: usize = 16;
const MAX_RANKS: usize = 64;

/// A request to the service, with its result.
pub struct Request<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// The first address of the service.
    pub address: &'a str,
    /// The network of the service: `pod` or `node`.
    pub scope: &'a str,
    /// Why this pod asks.
    pub role: Role,
    /// `answered`, or why there is no answer.
    pub state: &'a str,
}

/// An answer, with the changes since the answers before.
pub struct Answered<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The answers before.
    pub history: &'a History,
    /// How long nothing has changed.
    pub unchanged: Unchanged,
    /// The ranks whose processes are in this pod.
    pub own_ranks: u64,
}

impl Request<'_> {
    row! {
        /// each request to the RAS service on the localhost of the pod, with its result; an answer
        /// describes the whole job, so only the pod of rank 0 asks, and from time to time the pod
        /// of the last rank
        pub SERVICE: "service" of "pod", "NCCL";
        /// Returns the row of the request.
        pub fn service(&self, answered: Option<&Answered<'_>>) for thing(self.time) {
            let answer = answered.map(|it| it.answer);
            /// the first address that was tried
            address: text(self.address);
            /// pod, or node if the pod uses the network of its node
            scope: text(self.scope) => export_name("ridealong.scope");
            /// first: the pod has rank 0, or no ranks are known; stand-in: it has the last rank
            role: text(self.role.name());
            /// answered; refused if nothing listens, silent, too-large, unreadable or broken
            state: text(self.state);
            let is_text = answer.map(|answer| answer.format == Format::Text);
            /// json, or text before NCCL 2.28.7
            format: text(is_text.map(|is_text| if is_text { "text" } else { "json" }));
            /// the version of NCCL
            nccl_version: text(answer.and_then(|answer| answer.version.as_deref()));
            /// the communicators of the job
            communicators: number(answer.map(|answer| answer.communicators_count))
                => gauge("count").title("Communicators of NCCL");
            /// the ranks in the answer, of all communicators, whose processes are in this pod
            own_ranks: number(answered.map(|it| it.own_ranks)) => gauge("count").not_exported();
            /// processes that did not answer the service in time, as the service counts them
            late_answers: number(answer.map(|answer| answer.timeouts))
                => gauge("count").title("Timeouts of NCCL's service");
            /// the time for which the service collected the answer
            collection_time: thousandths(answer.and_then(|answer| answer.milliseconds))
                => gauge("s").not_exported();
            /// the time for which no rank in the answers has launched an operation or has changed
            /// its state; null if the answer does not say that
            without_change: seconds(answered.and_then(|it| it.unchanged.seconds))
                => gauge("s").title("Since the last NCCL operation");
            /// the longest time before for which nothing had changed in the answers, until
            /// something did
            longest_gap: seconds(answered.map(|it| it.unchanged.longest_gap))
                => gauge("s").not_exported();
        }
    }

    /// Returns the rows of the communicators: those with missing ranks or with ranks that are
    /// behind are first, and then those with the most ranks.
    pub fn communicators(&self, answer: &Answer) -> Vec<Vec<u8>> {
        let all = sorted(answer).into_iter().take(MAX_COMMUNICATORS);
        all.map(|communicator| self.communicator(communicator))
            .collect()
    }

    row! {
        /// the communicators in an answer, at most 16: those with ranks that are missing or behind,
        /// then those with the most ranks; an answer in text describes only the former
        pub COMMUNICATOR: "communicator" of "pod", "NCCL";
        /// Returns the row of a communicator.
        fn communicator(&self, communicator: &Communicator) for thing(self.time) {
            /// the hash of the communicator; a number follows if several have the same
            communicator: text(&*communicator.name) => key();
            /// the number of ranks
            size: number(communicator.size.map(u64::from)) => gauge("count").not_exported();
            /// ranks whose processes do not answer the service
            ranks_missing: number(u64::from(communicator.missing))
                => gauge("count").title("Ranks of NCCL that do not answer");
            /// ranks that have launched fewer calls of an operation than another rank; in an answer
            /// in text, of the operation for which these are the most ranks
            ranks_behind: number(u64::from(communicator.behind))
                => gauge("count").title("Ranks of NCCL that are behind");
            /// ranks that have launched as many calls of each operation as any other rank; null if
            /// the answer does not say that
            ranks_ahead: number(communicator.ahead.map(u64::from)) => gauge("count").not_exported();
            let at = communicator.main_operation();
            /// the operation in which most ranks are behind, or of which there are the most calls;
            /// collective for all together, before NCCL 2.26
            operation: text(at.map(|at| OPERATIONS[at]));
            /// the most calls of this operation that a rank has launched
            launched: number(at.map(|at| communicator.most[at]))
                => gauge("count").title("Calls of NCCL launched, most");
        }
    }

    /// Returns the rows of ranks, at most [`MAX_RANKS`], and the number of ranks without a row.
    /// Those that do not answer, have an error or are behind are first.
    pub fn ranks(&self, answered: &Answered<'_>) -> (Vec<Vec<u8>>, usize) {
        let communicators = sorted(answered.answer);
        let all = communicators.iter().take(MAX_COMMUNICATORS);
        let mut all: Vec<(&Communicator, &Rank)> = all
            .flat_map(|communicator| communicator.ranks.iter().map(|rank| (*communicator, rank)))
            .collect();
        all.sort_by_cached_key(|(communicator, rank)| severity(communicator, rank));
        let total: usize = communicators.iter().map(|it| it.ranks.len()).sum();
        let shown = &all[..all.len().min(MAX_RANKS)];
        let rows = shown
            .iter()
            .map(|(communicator, rank)| self.rank(answered, communicator, rank));
        (rows.collect(), total - shown.len())
    }

    row! {
        /// the ranks in an answer, at most 64: those that do not answer, have an error or are
        /// behind, then others; an answer in text names only some of the former
        pub RANK: "rank" of "device", "NCCL";
        /// Returns the row of a rank.
        fn rank(&self, answered: &Answered<'_>, communicator: &Communicator, rank: &Rank)
        for thing(self.time) {
            let place = rank.place.as_ref();
            /// the communicator, as in the section communicator
            communicator: text(&*communicator.name) => key();
            /// the rank in the communicator
            nccl_rank: number(u64::from(rank.number)) => key();
            /// the address of its host: the pod, or the node if the pod uses the network of its
            /// node
            host: text(place.map(|place| &*place.host));
            /// the id of its process, as the process sees it
            nccl_pid: number(place.map(|place| u64::from(place.pid)));
            /// the number of its GPU on the host, of NVML
            gpu: number(place.and_then(|place| place.gpu).map(u64::from));
            /// running, starting, finalizing, aborted, error, left if its process is not a member
            /// of the communicator, unresponsive, dead, or missing if the answer does not say why;
            /// null if it says nothing
            state: text(rank.state.map(State::name));
            let counts = rank.counts();
            let launched = counts.fold(0_u64, |sum, (_, count)| sum.saturating_add(count));
            /// the calls of collective operations that it has launched; in an answer in text only
            /// of those in which ranks differ
            launched: number(rank.counts.map(|_| launched))
                => gauge("count").title("Calls of NCCL launched").not_exported();
            let behind = rank.behind(&communicator.most);
            /// the operation in which it is most calls behind
            operation: text(behind.and_then(|(_, at)| at).map(|at| OPERATIONS[at]));
            /// how many calls it has launched fewer than other ranks, of all operations
            behind: number(behind.map(|(gap, _)| gap))
                => gauge("count").title("Calls of NCCL behind").not_exported();
            /// the time for which its calls and its state have not changed in the answers
            without_change: seconds(answered.history.unchanged(communicator, rank))
                => gauge("s").not_exported();
        }
    }
}

/// The row of a process of this pod.
pub struct ProcessRow<'a> {
    /// The time of the row.
    pub time: &'a str,
    /// The process.
    pub process: &'a Process,
    /// Its rank and the number of ranks, which is 0 if it is not known.
    pub rank: Option<(u32, u32)>,
    /// The addresses of the pod, separated by blanks.
    pub addresses: &'a str,
    /// Its state and its processor time in microseconds.
    pub state: (&'a str, Option<u64>),
}

impl ProcessRow<'_> {
    row! {
        /// the processes of the pod with a rank from a launcher, or all if none has one: at most 64
        pub PROCESS: "process" of "process", "NCCL";
        /// Returns the row.
        pub fn build(&self) for process(self.time, id(self.process.pid), &self.process.tail) {
            /// the rank in the variable RANK of torchrun or a variable of a launcher of MPI; null
            /// if the process had none when it executed its program
            world_rank: number(self.rank.map(|(rank, _)| u64::from(rank)));
            let size = self.rank.map(|(_, size)| u64::from(size));
            /// the number of ranks, from the same source
            world_size: number(size.filter(|size| *size > 0)) => gauge("count").not_exported();
            /// the addresses of the pod, by which answers name it, at most 8, separated by blanks
            addresses: text(self.addresses);
            let (state, cpu) = self.state;
            /// the state of the process: running, sleeping, disk (waiting for storage), stopped, or
            /// ended
            process_state: text(state);
            /// CPU seconds, summed over threads
            cpu_time: millionths(cpu) => counter("s").not_exported();
        }
    }
}

fn sorted(answer: &Answer) -> Vec<&Communicator> {
    let mut all: Vec<&Communicator> = answer.communicators.iter().collect();
    let has_trouble = |it: &Communicator| it.missing > 0 || it.behind > 0;
    all.sort_by_key(|communicator| (!has_trouble(communicator), Reverse(communicator.size)));
    all
}

/// Returns a number by which ranks are sorted, the worst first.
fn severity(communicator: &Communicator, rank: &Rank) -> (u8, Reverse<u64>) {
    let gap = rank.behind(&communicator.most).map_or(0, |(gap, _)| gap);
    let class = match rank.state {
        Some(State::Dead | State::Unresponsive | State::Missing) => 0,
        Some(State::Failed | State::Aborted) => 1,
        _ if gap > 0 => 2,
        Some(State::Left | State::Starting | State::Finalizing) => 3,
        _ => 4,
    };
    (class, Reverse(gap))
}

/// Appends a time in seconds, or null.
fn seconds(out: &mut Vec<u8>, key: &str, seconds: Option<f64>) {
    let duration = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
    thousandths(
        out,
        key,
        duration.and_then(|it| u64::try_from(it.as_millis()).ok()),
    );
}

#[cfg(test)]
mod tests {
    use super::super::{json, text};
    use super::*;

    const REQUEST: Request<'_> = Request {
        time: "T",
        address: "127.0.0.1:28028",
        scope: "pod",
        role: Role::First,
        state: "answered",
    };

    fn parsed(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    fn with_rows<T>(answer: &Answer, read: impl Fn(&Answered<'_>) -> T) -> T {
        let mut history = History::default();
        let unchanged = history.take(answer, 10.0);
        let answered = Answered {
            answer,
            history: &history,
            unchanged,
            own_ranks: 1,
        };
        read(&answered)
    }

    fn documented() -> Answer {
        json::parse(include_bytes!(
            "../../../tests/nccl-answers/documented-json.txt"
        ))
        .unwrap()
    }

    #[test]
    fn the_row_of_a_process_has_its_rank() {
        let process = Process {
            pid: 7,
            tail: b",\"container\":\"app\",\"program\":\"train.py\"}"
                .as_slice()
                .into(),
            ..Process::default()
        };
        let row = ProcessRow {
            time: "T",
            process: &process,
            rank: Some((3, 0)),
            addresses: "10.0.0.1",
            state: ("stopped", Some(1_500_000)),
        };
        let row = row.build();
        let row = parsed(&row);
        assert_eq!(
            (&row["world_rank"], &row["cpu_time"]),
            (&3.into(), &1.5.into())
        );
        assert!(row["world_size"].is_null());
    }

    #[test]
    fn ranks_that_do_not_answer_are_first() {
        let answer = documented();
        let (ranks, _) = with_rows(&answer, |answered| REQUEST.ranks(answered));
        let [first, second] = [parsed(&ranks[0]), parsed(&ranks[1])];
        assert_eq!(
            (&first["nccl_rank"], &first["state"]),
            (&1.into(), &"unresponsive".into())
        );
        assert!(first["launched"].is_null() && first["behind"].is_null());
        assert_eq!(
            (&second["state"], &second["launched"]),
            (&"running".into(), &0.into())
        );
        assert_eq!(
            (&second["behind"], &second["without_change"]),
            (&0.into(), &0.0.into())
        );
    }

    #[test]
    fn the_row_of_a_rank_that_is_behind_names_the_operation() {
        let bytes = include_bytes!("../../../tests/nccl-answers/mismatch-2.28.txt");
        let answer = text::parse(bytes).unwrap();
        let (ranks, _) = with_rows(&answer, |answered| REQUEST.ranks(answered));
        let ranks: Vec<serde_json::Value> = ranks.iter().map(|row| parsed(row)).collect();
        let order = ranks.iter().map(|row| row["nccl_rank"].as_u64().unwrap());
        assert_eq!(order.collect::<Vec<_>>(), [6, 7, 5, 1, 4]);
        let late = &ranks[3];
        assert_eq!(
            (&late["operation"], &late["behind"]),
            (&"AllReduce".into(), &1.into())
        );
        let row = parsed(&REQUEST.communicators(&answer)[0]);
        assert_eq!(
            (&row["operation"], &row["launched"]),
            (&"AllReduce".into(), &100.into())
        );
        assert_eq!(
            (&row["ranks_missing"], &row["ranks_ahead"]),
            (&2.into(), &().into())
        );
    }

    #[test]
    fn only_the_first_ranks_have_rows() {
        let ranks = (0..100).map(Rank::new).collect();
        let communicator = Communicator {
            ranks,
            ..Communicator::default()
        };
        let answer = Answer {
            communicators: vec![communicator],
            ..Answer::default()
        };
        let (rows, left_out) = with_rows(&answer, |answered| REQUEST.ranks(answered));
        assert_eq!((rows.len(), left_out), (MAX_RANKS, 36));
    }
}
