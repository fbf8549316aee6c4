//! The sums of the summary of cpu-profile, by program.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::functions::OTHER_NAME;
use super::rows::{Extent, Owner};
use crate::sampling::row::{millionths, number, row};

/// The maximum programs of the summary. All others are summed.
const MAX_PROGRAMS: usize = 2048;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    profiles: u64,
    partial: u64,
    incomplete: u64,
    missing: u64,
    samples: u64,
    microseconds: u64,
}

impl Sum {
    fn add(&mut self, extent: Extent) {
        self.profiles += u64::from(extent != Extent::Missing);
        self.partial += u64::from(matches!(extent, Extent::Partial(_)));
        self.incomplete += u64::from(matches!(extent, Extent::Incomplete(_)));
        self.missing += u64::from(extent == Extent::Missing);
        if let Some(time) = extent.time() {
            self.samples = self.samples.saturating_add(time.samples);
            self.microseconds = self.microseconds.saturating_add(time.microseconds);
        }
    }
}

row! {
    /// The sums of profiles.
    SUMS;
    /// Appends the sums.
    fn push_sums(out, sum: &Sum) {
        /// processes with a profile
        profiles: number(sum.profiles) => counter("count");
        partial: number(sum.partial);
        /// profiles whose end is missing
        incomplete: number(sum.incomplete) => counter("count");
        /// processes without a profile
        missing: number(sum.missing) => counter("count");
        /// samples of all processes
        samples: number(sum.samples) => counter("count");
        /// processor time of all samples
        cpu_seconds: millionths(sum.microseconds)
            => counter("s").quantity("process.cpu.time").sampled();
    }
}

row! {
    /// all profiles of a program
    pub PROGRAM: "program" of "process";
    /// Returns the line of a program.
    fn program(container: &str, name: &str, sum: &Sum) for program(name, container) {
        ..SUMS: push_sums(sum);
    }
}

/// The sums of all profiles.
#[derive(Debug, Default)]
pub struct Totals {
    whole: Sum,
    /// The sums by container and program.
    programs: BTreeMap<(Option<String>, String), Sum>,
}

impl Totals {
    /// Adds the profile of a process.
    pub fn add(&mut self, owner: &Owner, extent: Extent) {
        self.whole.add(extent);
        let mut key = (owner.container.clone(), owner.program.clone());
        if self.programs.len() >= MAX_PROGRAMS && !self.programs.contains_key(&key) {
            key = (None, OTHER_NAME.to_owned());
        }
        self.programs.entry(key).or_default().add(extent);
    }

    /// Appends the sums of all programs, each after a comma.
    pub fn push_whole(&self, out: &mut Vec<u8>) {
        push_sums(out, &self.whole);
    }

    /// Returns the lines of the programs. The program with the most samples is first.
    pub fn program_lines(&self) -> Vec<Vec<u8>> {
        let mut sums: Vec<_> = self.programs.iter().collect();
        sums.sort_by_key(|(key, sum)| (Reverse(sum.microseconds), *key));
        let line = |((container, name), sum): (&(Option<String>, String), &Sum)| {
            program(container.as_deref().unwrap_or_default(), name, sum)
        };
        sums.into_iter().map(line).collect()
    }
}
