//! The parser of the answers in JSON, which NCCL writes since 2.28.7 (`src/ras/client_support.cc`,
//! `rasDumpCommsToJSON`). Any process of the pod can be the one that answers, so the size of what
//! is kept is bounded.

use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};

use super::answer::{
    Answer, Communicator, Counts, Format, MAX_COMMUNICATORS, MAX_RANKS, OPERATIONS, Place, Rank,
    State, number_twins, operation, text,
};
use crate::tools::json::{List, object};

/// `ncclSuccess` and `ncclInProgress` (src/nccl.h.in).
const SUCCESS: i64 = 0;
const IN_PROGRESS: i64 = 7;

object!(Document {
    nccl_version: String,
    communicators: List<Communicator, MAX_COMMUNICATORS>,
    ras: Collection,
});

object!(Collection {
    collection_time_sec: f64,
    timeouts_count: u64,
});

object!(RawCommunicator {
    hash: String,
    size: u32,
    ranks: List<Rank, MAX_RANKS>,
    missing_ranks: List<MissingRank, MAX_RANKS>,
});

object!(RawRank {
    rank: u32,
    host: String,
    pid: i64,
    nvml_dev: i64,
    status: Status,
    collective_counts: Calls,
});

object!(Status {
    init_state: i64,
    async_error: i64,
    finalize_called: bool,
    destroy_flag: bool,
    abort_flag: bool,
});

/// A rank without data.
struct MissingRank(Rank);

object!(RawMissingRank {
    rank: u32,
    host: String,
    pid: i64,
    nvml_dev: i64,
    status: MissingStatus,
});

object!(MissingStatus {
    unresponsive: bool,
    considered_dead: bool,
});

/// The calls by operation.
struct Calls {
    counts: Counts,
    counted: u16,
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Calls;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the calls by operation")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Calls, A::Error> {
                let mut calls = Calls {
                    counts: Counts::default(),
                    counted: 0,
                };
                while let Some((name, count)) = map.next_entry::<String, u64>()? {
                    let at = operation(&name);
                    calls.counts[at] = calls.counts[at].saturating_add(count);
                    calls.counted |= 1 << at;
                }
                Ok(calls)
            }
        }
        from.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Rank {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = RawRank::deserialize(from)?;
        let calls = raw.collective_counts;
        let calls = calls.ok_or_else(|| D::Error::missing_field("collective_counts"))?;
        Ok(Self {
            place: place(raw.host.as_deref(), raw.pid, raw.nvml_dev),
            state: state(&raw.status.unwrap_or_default()),
            counts: Some(calls.counts),
            counted: calls.counted,
            ..Self::new(raw.rank.ok_or_else(|| D::Error::missing_field("rank"))?)
        })
    }
}

impl<'de> Deserialize<'de> for MissingRank {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = RawMissingRank::deserialize(from)?;
        let status = raw.status.unwrap_or_default();
        let state = match (status.considered_dead, status.unresponsive) {
            (Some(true), _) => State::Dead,
            (_, Some(false)) => State::Left,
            _ => State::Unresponsive,
        };
        Ok(Self(Rank {
            place: place(raw.host.as_deref(), raw.pid, raw.nvml_dev),
            state: Some(state),
            ..Rank::new(raw.rank.ok_or_else(|| D::Error::missing_field("rank"))?)
        }))
    }
}

impl<'de> Deserialize<'de> for Communicator {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = RawCommunicator::deserialize(from)?;
        let hash = raw.hash.ok_or_else(|| D::Error::missing_field("hash"))?;
        let mut ranks = raw.ranks.ok_or_else(|| D::Error::missing_field("ranks"))?.0;
        let most = most_of(&ranks);
        let is_behind = |rank: &&Rank| rank.behind(&most).is_some_and(|(gap, _)| gap > 0);
        let behind = ranks.iter().filter(is_behind).count();
        let ahead = ranks.len() - behind;
        let lost = raw.missing_ranks.map(|list| list.0).unwrap_or_default();
        ranks.extend(lost.into_iter().map(|rank| rank.0));
        let is_missing = |rank: &&Rank| rank.state.is_some_and(State::is_missing);
        Ok(Self {
            name: name(&hash),
            size: raw.size,
            missing: count(ranks.iter().filter(is_missing).count()),
            most,
            behind: count(behind),
            ahead: Some(count(ahead)),
            ranks,
        })
    }
}

