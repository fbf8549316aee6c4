//! Parses a copy of the flight recorders of `PyTorch`: a line of JSON with the process groups, and
//! then for each recorder a line as `dump_json` writes it
//! (`torch/csrc/distributed/c10d/FlightRecorderDetail.hpp`).

use std::collections::BTreeSet;
use std::fmt;

use encode::json::clean;
use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};

use crate::tools::json::{List, object};

/// The maximum lines of a copy, and the maximum process groups of a line.
const MAX_LINES: usize = 4;
const MAX_GROUPS: usize = 1024;
/// The maximum generations of process groups whose ends are known (`MAX_ENDS` in
/// observer/torch/recorder.py).
const MAX_ENDS: usize = 512;
/// The maximum operations of a recorder that are read.
const MAX_ENTRIES: usize = 20_000;
/// The maximum bytes of the name of an operation or a process group, and of the list of members.
const MAX_NAME: usize = 128;
const MAX_MEMBERS: usize = 512;

object!(Document {
    entries: List<RawEntry, MAX_ENTRIES>,
    pg_config: RawGroups,
    generation: u64,
    ends: List<List<i64, MAX_LINES>, MAX_ENDS>,
});

object!(RawEntry {
    pg_id: u64,
    process_group: (String, String),
    collective_seq_id: u64,
    profiling_name: String,
    time_created_ns: u64,
    state: String,
    is_p2p: bool,
});

object!(RawGroup {
    name: String,
    desc: String,
    ranks: String,
    generation: u64,
});

/// The process groups by name.
struct RawGroups(Vec<RawGroup>);

impl<'de> Deserialize<'de> for RawGroups {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawGroups;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the process groups by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawGroups, A::Error> {
                let mut groups = Vec::new();
                while let Some((_, group)) = map.next_entry::<String, RawGroup>()? {
                    if groups.len() == MAX_GROUPS {
                        return Err(A::Error::custom("there are too many process groups"));
                    }
                    groups.push(group);
                }
                Ok(RawGroups(groups))
            }
        }
        from.deserialize_map(Members)
    }
}

/// A process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, which is the same in all members; see [`label`].
    pub name: String,
    /// Its description, such as `default_pg`.
    pub description: String,
    /// The number of members; `None` if they are not known.
    pub size: Option<u64>,
    /// The ranks of the members: numbers, and ranges such as `0-7` or `0-56:8`, whose step is 8.
    pub members: String,
}

/// A call of a collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The name of its process group; see [`label`].
    pub group: String,
    /// The number of the process group in the process, and of the recorder that has the call. No
    /// other process group of the process has both.
    pub id: (usize, Option<u64>),
    /// The number of the call in the process group, which is the same in all members.
    pub number: u64,
    /// The operation, such as `gloo:all_reduce`.
    pub operation: String,
    /// When the process made the call, in nanoseconds since 1970.
    pub called: u64,
    /// The state of the call in the recorder: scheduled, started or completed.
    pub state: Option<&'static str>,
}

/// The process groups and the latest calls of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The process groups.
    pub groups: Vec<Group>,
    /// The calls, in their order. Each number of a group is there once.
    pub collectives: Vec<Collective>,
}

/// The generations of process groups. `PyTorch` gives the names of its groups anew when the default
/// process group was destroyed.
#[derive(Default)]
struct Generations {
    /// The number of the current generation; `None` if it is not known.
    current: Option<u64>,
    /// The highest numbers of process groups in each recorder when the latest generations ended.
    ends: Vec<Vec<i64>>,
}

impl Generations {
    /// Returns the name of a process group for the rows. `None` if its generation is not known.
    fn label(&self, name: &str, recorder: usize, id: Option<u64>) -> Option<String> {
        let (Some(current), Some(id)) = (self.current, id) else {
            return Some(label(name, 1));
        };
        let id = i64::try_from(id).ok()?;
        let is_later = |ends: &&Vec<i64>| ends.get(recorder).is_some_and(|end| *end >= id);
        let later = self.ends.iter().filter(is_later).count() as u64;
        let generation = current.checked_sub(later)?;
        let first = current.saturating_sub(self.ends.len() as u64);
        (generation == 1 || generation > first).then(|| label(name, generation))
    }
}

/// Returns the name of a process group with the number of its generation, such as `0#2`, unless
/// this is the first one.
fn label(text: &str, generation: u64) -> String {
    let name = name(text);
    if generation > 1 {
        format!("{name}#{generation}")
    } else {
        name
    }
}

