//! The rows of the metric cpu-profile, as JSON Lines. src/catalog/cpu-profile.yaml describes their
//! columns.

use std::cmp::Reverse;

use encode::json::{push_known, push_text};

use super::functions::{Functions, OTHER, OTHER_NAME};
use super::records::Header;
use super::tally::{Samples, Tally};
use super::time::SampledTime;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals, take_rows};

/// The rows of processes.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "samples",
        "cpu_seconds",
        "frequency",
        "profile",
    ],
};

/// The rows of functions.
pub const FUNCTION: Section = Section {
    name: "function",
    columns: &[
        "container",
        "program",
        "pid",
        "function",
        "library",
        "samples_self",
        "samples_total",
        "self_seconds",
        "total_seconds",
    ],
};

/// The rows of stacks.
pub const STACK: Section = Section {
    name: "stack",
    columns: &[
        "container",
        "program",
        "pid",
        "stack",
        "samples",
        "cpu_seconds",
    ],
};

/// The maximum rows of functions and of stacks of a process.
pub const MAX_FUNCTIONS: usize = 500;
/// See [`MAX_FUNCTIONS`].
pub const MAX_STACKS: usize = 2000;
/// The maximum bytes of a stack in a row. Of a longer stack, the outermost functions are missing.
const MAX_STACK: usize = 8192;
/// The number of decimals of a time in seconds.
const MICRO: u32 = 6;

/// The process that a row describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The container; `None` if containers have no names.
    pub container: Option<String>,
    /// The program.
    pub program: String,
    /// The process id.
    pub pid: i32,
}

impl Owner {
    /// Returns the members that describe the process, each after a comma.
    pub fn members(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_text(&mut out, "container", self.container.as_deref());
        push_text(&mut out, "program", Some(&self.program));
        push_known(&mut out, "pid", Some(u64::from(self.pid.unsigned_abs())));
        out
    }
}

/// The samples of a process, and whether all are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole profile.
    Complete(SampledTime),
    /// The whole profile, but it lacks more of the processor time than the start of the process.
    Partial(SampledTime),
    /// The beginning of a profile.
    Incomplete(SampledTime),
    /// No profile.
    Missing,
}

impl Extent {
    /// Returns the samples and their time, if there is a profile.
    pub fn time(self) -> Option<SampledTime> {
        match self {
            Self::Complete(time) | Self::Partial(time) | Self::Incomplete(time) => Some(time),
            Self::Missing => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Complete(_) => "complete",
            Self::Partial(_) => "partial",
            Self::Incomplete(_) => "incomplete",
            Self::Missing => "missing",
        }
    }
}

/// Appends the row of a process. `header` is `None` if the profile is missing.
pub fn push_process(
    out: &mut Vec<u8>,
    time: &str,
    owner: &Owner,
    header: Option<Header>,
    extent: Extent,
) {
    begin_row(out, time, &PROCESS, owner);
    push_known(out, "samples", extent.time().map(|time| time.samples));
    let microseconds = extent.time().map(|time| time.microseconds);
    push_decimals(out, "cpu_seconds", microseconds, MICRO);
    push_known(
        out,
        "frequency",
        header.map(|header| 1_000_000 / header.period),
    );
    push_text(out, "profile", Some(extent.word()));
    out.push(b'}');
}

/// Returns the sum of numbers of samples.
fn sum_of(samples: impl Iterator<Item = u64>) -> u64 {
    samples.fold(0, u64::saturating_add)
}

/// The rows of functions and of stacks of a process.
pub struct ProfileRows<'a> {
    /// The beginning of the rows.
    pub time: &'a str,
    /// The process.
    pub owner: &'a Owner,
    /// The samples of the profile, and their time.
    pub whole: SampledTime,
    /// The functions of the profile.
    pub functions: &'a Functions,
    /// The samples of the profile.
    pub tally: &'a Tally,
}

