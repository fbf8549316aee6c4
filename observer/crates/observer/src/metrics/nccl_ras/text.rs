//! The parser of the answers in text, which NCCL writes since 2.24 (`src/ras/client_support.cc`,
//! `rasClientRunInit` and `rasClientRunComms`). A text describes only communicators with errors or
//! differences, and names only ranks that differ from most others.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{
    Answer, Communicator, Counts, Format, MAX_COMMUNICATORS, MAX_RANKS, Place, Rank, State,
    number_twins, operation, text,
};

/// Parses an answer.
///
/// # Errors
/// A sentence that names the error.
pub fn parse(bytes: &[u8]) -> Result<Answer, String> {
    let mut parser = Parser::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        parser.take(line.trim_end())?;
    }
    parser.finish()
}

/// The subject of the lines that follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Topic {
    #[default]
    Nothing,
    /// The table of the groups of communicators.
    Groups,
    /// The job processes that are considered dead.
    DeadProcesses,
    /// The ranks of which data is missing.
    Missing,
    /// Ranks with an error.
    Errors,
    /// Ranks with this state.
    State(Option<State>),
    /// The calls of an operation.
    Operation(usize),
    /// Ranks that have launched so many calls of an operation.
    Calls(usize, u64),
}

#[derive(Default)]
struct Parser {
    answer: Answer,
    topic: Topic,
    /// Whether the line after which the communicators follow was read.
    has_communicators: bool,
    /// The sizes of the communicators of each group.
    sizes: BTreeMap<u32, u32>,
    /// The communicators in the order of the answer, and the last one that a line has named.
    found: Vec<Found>,
    last: Option<usize>,
    /// The positions of the communicators by their labels, such as `#0-1`.
    labels: BTreeMap<String, usize>,
    /// The number of ranks that were named.
    ranks: usize,
    /// The dead processes, with the addresses of their hosts.
    dead: BTreeSet<(String, u32)>,
}

#[derive(Default)]
struct Found {
    name: String,
    size: Option<u32>,
    missing: u32,
    ranks: BTreeMap<u32, Rank>,
    /// How many ranks have launched how many calls, by operation.
    groups: BTreeMap<usize, Vec<(u64, u32)>>,
}

