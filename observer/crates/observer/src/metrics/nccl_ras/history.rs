//! The changes from answer to answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::answer::{Answer, Communicator, Format, Rank, State};

/// The maximum ranks that are remembered. Ranks of communicators that are gone use the room, too,
/// until everything is forgotten.
const MAX_REMEMBERED: usize = 65_536;

/// The number under which the operations of a communicator are remembered. No rank has it.
const NO_RANK: u32 = u32::MAX;

/// Identifies a rank: a hash of its communicator, and its number.
type RankKey = (u64, u32);

/// The content of earlier answers. All times are in seconds since boot.
#[derive(Default)]
pub struct History {
    ranks: BTreeMap<RankKey, Known>,
    /// The time of the first answer since which nothing has changed. Here and in `counted`, answers
    /// that do not say what any rank has launched are left out.
    since: Option<f64>,
    /// The time of the last of these answers.
    counted: f64,
    /// The time of the last answer.
    last: f64,
    /// The longest time for which nothing had changed, before something did.
    longest_gap: f64,
}

#[derive(Clone, Copy)]
struct Known {
    hash: u64,
    since: f64,
}

/// How long nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unchanged {
    /// The seconds for which no rank of the job has changed. `None` if the answer does not say what
    /// any rank has launched.
    pub seconds: Option<f64>,
    /// The longest time before for which no rank had changed, until one did.
    pub longest_gap: f64,
}

impl History {
    /// Takes an answer. A rank without data has not changed: what its process does is not known.
    pub fn take(&mut self, answer: &Answer, now: f64) -> Unchanged {
        if self.ranks.len() > MAX_REMEMBERED {
            self.ranks.clear();
        }
        let mut has_changed = false;
        let mut has_counts = false;
        for communicator in &answer.communicators {
            let name = hash_of(&communicator.name);
            has_counts |= communicator.most.iter().any(|count| *count > 0);
            if answer.format == Format::Text {
                let operations = hash_of(&(communicator.most, communicator.behind));
                has_changed |= self.update((name, NO_RANK), operations, now);
            }
            for rank in &communicator.ranks {
                let is_answer = !rank.state.is_some_and(State::is_missing);
                has_changed |=
                    self.update((name, rank.number), hash_of_rank(rank), now) && is_answer;
            }
        }
        self.last = now;
        if has_counts {
            self.note(has_changed, now);
        }
        Unchanged {
            seconds: self.since.filter(|_| has_counts).map(|since| now - since),
            longest_gap: self.longest_gap,
        }
    }

    /// Returns the seconds for which a rank of the last answer has not changed.
    pub fn unchanged(&self, communicator: &Communicator, rank: &Rank) -> Option<f64> {
        let known = self
            .ranks
            .get(&(hash_of(&communicator.name), rank.number))?;
        Some(self.last - known.since)
    }

    /// Returns whether something was not known, or was different.
    fn update(&mut self, key: RankKey, hash: u64, now: f64) -> bool {
        let known = self.ranks.get(&key);
        if known.is_some_and(|known| known.hash == hash) {
            return false;
        }
        self.ranks.insert(key, Known { hash, since: now });
        true
    }

    fn note(&mut self, has_changed: bool, now: f64) {
        if has_changed || self.since.is_none() {
            let gap = self.since.map_or(0.0, |since| self.counted - since);
            self.longest_gap = self.longest_gap.max(gap);
            self.since = Some(now);
        }
        self.counted = now;
    }
}

fn hash_of_rank(rank: &Rank) -> u64 {
    hash_of(&(rank.state, rank.counts, rank.counted))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::answer::Counts;
    use super::*;

    fn rank(number: u32, calls: u64, state: State) -> Rank {
        let mut counts = Counts::default();
        counts[4] = calls;
        Rank {
            state: Some(state),
            counts: (!state.is_missing()).then_some(counts),
            counted: 1 << 4,
            ..Rank::new(number)
        }
    }

    fn answer(ranks: Vec<Rank>) -> Answer {
        let most = ranks.iter().filter_map(|rank| rank.counts).max();
        let communicator = Communicator {
            name: "1".to_owned(),
            most: most.unwrap_or_default(),
            ranks,
            ..Communicator::default()
        };
        Answer {
            format: Format::Json,
            communicators: vec![communicator],
            ..Answer::default()
        }
    }

    #[test]
    fn the_time_without_a_change_begins_with_the_first_answer() {
        let mut history = History::default();
        let first = answer(vec![rank(0, 7, State::Running), rank(1, 6, State::Running)]);
        assert_eq!(history.take(&first, 10.0).seconds, Some(0.0));
        assert_eq!(history.take(&first, 70.0).seconds, Some(60.0));
        let later = answer(vec![rank(0, 7, State::Running), rank(1, 7, State::Running)]);
        let after = history.take(&later, 130.0);
        assert_eq!((after.seconds, after.longest_gap), (Some(0.0), 60.0));
        let ranks = &later.communicators[0].ranks;
        let unchanged = |at: usize| history.unchanged(&later.communicators[0], &ranks[at]);
        assert_eq!((unchanged(0), unchanged(1)), (Some(120.0), Some(0.0)));
    }

    #[test]
    fn a_rank_that_stops_answering_is_no_progress() {
        let mut history = History::default();
        history.take(
            &answer(vec![rank(0, 7, State::Running), rank(1, 7, State::Running)]),
            10.0,
        );
        let dead = answer(vec![rank(0, 7, State::Running), rank(1, 0, State::Dead)]);
        assert_eq!(history.take(&dead, 70.0).seconds, Some(60.0));
        let communicator = &dead.communicators[0];
        assert_eq!(
            history.unchanged(communicator, &communicator.ranks[1]),
            Some(0.0)
        );
    }

    #[test]
    fn an_answer_without_counts_says_nothing_about_progress() {
        let mut history = History::default();
        assert_eq!(history.take(&Answer::default(), 10.0).seconds, None);
        assert_eq!(history.take(&Answer::default(), 70.0).seconds, None);
    }

    #[test]
    fn the_time_of_answers_without_counts_is_no_gap() {
        let behind = |calls: u64| Answer {
            format: Format::Text,
            ..answer(vec![rank(0, calls, State::Running)])
        };
        let mut history = History::default();
        history.take(&behind(7), 60.0);
        history.take(&behind(7), 90.0);
        // In a text answer, communicators whose ranks have the same counts have none.
        for now in [120.0, 3000.0] {
            history.take(&Answer::default(), now);
        }
        let after = history.take(&behind(9), 3060.0);
        assert_eq!((after.seconds, after.longest_gap), (Some(0.0), 30.0));
    }

    #[test]
    fn the_same_counts_before_and_after_an_answer_without_counts_are_no_progress() {
        let mut history = History::default();
        let hung = answer(vec![rank(0, 7, State::Running), rank(1, 6, State::Running)]);
        history.take(&hung, 60.0);
        history.take(&Answer::default(), 120.0);
        assert_eq!(history.take(&hung, 180.0).seconds, Some(120.0));
    }
}