impl ProfileRows<'_> {
    /// Returns the rows of the functions with the most samples of their own. The last row has the
    /// sum of all other functions. The rows take about `bytes` bytes.
    pub fn functions(&self, bytes: usize) -> Vec<Vec<u8>> {
        let mut order: Vec<(usize, Samples)> =
            self.tally.functions.iter().copied().enumerate().collect();
        order.retain(|(number, samples)| *number != OTHER && samples.total > 0);
        order.sort_by_key(|(number, samples)| (Reverse((samples.own, samples.total)), *number));
        let mut before = 0;
        let (mut rows, others) = take_rows(&order, (MAX_FUNCTIONS, bytes), |&(number, samples)| {
            let mut row = Vec::new();
            self.push_function(&mut row, number, samples, before);
            before = samples.own.saturating_add(before);
            row
        });
        let known = self.tally.functions.get(OTHER);
        let known = known.map_or(0, |samples| samples.own);
        let own = |items: &[(usize, Samples)]| sum_of(items.iter().map(|(_, samples)| samples.own));
        let other = own(others).saturating_add(known);
        if known > 0 || !others.is_empty() {
            let before = own(&order[..rows.len()]);
            let mut row = Vec::new();
            self.begin_function(&mut row, OTHER_NAME, None);
            push_known(&mut row, "samples_self", Some(other));
            push_known(&mut row, "samples_total", None);
            push_decimals(
                &mut row,
                "self_seconds",
                Some(self.next(before, other)),
                MICRO,
            );
            push_decimals(&mut row, "total_seconds", None, MICRO);
            row.push(b'}');
            rows.push(row);
        }
        rows
    }

    /// Returns the rows of the stacks with the most samples. The last row has the sum of all other
    /// stacks. The rows take about `bytes` bytes.
    pub fn stacks(&self, bytes: usize) -> Vec<Vec<u8>> {
        let mut order: Vec<(&[u32], u64)> = self
            .tally
            .stacks
            .iter()
            .map(|(stack, samples)| (&**stack, *samples))
            .collect();
        order.sort_by_key(|(stack, samples)| (Reverse(*samples), *stack));
        let mut before = 0;
        let (mut rows, others) = take_rows(&order, (MAX_STACKS, bytes), |&(stack, samples)| {
            let mut row = Vec::new();
            self.push_stack(&mut row, &self.text_of(stack), samples, before);
            before = samples.saturating_add(before);
            row
        });
        let own = |items: &[(&[u32], u64)]| sum_of(items.iter().map(|(_, samples)| *samples));
        let other = own(others).saturating_add(self.tally.other_stacks);
        if other > 0 {
            let before = own(&order[..rows.len()]);
            let mut row = Vec::new();
            self.push_stack(&mut row, OTHER_NAME, other, before);
            rows.push(row);
        }
        rows
    }

    fn begin_function(&self, out: &mut Vec<u8>, name: &str, library: Option<&str>) {
        begin_row(out, self.time, &FUNCTION, self.owner);
        push_text(out, "function", Some(name));
        push_text(out, "library", library);
    }

    fn push_function(&self, out: &mut Vec<u8>, number: usize, samples: Samples, before: u64) {
        self.begin_function(
            out,
            self.functions.name(number),
            self.functions.library(number),
        );
        push_known(out, "samples_self", Some(samples.own));
        push_known(out, "samples_total", Some(samples.total));
        push_decimals(
            out,
            "self_seconds",
            Some(self.next(before, samples.own)),
            MICRO,
        );
        push_decimals(
            out,
            "total_seconds",
            Some(self.whole.of(samples.total)),
            MICRO,
        );
        out.push(b'}');
    }

    fn push_stack(&self, out: &mut Vec<u8>, text: &str, samples: u64, before: u64) {
        begin_row(out, self.time, &STACK, self.owner);
        push_text(out, "stack", Some(text));
        push_known(out, "samples", Some(samples));
        push_decimals(out, "cpu_seconds", Some(self.next(before, samples)), MICRO);
        out.push(b'}');
    }

    /// Returns the time of samples, in microseconds. `before` is the number of samples in the rows
    /// before.
    fn next(&self, before: u64, samples: u64) -> u64 {
        let end = self.whole.of_first(before.saturating_add(samples));
        end - self.whole.of_first(before)
    }

    /// Returns the names of the functions of a stack, the outermost first, separated by semicolons.
    fn text_of(&self, stack: &[u32]) -> String {
        let name = |number: &u32| {
            self.functions
                .name(usize::try_from(*number).unwrap_or(OTHER))
        };
        let mut length = 0;
        let fits = |number: &&u32| {
            length += name(number).len() + 1;
            length <= MAX_STACK
        };
        let kept: Vec<&str> = stack.iter().take_while(fits).map(name).collect();
        let cut = (kept.len() < stack.len()).then_some("...");
        let names: Vec<&str> = cut.into_iter().chain(kept.into_iter().rev()).collect();
        names.join(";")
    }
}

fn begin_row(out: &mut Vec<u8>, time: &str, section: &Section, owner: &Owner) {
    begin(out, time, section);
    out.extend_from_slice(&owner.members());
}
