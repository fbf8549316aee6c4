//! Parses lists of processors or nodes: the line `Cpus_allowed_list` of `/proc/PID/status`, and
//! files such as `/sys/devices/system/node/node0/cpulist`.

use std::fmt;

use super::words::{number, words};

/// A list of processors or nodes, as ranges. Each range has the first and the last number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// Parses a list such as `0-3,8`. An empty text is an empty list. `None` if the text is
    /// invalid.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let Some(word) = words(text).next() else {
            return Some(Self::default());
        };
        let ranges = word.split(|byte| *byte == b',').map(range);
        ranges.collect::<Option<_>>().map(Self)
    }

    /// Returns the number of processors or nodes in the list.
    pub fn count(&self) -> u64 {
        let size = |(first, last): &(u32, u32)| u64::from(last - first) + 1;
        self.0.iter().map(size).sum()
    }

    /// Adds the numbers of another list.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(self.0.len());
        for (first, last) in self.0.drain(..) {
            match merged.last_mut() {
                Some(range) if first <= range.1.saturating_add(1) => range.1 = range.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        self.0 = merged;
    }

    /// Whether the lists have a processor or node in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meets =
            |(first, last): &(u32, u32), (start, end): &(u32, u32)| first <= end && start <= last;
        self.0
            .iter()
            .any(|range| other.0.iter().any(|one| meets(range, one)))
    }

    /// Returns the first numbers in the list, at most `most`.
    pub fn numbers(&self, most: usize) -> Vec<u32> {
        let all = self.0.iter().flat_map(|(first, last)| *first..=*last);
        all.take(most).collect()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{first}")?;
            if last > first {
                write!(formatter, "-{last}")?;
            }
        }
        Ok(())
    }
}

fn range(text: &[u8]) -> Option<(u32, u32)> {
    let parse = |digits| u32::try_from(number(digits)?).ok();
    match text.iter().position(|byte| *byte == b'-') {
        None => parse(text).map(|only| (only, only)),
        Some(at) => {
            let (first, last) = (parse(&text[..at])?, parse(&text[at + 1..])?);
            (first <= last).then_some((first, last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuList {
        CpuList::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn ranges_and_single_processors_are_counted() {
        assert_eq!(list("0-1\n").count(), 2);
        assert_eq!(list("0-3,8,10-11").count(), 7);
        assert_eq!(list("").count(), 0);
        assert_eq!(list("0-3,8").numbers(9), [0, 1, 2, 3, 8]);
        assert_eq!(list("0-4294967295").numbers(2), [0, 1]);
    }

    #[test]
    fn a_list_is_extended_without_overlaps() {
        let extended = |text: &str, other: &str| {
            let mut all = list(text);
            all.extend(&list(other));
            all.to_string()
        };
        assert_eq!(extended("0", "1"), "0-1");
        assert_eq!(extended("8,0-3", "2-5,7"), "0-5,7-8");
        assert_eq!(extended("0-4294967295", "3"), "0-4294967295");
        assert_eq!(extended("", "4,6"), "4,6");
        assert_eq!(extended("", ""), "");
    }

    #[test]
    fn lists_with_a_common_processor_overlap() {
        assert!(list("0-3,8").overlaps(&list("8-9")));
        assert!(!list("0-3,8").overlaps(&list("4-7,9")));
        assert!(!list("").overlaps(&list("0")));
    }

    #[test]
    fn invalid_texts_are_none() {
        for text in ["x", "3-1", "1-", "-1", "1,,2", "4294967296"] {
            assert_eq!(CpuList::parse(text.as_bytes()), None, "{text}");
        }
    }
}
