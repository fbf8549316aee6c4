//! The sums of the summary of cpu-profile, by program.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use encode::json::{push_known, push_member, push_string};

use super::functions::OTHER_NAME;
use super::rows::{Extent, Owner};
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::push_decimals;

/// The lines of the programs.
pub const PROGRAM: Section = Section {
    name: "program",
    columns: &[
        "program",
        "container",
        "profiles",
        "partial",
        "incomplete",
        "missing",
        "samples",
        "cpu_seconds",
    ],
};

/// The maximum programs of the summary. All others are summed.
const MAX_PROGRAMS: usize = 2048;
const MICRO: u32 = 6;

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

    fn push(&self, out: &mut Vec<u8>) {
        push_known(out, "profiles", Some(self.profiles));
        push_known(out, "partial", Some(self.partial));
        push_known(out, "incomplete", Some(self.incomplete));
        push_known(out, "missing", Some(self.missing));
        push_known(out, "samples", Some(self.samples));
        push_decimals(out, "cpu_seconds", Some(self.microseconds), MICRO);
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
        self.whole.push(out);
    }

    /// Returns the lines of the programs. The program with the most samples is first.
    pub fn program_lines(&self) -> Vec<Vec<u8>> {
        let mut sums: Vec<_> = self.programs.iter().collect();
        sums.sort_by_key(|(key, sum)| (Reverse(sum.microseconds), *key));
        let line = |((container, program), sum): (&(Option<String>, String), &Sum)| {
            let mut line = b"{\"program\":".to_vec();
            push_string(&mut line, program);
            push_member(
                &mut line,
                "container",
                container.as_deref().unwrap_or_default(),
            );
            sum.push(&mut line);
            line.push(b'}');
            line
        };
        sums.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::json_rows::columns_of;

    #[test]
    fn the_lines_of_programs_have_the_declared_columns() {
        let owner = Owner {
            container: Some("app".to_owned()),
            program: "lmp".to_owned(),
            pid: 7,
        };
        let mut totals = Totals::default();
        totals.add(&owner, Extent::Missing);
        let lines: Vec<Vec<u8>> = totals.program_lines().into_iter().collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(columns_of(&lines[0]), PROGRAM.sorted_columns());
    }
}
