//! Sums the samples of a profile by function and by stack.

use std::collections::BTreeMap;

use super::functions::Functions;

/// The maximum different stacks that are kept, and the maximum functions in all of them. The
/// samples of other stacks are summed.
const MAX_STACKS: usize = 16_384;
const MAX_FUNCTIONS: usize = 512 * 1024;

/// The samples of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Samples in the function itself.
    pub own: u64,
    /// Samples in the function and in the functions that it has called.
    pub total: u64,
}

/// The samples of a process.
pub struct Tally {
    /// The samples of each function, by its number.
    pub functions: Vec<Samples>,
    /// The samples of each stack: the numbers of its functions, the innermost first.
    pub stacks: BTreeMap<Box<[u32]>, u64>,
    /// The samples of stacks that are not kept.
    pub other_stacks: u64,
    /// The number of functions in all kept stacks.
    kept: usize,
    /// The last stack in which each function occurred.
    last_stack: Vec<u64>,
    count: u64,
}

impl Tally {
    /// Creates a tally without samples.
    pub fn new(functions: &Functions) -> Self {
        Self {
            functions: vec![Samples::default(); functions.count()],
            stacks: BTreeMap::new(),
            other_stacks: 0,
            kept: 0,
            last_stack: vec![0; functions.count()],
            count: 0,
        }
    }

    /// Adds samples with the same stack: the numbers of its functions, the innermost first. A
    /// function that occurs several times in a stack, because it calls itself, counts once.
    pub fn add(&mut self, samples: u64, stack: &[usize]) {
        self.count += 1;
        for (at, function) in stack.iter().enumerate() {
            let Some(sum) = self.functions.get_mut(*function) else {
                continue;
            };
            if at == 0 {
                sum.own = sum.own.saturating_add(samples);
            }
            if self.last_stack[*function] != self.count {
                self.last_stack[*function] = self.count;
                sum.total = sum.total.saturating_add(samples);
            }
        }
        let key: Box<[u32]> = stack
            .iter()
            .map(|function| u32::try_from(*function).unwrap_or(u32::MAX))
            .collect();
        if let Some(sum) = self.stacks.get_mut(&key) {
            *sum = sum.saturating_add(samples);
        } else if self.stacks.len() < MAX_STACKS && self.kept + key.len() <= MAX_FUNCTIONS {
            self.kept += key.len();
            self.stacks.insert(key, samples);
        } else {
            self.other_stacks = self.other_stacks.saturating_add(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::cpu_profile::functions::Addresses;
    use crate::metrics::cpu_profile::maps;
    use proptest::prelude::*;

    /// Returns functions without symbols: each library has one, and consists of 16 addresses.
    fn functions(libraries: u64) -> Functions {
        let line = |at: u64| format!("{:x}-{:x} r-xp 0 0:0 0 /lib{at}\n", at * 16, at * 16 + 16);
        let text: String = (0..libraries).map(line).collect();
        let mut addresses = Addresses::default();
        let leaves = (0..libraries).map(|at| at * 16);
        leaves.for_each(|leaf| addresses.add(&[leaf, leaf + 1]));
        Functions::resolve(addresses, &maps::parse_all(text.as_bytes()), |_| {
            None::<std::fs::File>
        })
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let functions = functions(2);
        let mut numbers = Vec::new();
        functions.of_stack(&[0, 17, 1, 17], &mut numbers);
        let names: Vec<&str> = numbers
            .iter()
            .map(|number| functions.name(*number))
            .collect();
        assert_eq!(names, ["[lib0]", "[lib1]", "[lib0]", "[lib1]"]);
        assert_eq!(functions.library(numbers[0]), Some("lib0"));
        let mut tally = Tally::new(&functions);
        tally.add(3, &numbers);
        tally.add(4, &numbers[1..]);
        assert_eq!(tally.functions[numbers[0]], Samples { own: 3, total: 7 });
        assert_eq!(tally.functions[numbers[1]], Samples { own: 4, total: 7 });
        assert_eq!(tally.stacks.len(), 2);
    }

    #[test]
    fn too_many_stacks_are_summed() {
        let functions = functions(200);
        let mut tally = Tally::new(&functions);
        for one in 1..200 {
            for other in 1..200 {
                tally.add(1, &[one, other]);
            }
        }
        assert_eq!(tally.stacks.len(), MAX_STACKS);
        assert_eq!(tally.other_stacks + MAX_STACKS as u64, 199 * 199);
    }

    proptest! {
        #[test]
        fn no_sample_is_lost_or_counted_twice(
            stacks in prop::collection::vec((1..100_u64, prop::collection::vec(0..400_u64, 1..20)), 0..50),
        ) {
            let functions = functions(20);
            let mut tally = Tally::new(&functions);
            let mut numbers = Vec::new();
            for (samples, stack) in &stacks {
                functions.of_stack(stack, &mut numbers);
                tally.add(*samples, &numbers);
            }
            let all: u64 = stacks.iter().map(|(samples, _)| samples).sum();
            prop_assert_eq!(tally.functions.iter().map(|samples| samples.own).sum::<u64>(), all);
            prop_assert_eq!(tally.stacks.values().sum::<u64>() + tally.other_stacks, all);
            prop_assert!(tally.functions.iter().all(|samples| samples.own <= samples.total && samples.total <= all));
        }
    }
}
