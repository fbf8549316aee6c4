//! The content of an answer of NCCL's RAS service, for both formats.

use encode::json::clean;

/// The maximum ranks of all communicators of an answer.
pub const MAX_RANKS: usize = 32_768;
/// The maximum communicators of an answer.
pub const MAX_COMMUNICATORS: usize = 4096;
/// The maximum bytes of a text of an answer: the address of a host, or a version.
pub const MAX_TEXT: usize = 64;

/// The collective operations whose calls NCCL counts by their names (src/collectives.cc,
/// `ncclFuncToString`); then the sum of all others, and all of them together, as NCCL 2.24 and 2.25
/// count them.
pub const OPERATIONS: [&str; 10] = [
    "Broadcast",
    "Reduce",
    "AllGather",
    "ReduceScatter",
    "AllReduce",
    "AlltoAll",
    "Gather",
    "Scatter",
    "other",
    "collective",
];
const OTHER: usize = 8;

/// Numbers by operation.
pub type Counts = [u64; OPERATIONS.len()];

/// Returns the position of an operation in [`OPERATIONS`].
pub fn operation(name: &str) -> usize {
    let known = OPERATIONS.iter().position(|known| *known == name);
    known.unwrap_or(OTHER)
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// All versions since 2.24. Only ranks that differ from most others are named.
    #[default]
    Text,
    /// Since 2.28.7. All ranks are named.
    Json,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The format.
    pub format: Format,
    /// The version of NCCL.
    pub version: Option<String>,
    /// The number of communicators of the job. In a text, only some of them are described.
    pub communicators_count: u64,
    /// The communicators that are described.
    pub communicators: Vec<Communicator>,
    /// The timeouts while the service collected the data from the processes of the job.
    pub timeouts: u64,
    /// The milliseconds for which it collected.
    pub milliseconds: Option<u64>,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communicator {
    /// Its name: the hash in 16 digits. If several have the same, a number follows.
    pub name: String,
    /// The number of its ranks.
    pub size: Option<u32>,
    /// Its ranks without data.
    pub missing: u32,
    /// For each operation, the most calls that a rank has launched.
    pub most: Counts,
    /// The ranks that have launched fewer calls of an operation than another rank; in a text, of
    /// the operation for which these are the most ranks.
    pub behind: u32,
    /// The ranks that have launched as many calls of each operation as any other rank. `None` if
    /// the answer does not say that.
    pub ahead: Option<u32>,
    /// The ranks that are described.
    pub ranks: Vec<Rank>,
}

/// A rank of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The rank in the communicator.
    pub number: u32,
    /// Where its process runs, if the service knows it.
    pub place: Option<Place>,
    /// Its state; `None` if the answer does not say it.
    pub state: Option<State>,
    /// The calls that it has launched, by operation. `None` if the answer does not say it.
    pub counts: Option<Counts>,
    /// The operations about which `counts` says something: a bit for each.
    pub counted: u16,
}

/// The process of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address of its host.
    pub host: Box<str>,
    /// The process id, as the process sees it.
    pub pid: u32,
    /// The number of its GPU on the host, of NVML.
    pub gpu: Option<u32>,
}

/// The state of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Its process is considered dead: it could not be reached for a minute.
    Dead,
    /// Its process does not answer.
    Unresponsive,
    /// It has no data, and the answer does not say why.
    Missing,
    /// It has an error.
    Failed,
    /// It has called `ncclCommAbort`.
    Aborted,
    /// Its process answers, but is not a member of the communicator: it has left it, or has not
    /// entered it yet.
    Left,
    /// It is in the initialization.
    Starting,
    /// It has called `ncclCommFinalize` or `ncclCommDestroy`.
    Finalizing,
    /// It is initialized.
    Running,
}

impl State {
    /// Returns the name in the rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Unresponsive => "unresponsive",
            Self::Missing => "missing",
            Self::Failed => "error",
            Self::Aborted => "aborted",
            Self::Left => "left",
            Self::Starting => "starting",
            Self::Finalizing => "finalizing",
            Self::Running => "running",
        }
    }

    /// Whether the process of the rank does not answer.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Dead | Self::Unresponsive | Self::Missing)
    }
}

impl Rank {
    /// A rank of which only the number is known.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            place: None,
            state: None,
            counts: None,
            counted: 0,
        }
    }

    /// Returns the operations about which something is known, with the calls.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.unwrap_or_default();
        let is_counted = |(at, _): &(usize, u64)| self.counted & (1 << at) != 0;
        counts.into_iter().enumerate().filter(is_counted)
    }

    /// Returns how many calls the rank has launched fewer than other ranks, and the operation of
    /// which these are the most. `None` if its calls are not known.
    pub fn behind(&self, most: &Counts) -> Option<(u64, Option<usize>)> {
        self.counts?;
        let gaps = self
            .counts()
            .map(|(at, count)| (at, most[at].saturating_sub(count)));
        let gaps: Vec<(usize, u64)> = gaps.filter(|(_, gap)| *gap > 0).collect();
        let sum = gaps
            .iter()
            .fold(0_u64, |sum, (_, gap)| sum.saturating_add(*gap));
        let largest = gaps.iter().max_by_key(|(_, gap)| *gap);
        Some((sum, largest.map(|(at, _)| *at)))
    }
}

impl Communicator {
    /// Returns the operation in which most ranks are behind, or the one with the most calls.
    pub fn main_operation(&self) -> Option<usize> {
        let mut behind = [0_u32; OPERATIONS.len()];
        for rank in &self.ranks {
            if let Some((_, Some(at))) = rank.behind(&self.most) {
                behind[at] += 1;
            }
        }
        let all = 0..OPERATIONS.len();
        let at = all.max_by_key(|at| (behind[*at], self.most[*at], OPERATIONS.len() - at))?;
        (self.most[at] > 0).then_some(at)
    }
}

/// Returns a text of an answer without control characters, and not too long.
pub fn text(text: &str) -> String {
    let end = text.floor_char_boundary(text.len().min(MAX_TEXT));
    clean(&text.as_bytes()[..end])
}

/// Gives communicators with the same name different ones, in the order of the answer.
pub fn number_twins(communicators: &mut [Communicator]) {
    let mut seen = std::collections::BTreeMap::new();
    for communicator in communicators {
        let count = seen.entry(communicator.name.clone()).or_insert(0_u32);
        *count += 1;
        if *count > 1 {
            communicator.name = format!("{}-{count}", communicator.name);
        }
    }
}
