//! The rows of the metric nccl-ras, as JSON Lines. src/catalog/nccl-ras.yaml describes their
//! columns.

use std::cmp::Reverse;

use encode::json::{push_known, push_text};

use super::answer::{Answer, Communicator, Format, OPERATIONS, Rank, State};
use super::history::{History, Unchanged};
use super::role::Role;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals, push_pid};
use crate::sampling::process::Process;

/// The rows of requests to the service.
pub const SERVICE: Section = Section {
    name: "service",
    columns: &[
        "address",
        "scope",
        "role",
        "state",
        "format",
        "nccl_version",
        "communicators",
        "own_ranks",
        "late_answers",
        "collection_time",
        "without_change",
        "longest_gap",
    ],
};

/// The rows of communicators.
pub const COMMUNICATOR: Section = Section {
    name: "communicator",
    columns: &[
        "communicator",
        "size",
        "ranks_missing",
        "ranks_behind",
        "ranks_ahead",
        "operation",
        "launched",
    ],
};

/// The rows of ranks.
pub const RANK: Section = Section {
    name: "rank",
    columns: &[
        "communicator",
        "nccl_rank",
        "host",
        "nccl_pid",
        "gpu",
        "state",
        "launched",
        "operation",
        "behind",
        "without_change",
    ],
};

/// The rows of the processes of this pod.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "world_size",
        "addresses",
        "process_state",
        "cpu_time",
    ],
};

/// The maximum rows of communicators, and of ranks, of an answer.
const MAX_COMMUNICATORS: usize = 16;
const MAX_RANKS: usize = 64;
const MICRO: u32 = 6;
const MILLI: u32 = 3;

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
    /// Returns the row of the request.
    pub fn service(&self, answered: Option<&Answered<'_>>) -> Vec<u8> {
        let answer = answered.map(|it| it.answer);
        let mut out = self.begin(&SERVICE);
        push_text(&mut out, "address", Some(self.address));
        push_text(&mut out, "scope", Some(self.scope));
        push_text(&mut out, "role", Some(self.role.name()));
        push_text(&mut out, "state", Some(self.state));
        let format = answer.map(|answer| match answer.format {
            Format::Text => "text",
            Format::Json => "json",
        });
        push_text(&mut out, "format", format);
        let version = answer.and_then(|answer| answer.version.as_deref());
        push_text(&mut out, "nccl_version", version);
        let communicators = answer.map(|answer| answer.communicators_count);
        push_known(&mut out, "communicators", communicators);
        push_known(&mut out, "own_ranks", answered.map(|it| it.own_ranks));
        push_known(
            &mut out,
            "late_answers",
            answer.map(|answer| answer.timeouts),
        );
        let milliseconds = answer.and_then(|answer| answer.milliseconds);
        push_decimals(&mut out, "collection_time", milliseconds, MILLI);
        let unchanged = answered.and_then(|it| it.unchanged.seconds);
        push_seconds(&mut out, "without_change", unchanged);
        let gap = answered.map(|it| it.unchanged.longest_gap);
        push_seconds(&mut out, "longest_gap", gap);
        out.push(b'}');
        out
    }

    /// Returns the rows of the communicators: those with missing ranks or with ranks that are
    /// behind are first, and then those with the most ranks.
    pub fn communicators(&self, answer: &Answer) -> Vec<Vec<u8>> {
        let all = sorted(answer).into_iter().take(MAX_COMMUNICATORS);
        let row = |communicator: &Communicator| {
            let Communicator { most, .. } = communicator;
            let mut out = self.begin(&COMMUNICATOR);
            push_text(&mut out, "communicator", Some(&communicator.name));
            push_number(&mut out, "size", communicator.size);
            push_number(&mut out, "ranks_missing", Some(communicator.missing));
            push_number(&mut out, "ranks_behind", Some(communicator.behind));
            push_number(&mut out, "ranks_ahead", communicator.ahead);
            let at = communicator.main_operation();
            push_text(&mut out, "operation", at.map(|at| OPERATIONS[at]));
            push_known(&mut out, "launched", at.map(|at| most[at]));
            out.push(b'}');
            out
        };
        all.map(row).collect()
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

    fn rank(&self, answered: &Answered<'_>, communicator: &Communicator, rank: &Rank) -> Vec<u8> {
        let place = rank.place.as_ref();
        let mut out = self.begin(&RANK);
        push_text(&mut out, "communicator", Some(&communicator.name));
        push_number(&mut out, "nccl_rank", Some(rank.number));
        push_text(&mut out, "host", place.map(|place| &*place.host));
        push_number(&mut out, "nccl_pid", place.map(|place| place.pid));
        push_number(&mut out, "gpu", place.and_then(|place| place.gpu));
        push_text(&mut out, "state", rank.state.map(State::name));
        let launched = rank.counts.map(|_| {
            let counts = rank.counts();
            counts.fold(0_u64, |sum, (_, count)| sum.saturating_add(count))
        });
        push_known(&mut out, "launched", launched);
        let behind = rank.behind(&communicator.most);
        let operation = behind.and_then(|(_, at)| at).map(|at| OPERATIONS[at]);
        push_text(&mut out, "operation", operation);
        push_known(&mut out, "behind", behind.map(|(gap, _)| gap));
        let unchanged = answered.history.unchanged(communicator, rank);
        push_seconds(&mut out, "without_change", unchanged);
        out.push(b'}');
        out
    }

    fn begin(&self, section: &Section) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, section);
        out
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
    /// Returns the row.
    pub fn build(&self) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, &PROCESS);
        push_pid(&mut out, self.process);
        push_number(&mut out, "world_rank", self.rank.map(|(rank, _)| rank));
        let size = self.rank.map(|(_, size)| size).filter(|size| *size > 0);
        push_number(&mut out, "world_size", size);
        push_text(&mut out, "addresses", Some(self.addresses));
        let (state, cpu) = self.state;
        push_text(&mut out, "process_state", Some(state));
        push_decimals(&mut out, "cpu_time", cpu, MICRO);
        out.extend_from_slice(&self.process.tail);
        out
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

fn push_number(out: &mut Vec<u8>, key: &str, number: Option<u32>) {
    push_known(out, key, number.map(u64::from));
}

fn push_seconds(out: &mut Vec<u8>, key: &str, seconds: Option<f64>) {
    let duration = seconds.and_then(|it| std::time::Duration::try_from_secs_f64(it).ok());
    let milliseconds = duration.and_then(|it| u64::try_from(it.as_millis()).ok());
    push_decimals(out, key, milliseconds, MILLI);
}

#[cfg(test)]
mod tests {
    use super::super::{json, text};
    use super::*;
    use crate::sampling::json_rows::columns_of;

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
    fn the_rows_have_the_declared_columns() {
        let answer = documented();
        with_rows(&answer, |answered| {
            let (ranks, left_out) = REQUEST.ranks(answered);
            assert_eq!((ranks.len(), left_out), (2, 0));
            assert_eq!(
                columns_of(&REQUEST.service(Some(answered))),
                SERVICE.sorted_columns()
            );
            assert_eq!(columns_of(&REQUEST.service(None)), SERVICE.sorted_columns());
            let communicators = REQUEST.communicators(&answer);
            assert_eq!(columns_of(&communicators[0]), COMMUNICATOR.sorted_columns());
            assert_eq!(columns_of(&ranks[0]), RANK.sorted_columns());
        });
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
        assert_eq!(columns_of(&row), PROCESS.sorted_columns());
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