/// Returns the place of a rank. The service writes the process id -1 if it does not know it.
fn place(host: Option<&str>, pid: Option<i64>, gpu: Option<i64>) -> Option<Place> {
    Some(Place {
        pid: u32::try_from(pid?).ok()?,
        host: text(host?).into(),
        gpu: gpu.and_then(|gpu| u32::try_from(gpu).ok()),
    })
}

/// Returns the state of a rank, as the service derives it for its answers in text
/// (`rasClientRunComms`). An error is named before them.
fn state(status: &Status) -> Option<State> {
    let is_error = |code: Option<i64>| !matches!(code, None | Some(SUCCESS | IN_PROGRESS));
    let is_set = |flag: Option<bool>| flag == Some(true);
    if is_error(status.init_state) || is_error(status.async_error) {
        return Some(State::Failed);
    }
    if is_set(status.abort_flag) {
        return Some(State::Aborted);
    }
    if is_set(status.finalize_called) || is_set(status.destroy_flag) {
        return Some(State::Finalizing);
    }
    status.init_state.map(|code| {
        if code == SUCCESS {
            State::Running
        } else {
            State::Starting
        }
    })
}

/// Parses an answer.
///
/// # Errors
/// A sentence that names the error and its place.
pub fn parse(bytes: &[u8]) -> Result<Answer, String> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let list = document.communicators;
    let mut communicators = list.ok_or("it has no communicators")?.0;
    if communicators.iter().map(|it| it.ranks.len()).sum::<usize>() > MAX_RANKS {
        return Err(format!(
            "the communicators have more than {MAX_RANKS} ranks"
        ));
    }
    number_twins(&mut communicators);
    let ras = document.ras.as_ref();
    let seconds = ras.and_then(|ras| ras.collection_time_sec);
    let duration = seconds.and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok());
    Ok(Answer {
        format: Format::Json,
        version: document.nccl_version.map(|version| text(&version)),
        communicators_count: communicators.len() as u64,
        communicators,
        timeouts: ras.and_then(|ras| ras.timeouts_count).unwrap_or(0),
        milliseconds: duration.and_then(|it| u64::try_from(it.as_millis()).ok()),
    })
}

fn most_of(ranks: &[Rank]) -> Counts {
    let mut most = Counts::default();
    for counts in ranks.iter().filter_map(|rank| rank.counts) {
        for at in 0..OPERATIONS.len() {
            most[at] = most[at].max(counts[at]);
        }
    }
    most
}