/// Parses a copy. `None` if it is not one.
pub fn parse(text: &[u8]) -> Option<Dump> {
    let mut dump = Dump::default();
    let mut generations = Generations::default();
    let mut calls = Vec::new();
    let lines = text.split(|byte| *byte == b'\n').take(MAX_LINES);
    for (at, line) in lines.enumerate() {
        let document: Document = serde_json::from_slice(line).ok()?;
        let groups = document.pg_config.map(|groups| groups.0);
        for group in groups.into_iter().flatten().filter_map(group) {
            if !dump.groups.iter().any(|known| known.name == group.name) {
                dump.groups.push(group);
            }
        }
        let ends = document.ends.map(|list| list.0).unwrap_or_default();
        if at == 0 {
            generations = Generations {
                current: document.generation,
                ends: ends.into_iter().map(|list| list.0).collect(),
            };
        }
        // The lines of recorders follow the first one.
        let recorder = at.saturating_sub(1);
        let mut latest = 0;
        for entry in document.entries.into_iter().flat_map(|list| list.0) {
            let Some(call) = collective(entry, recorder, &generations) else {
                continue;
            };
            // A recorder keeps the calls in their order, also if the clock was set back.
            latest = latest.max(call.called);
            calls.push((latest, call));
        }
    }
    calls.sort_by_key(|(latest, _)| *latest);
    // The operations of a coalesced call have the same number; the first one is the call.
    let mut seen = BTreeSet::new();
    calls.retain(|(_, call)| seen.insert((call.group.clone(), call.number)));
    dump.collectives = calls.into_iter().map(|(_, call)| call).collect();
    Some(dump)
}

fn group(raw: RawGroup) -> Option<Group> {
    let ranks: Vec<u64> = numbers(raw.ranks.as_deref().unwrap_or_default());
    // The recorder of Gloo has no names of process groups.
    let name_of = raw.name.filter(|text| !text.is_empty())?;
    Some(Group {
        name: label(&name_of, raw.generation.unwrap_or(1)),
        description: name(&raw.desc.unwrap_or_default()),
        size: Some(ranks.len() as u64).filter(|size| *size > 0),
        members: members(&ranks),
    })
}

fn collective(raw: RawEntry, recorder: usize, generations: &Generations) -> Option<Collective> {
    // A call with one other process has numbers of its own.
    if raw.is_p2p == Some(true) {
        return None;
    }
    Some(Collective {
        group: generations.label(&raw.process_group?.0, recorder, raw.pg_id)?,
        id: (recorder, raw.pg_id),
        number: raw.collective_seq_id?,
        operation: name(&raw.profiling_name?),
        called: raw.time_created_ns?,
        state: ["scheduled", "started", "completed"]
            .into_iter()
            .find(|state| raw.state.as_deref() == Some(state)),
    })
}

/// Returns a name of at most `MAX_NAME` bytes.
fn name(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_NAME);
    clean(&text.as_bytes()[..end])
}

