//! Which pods ask. One answer is about the whole job, and the service collects it from all
//! processes, so one pod is enough.

use super::answer::{Answer, Communicator, Place, Rank, State};

/// The timepoints after which the pod with the last rank asks, too.
const STAND_IN_TURNS: u64 = 5;

/// Whether the observer of a pod asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// At each timepoint: the pod has rank 0, or nothing is known about ranks.
    First,
    /// At every fifth timepoint, and at each one while the process of rank 0 does not answer: the
    /// pod has the last rank.
    StandIn,
    /// Never: the pod has other ranks.
    Other,
}

impl Role {
    /// Returns the name in the rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::StandIn => "stand-in",
            Self::Other => "other",
        }
    }

    /// Returns the role of a pod by the ranks that launchers have given to its processes, each with
    /// the number of ranks. `None` if there are none.
    pub fn by_ranks(ranks: &[(u32, u32)]) -> Option<Self> {
        if ranks.iter().any(|(rank, _)| *rank == 0) {
            return Some(Self::First);
        }
        let is_last = |(rank, size): &(u32, u32)| rank + 1 == *size;
        if ranks.iter().any(is_last) {
            return Some(Self::StandIn);
        }
        (!ranks.is_empty()).then_some(Self::Other)
    }

    /// Returns the role of a pod by an answer: by its ranks in the largest communicator. `None` if
    /// the answer does not name a rank of the pod there.
    pub fn by_answer(answer: &Answer, is_own: impl Fn(&Place) -> bool) -> Option<Self> {
        let largest = largest(answer)?;
        let size = largest.size.unwrap_or(0);
        let own = largest
            .ranks
            .iter()
            .filter(|rank| rank.place.as_ref().is_some_and(&is_own));
        let ranks: Vec<(u32, u32)> = own.map(|rank| (rank.number, size)).collect();
        Self::by_ranks(&ranks)
    }

    /// Returns the role of a pod by its index, which is empty if it has none.
    pub fn by_index(index: &str) -> Self {
        if matches!(index, "" | "0") {
            Self::First
        } else {
            Self::Other
        }
    }

    /// Whether the observer asks at a timepoint. `turn` is the number of timepoints before, and
    /// `is_first_silent` whether the process of rank 0 did not answer in the last answer.
    pub fn asks(self, turn: u64, is_first_silent: bool) -> bool {
        match self {
            Self::First => true,
            Self::StandIn => is_first_silent || turn % STAND_IN_TURNS == STAND_IN_TURNS - 1,
            Self::Other => false,
        }
    }
}

/// Whether the process of rank 0 of the largest communicator does not answer.
pub fn is_first_silent(answer: &Answer) -> bool {
    let is_silent = |rank: &Rank| rank.number == 0 && rank.state.is_some_and(State::is_missing);
    largest(answer).is_some_and(|largest| largest.ranks.iter().any(is_silent))
}

fn largest(answer: &Answer) -> Option<&Communicator> {
    answer
        .communicators
        .iter()
        .max_by_key(|communicator| communicator.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_with_rank_0_asks_at_each_timepoint() {
        assert_eq!(Role::by_ranks(&[(1, 4), (0, 4)]), Some(Role::First));
        assert_eq!(Role::by_ranks(&[(2, 4), (3, 4)]), Some(Role::StandIn));
        assert_eq!(Role::by_ranks(&[(2, 4), (1, 0)]), Some(Role::Other));
        assert_eq!(Role::by_ranks(&[]), None);
        assert_eq!([Role::by_index(""), Role::by_index("0")], [Role::First; 2]);
        assert_eq!(Role::by_index("3"), Role::Other);
        assert!((0..9).all(|turn| Role::First.asks(turn, false)));
        assert!((0..9).all(|turn| !Role::Other.asks(turn, true)));
    }

    #[test]
    fn the_pod_with_the_last_rank_stands_in() {
        let asked: Vec<u64> = (0..12)
            .filter(|turn| Role::StandIn.asks(*turn, false))
            .collect();
        assert_eq!(asked, [4, 9]);
        assert!((0..9).all(|turn| Role::StandIn.asks(turn, true)));
    }

    #[test]
    fn the_largest_communicator_says_which_rank_is_in_the_pod() {
        let rank = |number: u32, state: State| Rank {
            place: Some(Place {
                host: "10.0.0.1".into(),
                pid: 70 + number,
                gpu: None,
            }),
            state: Some(state),
            ..Rank::new(number)
        };
        let communicator = |size: u32, ranks: Vec<Rank>| Communicator {
            size: Some(size),
            ranks,
            ..Communicator::default()
        };
        let ranks = vec![rank(0, State::Dead), rank(1, State::Running)];
        let answer = Answer {
            communicators: vec![communicator(2, ranks), communicator(1, Vec::new())],
            ..Answer::default()
        };
        let of = |pid: u32| Role::by_answer(&answer, |place| place.pid == pid);
        assert_eq!([of(70), of(71)], [Some(Role::First), Some(Role::StandIn)]);
        assert_eq!(of(72), None);
        assert!(is_first_silent(&answer) && !is_first_silent(&Answer::default()));
    }
}