/// Returns the name of a communicator with 16 digits, as the answers in text have it.
fn name(hash: &str) -> String {
    let digits = text(hash.strip_prefix("0x").unwrap_or(hash));
    format!("{digits:0>16}")
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &[u8] = include_bytes!("../../../tests/nccl-answers/documented-json.txt");

    /// An answer with one communicator, whose ranks have the counts of two operations.
    fn answer(ranks: &[(u64, u64)]) -> Communicator {
        let ranks = ranks
            .iter()
            .enumerate()
            .map(|(number, (broadcast, reduce))| {
                format!(
                    r#"{{"rank":{number},"status":{{"init_state":0}},
                "collective_counts":{{"Broadcast":{broadcast},"AllReduce":{reduce}}}}}"#
                )
            });
        let ranks = ranks.collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"communicators":[{{"hash":"0x1","size":3,"ranks":[{ranks}]}}]}}"#);
        parse(text.as_bytes()).unwrap().communicators.remove(0)
    }

    #[test]
    fn the_documented_answer_is_read() {
        let answer = parse(DOCUMENTED).unwrap();
        assert_eq!(answer.version.as_deref(), Some("2.29.1"));
        assert_eq!((answer.timeouts, answer.milliseconds), (0, Some(0)));
        let communicator = &answer.communicators[0];
        assert_eq!(communicator.name, "ae94423cfbb2ef4a");
        assert_eq!((communicator.size, communicator.missing), (Some(2), 1));
        let [first, second] = &communicator.ranks[..] else {
            panic!("{communicator:?}");
        };
        assert_eq!((first.number, first.state), (0, Some(State::Running)));
        let place = first.place.as_ref().unwrap();
        assert_eq!((&*place.host, place.pid), ("172.16.64.245", 1_524_344));
        assert_eq!(
            (second.number, second.state),
            (1, Some(State::Unresponsive))
        );
        assert_eq!(second.counts, None);
    }

    #[test]
    fn ranks_with_fewer_calls_are_behind() {
        let communicator = answer(&[(3, 100), (3, 98), (2, 98)]);
        assert_eq!((communicator.behind, communicator.ahead), (2, Some(1)));
        let behind = communicator
            .ranks
            .iter()
            .map(|rank| rank.behind(&communicator.most));
        let reduce = Some(operation("AllReduce"));
        let expected = [Some((0, None)), Some((2, reduce)), Some((3, reduce))];
        assert_eq!(behind.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn ranks_that_call_different_operations_are_all_behind() {
        let communicator = answer(&[(3, 100), (4, 99)]);
        assert_eq!((communicator.behind, communicator.ahead), (2, Some(0)));
    }

    #[test]
    fn states_are_those_of_the_service() {
        for (status, expected) in [
            (r#""init_state":7"#, Some(State::Starting)),
            (r#""init_state":2"#, Some(State::Failed)),
            (r#""init_state":0,"async_error":6"#, Some(State::Failed)),
            (r#""init_state":0,"async_error":7"#, Some(State::Running)),
            (r#""init_state":0,"abort_flag":true"#, Some(State::Aborted)),
            (
                r#""init_state":0,"destroy_flag":true"#,
                Some(State::Finalizing),
            ),
            (r#""unknown":[{}]"#, None),
        ] {
            let text = format!(
                r#"{{"communicators":[{{"hash":"1","ranks":[
                {{"rank":0,"status":{{{status}}},"collective_counts":{{}}}}]}}]}}"#
            );
            let answer = parse(text.as_bytes()).unwrap();
            assert_eq!(answer.communicators[0].ranks[0].state, expected, "{status}");
        }
        for (status, expected) in [
            (r#""unresponsive":false"#, State::Left),
            (r#""unresponsive":true,"considered_dead":true"#, State::Dead),
            ("", State::Unresponsive),
        ] {
            let text = format!(
                r#"{{"communicators":[{{"hash":"1","ranks":[],"missing_ranks":[
                {{"rank":0,"status":{{{status}}}}}]}}]}}"#
            );
            let answer = parse(text.as_bytes()).unwrap();
            assert_eq!(
                answer.communicators[0].ranks[0].state,
                Some(expected),
                "{status}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_cut_is_an_error() {
        for end in 0..DOCUMENTED.trim_ascii_end().len() {
            assert!(parse(&DOCUMENTED[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn too_many_ranks_are_an_error() {
        let rank = r#"{"rank":0,"collective_counts":{}}"#;
        let all = vec![rank; MAX_RANKS / 2 + 1].join(",");
        let one = format!(r#"{{"hash":"1","ranks":[{all}]}}"#);
        let text = format!(r#"{{"communicators":[{one},{one}]}}"#);
        assert!(parse(text.as_bytes()).unwrap_err().contains("ranks"));
    }
}