impl Parser {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let is_indented = line.starts_with(' ');
        let line = line.trim_start();
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with('#') && self.has_communicators && !line.starts_with("#  in") {
            return self.begin_communicator(line);
        }
        if !is_indented {
            self.take_title(line);
            return Ok(());
        }
        match self.topic {
            Topic::Groups => self.take_group(line),
            Topic::DeadProcesses => self.take_process(line),
            _ => self.take_detail(line)?,
        }
        Ok(())
    }

    /// Takes a line that begins a part of the answer, or belongs to none.
    fn take_title(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("NCCL version ") {
            let version = rest.split(' ').next().unwrap_or_default();
            self.answer.version = Some(text(version));
        } else if let Some(rest) = line.strip_prefix("Communicators...") {
            self.has_communicators = true;
            self.answer.milliseconds = seconds_in(rest);
        } else {
            self.topic = match line {
                "DEAD" => Topic::DeadProcesses,
                _ if line.starts_with("Group ") => Topic::Groups,
                _ => Topic::Nothing,
            };
        }
    }

    /// Takes a row of the table of groups: group, communicators, nodes, ranks per node, ranks per
    /// communicator, ranks of the group, status, errors.
    fn take_group(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
        if let (Some(group), Some(count), Some(size)) = (number(0), number(1), number(4)) {
            let sum = self.answer.communicators_count;
            self.answer.communicators_count = sum.saturating_add(u64::from(count));
            if self.sizes.len() < MAX_COMMUNICATORS {
                self.sizes.insert(group, size);
            }
        }
    }

    /// Takes a line such as `Process 7 on node 10.0.0.1 managing GPU 5`.
    fn take_process(&mut self, line: &str) {
        let process = line.strip_prefix("Process ").and_then(|rest| {
            let (pid, rest) = rest.split_once(" on node ")?;
            let host = rest.split(' ').next()?;
            Some((text(host), pid.parse().ok()?))
        });
        if self.dead.len() < MAX_RANKS {
            self.dead.extend(process);
        }
    }

    /// Takes a line such as `#0-1 (27a079b828ff1a75) MISMATCH`. A communicator can have several.
    fn begin_communicator(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let label = words.next().unwrap_or_default();
        let hash = words.next().unwrap_or_default().trim_matches(['(', ')']);
        self.topic = Topic::Nothing;
        let label = text(label);
        if let Some(at) = self.labels.get(&label) {
            self.last = Some(*at);
            return Ok(());
        }
        if self.found.len() == MAX_COMMUNICATORS {
            return Err(format!(
                "it has more than {MAX_COMMUNICATORS} communicators"
            ));
        }
        let group = label.trim_start_matches('#').split('-').next();
        let group = group.and_then(|group| group.parse().ok());
        self.found.push(Found {
            name: text(hash),
            size: group.and_then(|group: u32| self.sizes.get(&group).copied()),
            ..Found::default()
        });
        self.last = Some(self.found.len() - 1);
        self.labels.insert(label, self.found.len() - 1);
        Ok(())
    }

    /// Takes a line about the last communicator that was named.
    fn take_detail(&mut self, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("Encountered ") {
            self.answer.timeouts = first_number(rest).map_or(0, u64::from);
            return Ok(());
        }
        let Some(found) = self.last.and_then(|at| self.found.get_mut(at)) else {
            return Ok(());
        };
        if let Some(topic) = topic_of(line) {
            self.topic = topic;
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("Missing communicator data from ") {
            self.topic = Topic::Missing;
            found.missing = first_number(rest).unwrap_or(0);
        } else if let Some((_, list)) = list_of_ranks(line) {
            let state = if line.contains("unknown") {
                State::Left
            } else {
                State::Missing
            };
            for number in list.split(',').filter_map(|word| word.trim().parse().ok()) {
                self.ranks += 1;
                found.rank(number).state = Some(state);
            }
        } else if line.starts_with("Rank ") {
            self.ranks += 1;
            found.take_rank(line, self.topic);
        } else {
            self.topic = found.take_several(line, self.topic);
        }
        if self.ranks > MAX_RANKS {
            return Err(format!("it names more than {MAX_RANKS} ranks"));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Answer, String> {
        if !self.has_communicators {
            return Err("it says nothing about communicators".to_owned());
        }
        let dead = &self.dead;
        let found = self.found.into_iter();
        self.answer.communicators = found.map(|found| found.build(dead)).collect();
        number_twins(&mut self.answer.communicators);
        self.answer.format = Format::Text;
        Ok(self.answer)
    }
}

impl Found {
    fn rank(&mut self, number: u32) -> &mut Rank {
        self.ranks
            .entry(number)
            .or_insert_with(|| Rank::new(number))
    }

    /// Takes a line about one rank: `Rank 5 -- GPU 5 managed by process 7 on node 10.0.0.1`, with
    /// words before the dashes if no other rank has the same value.
    fn take_rank(&mut self, line: &str, topic: Topic) {
        let (words, place) = line.split_once(" -- ").unwrap_or((line, ""));
        let Some(number) = first_number(words.trim_start_matches("Rank ")) else {
            return;
        };
        let single = words
            .trim_start_matches("Rank ")
            .trim_start_matches(|letter: char| letter.is_ascii_digit());
        let calls = calls_in(single);
        if let (Some(count), Topic::Operation(at) | Topic::Calls(at, _)) = (calls, topic) {
            self.groups.entry(at).or_default().push((count, 1));
        }
        let rank = self.rank(number);
        rank.place = place_in(place).or(rank.place.take());
        let topic = match (topic, calls) {
            (Topic::Operation(at) | Topic::Calls(at, _), Some(count)) => Topic::Calls(at, count),
            _ => match single.trim().strip_prefix("has status ") {
                Some(word) => Topic::State(state_of(word)),
                None => topic,
            },
        };
        match topic {
            Topic::Missing => rank.state = Some(State::Missing),
            Topic::Errors => rank.state = Some(State::Failed),
            Topic::State(state) => rank.state = rank.state.or(state),
            Topic::Calls(at, count) => {
                let mut counts = rank.counts.unwrap_or_default();
                counts[at] = count;
                rank.counts = Some(counts);
                rank.counted |= 1 << at;
            }
            _ => {}
        }
    }

    /// Takes a line about several ranks, such as `26 ranks have launched up to operation 6650`, and
    /// returns the topic of the lines after it.
    fn take_several(&mut self, line: &str, topic: Topic) -> Topic {
        let count = first_number(line).unwrap_or(0);
        let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        match topic {
            Topic::Operation(at) | Topic::Calls(at, _) => match calls_in(rest) {
                Some(calls) => {
                    self.groups.entry(at).or_default().push((calls, count));
                    Topic::Calls(at, calls)
                }
                None => topic,
            },
            Topic::State(_) => match rest.trim().strip_prefix("ranks have status ") {
                Some(word) => Topic::State(state_of(word)),
                None => topic,
            },
            _ => topic,
        }
    }

    fn build(self, dead: &BTreeSet<(String, u32)>) -> Communicator {
        let mut most = Counts::default();
        let mut behind = 0;
        let mut ahead = Vec::new();
        for (at, groups) in &self.groups {
            let largest = groups.iter().map(|(calls, _)| *calls).max().unwrap_or(0);
            let (with, without): (Vec<_>, Vec<_>) =
                groups.iter().partition(|(calls, _)| *calls == largest);
            let sum = |list: Vec<&(u64, u32)>| {
                list.iter()
                    .fold(0_u32, |sum, (_, count)| sum.saturating_add(*count))
            };
            most[*at] = largest;
            behind = behind.max(sum(without));
            ahead.push(sum(with));
        }
        let mut ranks: Vec<Rank> = self.ranks.into_values().collect();
        for rank in ranks
            .iter_mut()
            .filter(|rank| rank.state == Some(State::Missing))
        {
            let is_dead = |place: &Place| dead.contains(&(place.host.to_string(), place.pid));
            if rank.place.as_ref().is_some_and(is_dead) {
                rank.state = Some(State::Dead);
            }
        }
        Communicator {
            name: self.name,
            size: self.size,
            missing: self.missing,
            most,
            behind,
            // With several operations, the answer does not say whether these are the same ranks.
            ahead: if ahead.len() == 1 { ahead.pop() } else { None },
            ranks,
        }
    }
}

/// Returns the topic that a line begins.
fn topic_of(line: &str) -> Option<Topic> {
    const DIFFERENT: &str = "Communicator ranks have different ";
    if let Some(rest) = line.strip_prefix(DIFFERENT) {
        return Some(match rest.strip_suffix(" operation counts") {
            // NCCL 2.24 and 2.25 count all operations together.
            Some(name) => Topic::Operation(operation(name)),
            None => Topic::State(None),
        });
    }
    let is_error = line.starts_with("Initialization error")
        || line.starts_with("Asynchronous error")
        || line.contains(" ranks reported ");
    is_error.then_some(Topic::Errors)
}

/// Returns the ranks in a line such as `The missing ranks: 3,4`, which NCCL 2.24 and 2.25 write.
fn list_of_ranks(line: &str) -> Option<(&str, &str)> {
    let (words, list) = line.strip_prefix("The ")?.split_once(": ")?;
    (words.starts_with("missing rank") || words.starts_with("unknown rank"))
        .then_some((words, list))
}

/// Returns the calls in words such as `has launched up to operation 7`.
fn calls_in(words: &str) -> Option<u64> {
    if words.contains("not launched any operations") {
        return Some(0);
    }
    let (_, number) = words.split_once(" launched up to operation ")?;
    number.trim().parse().ok()
}

/// Returns the place in words such as `GPU 5 (NVML 7) managed by process 7 on node 10.0.0.1`.
fn place_in(words: &str) -> Option<Place> {
    let (gpu, rest) = words
        .strip_prefix("GPU ")?
        .split_once(" managed by process ")?;
    let (pid, host) = rest.split_once(" on node ")?;
    let nvml = gpu
        .split_once("(NVML ")
        .map_or(gpu, |(_, nvml)| nvml.trim_end_matches(')'));
    Some(Place {
        host: text(host.trim()).into(),
        pid: pid.parse().ok()?,
        gpu: nvml.trim().parse().ok(),
    })
}

/// Returns the state with a name of `statusStr`. NCCL 2.24 and 2.25 have UNKNOWN in place of
/// NOCOMM, and write it only if all processes have answered.
fn state_of(word: &str) -> Option<State> {
    match word.trim() {
        "NOCOMM" | "UNKNOWN" => Some(State::Left),
        "INIT" => Some(State::Starting),
        "RUNNING" => Some(State::Running),
        "FINALIZE" => Some(State::Finalizing),
        "ABORT" => Some(State::Aborted),
        _ => None,
    }
}

/// Returns the milliseconds in words such as ` (2.05s)`.
fn seconds_in(words: &str) -> Option<u64> {
    let seconds = words.trim().strip_prefix('(')?.strip_suffix("s)")?;
    let duration = std::time::Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    u64::try_from(duration.as_millis()).ok()
}

fn first_number(words: &str) -> Option<u32> {
    let end = words.find(|letter: char| !letter.is_ascii_digit());
    words[..end.unwrap_or(words.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::answer::OPERATIONS;
    use super::*;

    const MISMATCH: &[u8] = include_bytes!("../../../tests/nccl-answers/mismatch-2.24.txt");
    const DEAD: &[u8] = include_bytes!("../../../tests/nccl-answers/dead-2.24.txt");
    const NEWER: &[u8] = include_bytes!("../../../tests/nccl-answers/mismatch-2.28.txt");

    fn at(name: &str) -> usize {
        operation(name)
    }

    /// Returns the ranks with a state, their states and their counts of an operation.
    fn ranks(communicator: &Communicator, name: &str) -> Vec<(u32, Option<State>, Option<u64>)> {
        let count = |rank: &Rank| rank.counts().find(|(found, _)| *found == at(name));
        let ranks = communicator.ranks.iter();
        ranks
            .map(|rank| (rank.number, rank.state, count(rank).map(|(_, count)| count)))
            .collect()
    }

    #[test]
    fn ranks_that_are_behind_are_named() {
        let answer = parse(MISMATCH).unwrap();
        assert_eq!(answer.version.as_deref(), Some("2.24.3+cuda12.6"));
        assert_eq!(
            (answer.communicators_count, answer.milliseconds),
            (1, Some(0))
        );
        let [communicator] = &answer.communicators[..] else {
            panic!("{answer:?}");
        };
        assert_eq!(communicator.name, "27a079b828ff1a75");
        assert_eq!((communicator.size, communicator.missing), (Some(32), 0));
        assert_eq!((communicator.behind, communicator.ahead), (6, Some(26)));
        assert_eq!(communicator.most[at("collective")], 6650);
        let late = ranks(communicator, "collective");
        let expected = [0, 2, 3, 4, 5, 7].map(|number| (number, None, Some(6649)));
        assert_eq!(late, expected);
        let gap = communicator.ranks[0].behind(&communicator.most);
        assert_eq!(gap, Some((1, Some(at("collective")))));
        let place = communicator.ranks[5].place.as_ref().unwrap();
        assert_eq!(
            (&*place.host, place.pid, place.gpu),
            ("172.16.64.210", 483_079, Some(7))
        );
    }

    #[test]
    fn a_rank_without_data_is_missing() {
        let answer = parse(DEAD).unwrap();
        assert_eq!((answer.timeouts, answer.milliseconds), (2, Some(2050)));
        let communicator = &answer.communicators[0];
        assert_eq!((communicator.missing, communicator.size), (1, Some(32)));
        // NCCL 2.24 does not say which process a missing rank has.
        let rank = &communicator.ranks[0];
        assert_eq!((rank.number, rank.state), (21, Some(State::Missing)));
        assert_eq!(rank.place, None);
    }

    #[test]
    fn a_communicator_has_several_parts() {
        let answer = parse(NEWER).unwrap();
        assert_eq!(
            (answer.communicators_count, answer.communicators.len()),
            (5, 1)
        );
        assert_eq!((answer.timeouts, answer.milliseconds), (3, Some(5010)));
        let communicator = &answer.communicators[0];
        assert_eq!((communicator.size, communicator.missing), (Some(8), 2));
        assert_eq!(
            ranks(communicator, "AllReduce"),
            [
                (1, None, Some(99)),
                (4, Some(State::Left), None),
                (5, Some(State::Failed), Some(99)),
                (6, Some(State::Dead), None),
                (7, Some(State::Missing), None),
            ]
        );
        assert_eq!(communicator.most[at("Broadcast")], 3);
        assert_eq!((communicator.behind, communicator.ahead), (2, None));
        let gpu = communicator.ranks[4].place.as_ref().map(|place| place.gpu);
        assert_eq!(gpu, Some(Some(7)));
        let gap = communicator.ranks[2].behind(&communicator.most);
        assert_eq!(gap, Some((4, Some(at("Broadcast")))));
        assert_eq!(communicator.main_operation(), Some(at("AllReduce")));
    }

    #[test]
    fn a_text_without_communicators_is_no_answer() {
        assert!(parse(b"ERROR: Unknown command x\n").is_err());
        assert!(parse(b"").is_err());
        let none = parse(b"Communicators... (0.00s)\n=====\n\nNo communicator data collected!\n");
        assert_eq!(none.map(|answer| answer.communicators_count), Ok(0));
    }

    #[test]
    fn too_many_ranks_are_an_error() {
        let mut text =
            b"Communicators... (0.00s)\n#0-0 (1) INCOMPLETE\n  The missing ranks: ".to_vec();
        for number in 0..=MAX_RANKS {
            text.extend(format!("{number},").bytes());
        }
        assert!(parse(&text).is_err());
    }

    #[test]
    fn operations_have_a_bit_each() {
        assert!(OPERATIONS.len() <= 16);
    }
}