/// Returns the numbers in a text, such as `[0, 1]`.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.split(|letter: char| !letter.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Writes ranks as numbers and ranges with equal steps, at most `MAX_MEMBERS` bytes.
fn members(ranks: &[u64]) -> String {
    let mut text = String::new();
    let mut rest = ranks;
    while let [first, others @ ..] = rest {
        let step = others.first().and_then(|next| next.checked_sub(*first));
        let step = step.filter(|step| *step > 0).unwrap_or(1);
        let run = others.iter().zip(1_u64..);
        let is_next = |(rank, count): &(&u64, u64)| {
            step.checked_mul(*count)
                .and_then(|sum| first.checked_add(sum))
                == Some(**rank)
        };
        // Two numbers with a gap are no range.
        let count = run.take_while(is_next).count();
        let count = if count == 1 && step > 1 { 0 } else { count };
        let range = match (others.get(count.wrapping_sub(1)), step) {
            (None, _) => first.to_string(),
            (Some(last), 1) => format!("{first}-{last}"),
            (Some(last), step) => format!("{first}-{last}:{step}"),
        };
        if text.len() + range.len() + 4 > MAX_MEMBERS {
            text.push_str(",...");
            break;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&range);
        rest = &others[count..];
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A copy of a process with Gloo, with two calls as `PyTorch` 2.15.0 writes them.
    pub const EXAMPLE: &str = concat!(
        r#"{"pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}}}"#,
        "\n",
        r#"{"comm_lib_version":"","entries":[{"collective_seq_id":1,"input_dtypes":["Float"],"#,
        r#""input_sizes":[[8]],"is_p2p":false,"op_id":1,"output_dtypes":["Float"],"#,
        r#""output_sizes":[[8]],"p2p_seq_id":0,"pg_id":0,"process_group":["0","default_pg"],"#,
        r#""profiling_name":"gloo:all_reduce","record_id":0,"retired":true,"state":"scheduled","#,
        r#""thread_id":"140159420457536","thread_name":"python","time_created_ns":2000000000,"#,
        r#""time_discovered_completed_ns":0,"time_discovered_started_ns":0,"timeout_ms":1800000},"#,
        r#"{"collective_seq_id":0,"is_p2p":true,"process_group":["0","default_pg"],"#,
        r#""profiling_name":"gloo:send","record_id":1,"state":"scheduled","#,
        r#""time_created_ns":2000000001}],"nccl_comm_state":{},"pg_config":{"":{"desc":"","name":"","#,
        r#""ranks":"[0]"}},"pg_status":{"0":{"last_completed_collective":"1"}},"version":"2.10"}"#,
        "\n",
        r#"{"comm_lib_version":"","nccl_comm_state":{},"pg_config":{},"pg_status":{},"version":"2.10"}"#,
    );

    #[test]
    fn the_calls_and_the_groups_are_read() {
        let dump = parse(EXAMPLE.as_bytes()).unwrap();
        let expected = Collective {
            group: "0".to_owned(),
            id: (0, Some(0)),
            number: 1,
            operation: "gloo:all_reduce".to_owned(),
            called: 2_000_000_000,
            state: Some("scheduled"),
        };
        assert_eq!(dump.collectives, [expected]);
        let [group] = &dump.groups[..] else { panic!() };
        assert_eq!((group.size, group.members.as_str()), (Some(2), "0-1"));
        assert_eq!(group.description, "default_pg");
    }

    #[test]
    fn the_operations_of_a_coalesced_call_are_one_call() {
        let entry = |number: u64, time: u64| {
            format!(
                r#"{{"process_group":["1",""],"collective_seq_id":{number},"profiling_name":"a","time_created_ns":{time}}}"#
            )
        };
        let entries = [entry(1, 10), entry(2, 20), entry(2, 30)].join(",");
        let dump = parse(format!(r#"{{"entries":[{entries}]}}"#).as_bytes()).unwrap();
        let calls: Vec<_> = dump
            .collectives
            .iter()
            .map(|it| (it.number, it.called))
            .collect();
        assert_eq!(calls, [(1, 10), (2, 20)]);
    }

    /// Returns a copy with calls of the recorder of Gloo: the number of the process group `0` in
    /// the process, the number of the call, and its time.
    pub fn copy_of(first: &str, calls: &[(u64, u64, u64)]) -> Vec<u8> {
        let entry = |(id, number, time): &(u64, u64, u64)| {
            format!(
                r#"{{"pg_id":{id},"process_group":["0",""],"collective_seq_id":{number},"profiling_name":"a","time_created_ns":{time}}}"#
            )
        };
        let entries: Vec<String> = calls.iter().map(entry).collect();
        let entries = entries.join(",");
        format!("{first}\n{{\"entries\":[{entries}]}}").into_bytes()
    }

    fn calls_of(first: &str, calls: &[(u64, u64, u64)]) -> Vec<(String, u64)> {
        let all = parse(&copy_of(first, calls)).unwrap().collectives;
        all.into_iter().map(|it| (it.group, it.number)).collect()
    }

    #[test]
    fn a_process_group_that_was_made_again_has_another_name() {
        let group = |generation: u64| {
            format!(r#"{{"name":"0","desc":"","ranks":"[0, 1]","generation":{generation}}}"#)
        };
        let first = format!(
            r#"{{"pg_config":{{"1 0":{},"3 0":{}}},"generation":3,"ends":[[0,-1],[0,-1]]}}"#,
            group(1),
            group(3)
        );
        let calls = [(0, 1, 10), (0, 2, 20), (1, 1, 30), (1, 2, 40)];
        let expected = [("0", 1), ("0", 2), ("0#3", 1), ("0#3", 2)];
        let expected = expected.map(|(name, number)| (name.to_owned(), number));
        assert_eq!(calls_of(&first, &calls), expected);
        let dump = parse(&copy_of(&first, &calls)).unwrap();
        let names: Vec<&str> = dump.groups.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["0", "0#3"]);
    }

    #[test]
    fn calls_of_generations_whose_ends_are_forgotten_are_left_out() {
        let first = r#"{"generation":9,"ends":[[4],[5]]}"#;
        let calls = [(3, 1, 10), (5, 1, 20), (6, 1, 30)];
        let expected = [("0#8", 1), ("0#9", 1)].map(|(name, number)| (name.to_owned(), number));
        assert_eq!(calls_of(first, &calls), expected);
    }

    #[test]
    fn calls_stay_in_their_order_if_the_clock_is_set_back() {
        let calls = [(0, 1, 100), (0, 2, 20), (0, 3, 30)];
        let numbers = calls_of("{}", &calls).into_iter().map(|(_, number)| number);
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn members_are_ranges() {
        for (ranks, text) in [
            ("[]", ""),
            ("[3]", "3"),
            ("[0, 1, 2, 3]", "0-3"),
            ("[0, 8, 16, 24]", "0-24:8"),
            ("[0, 1, 8, 9]", "0-1,8-9"),
            ("[5, 2]", "5,2"),
            ("[0, 8]", "0,8"),
        ] {
            assert_eq!(members(&numbers(ranks)), text);
        }
        let odd: Vec<u64> = (0..1000).map(|rank| rank * rank).collect();
        assert!(members(&odd).len() <= MAX_MEMBERS);
        assert!(members(&odd).ends_with(",..."));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in ".{0,256}", ranks in ".{0,64}") {
            let _ = parse(text.as_bytes());
            prop_assert!(members(&numbers(&ranks)).len() <= MAX_MEMBERS);
        }
    }
}
