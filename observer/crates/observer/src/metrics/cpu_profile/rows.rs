//! The rows of the metric cpu-profile.

use std::cmp::Reverse;

use super::functions::{Functions, OTHER, OTHER_NAME};
use super::records::Header;
use super::tally::{Samples, Tally};
use super::time::SampledTime;
use crate::sampling::json_rows::take_rows;
use crate::sampling::row::{attempt, id, millionths, number, row, text};

/// The maximum rows of functions and of stacks of a process.
pub const MAX_FUNCTIONS: usize = 500;
/// See [`MAX_FUNCTIONS`].
pub const MAX_STACKS: usize = 2000;
/// The maximum bytes of a stack in a row. Of a longer stack, the outermost functions are missing.
const MAX_STACK: usize = 8192;

/// The process that a row describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The container; `None` if containers have no names.
    pub container: Option<String>,
    /// The program.
    pub program: String,
    /// The process id.
    pub pid: i32,
    /// The attempt of the container.
    pub attempt: u32,
}

impl Owner {
    /// Returns the members that describe the process, each after a comma.
    pub fn members(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_owner(&mut out, self);
        out
    }
}

row! {
    /// The columns that describe the process.
    OWNER;
    /// Appends these columns.
    fn push_owner(out, owner: &Owner) {
        /// the container of the process
        container: text(owner.container.as_deref()) => key();
        /// the name of the program
        program: text(&*owner.program) => key();
        /// process id, in the process namespace of the pod
        pid: number(id(owner.pid)) => key();
        /// the start of the container, of those that were observed: 2 after its first restart; null
        /// for the first one
        attempt: attempt(owner.attempt);
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

row! {
    /// the processes that were profiled, each once, after its end
    pub PROCESS: "process" of "process", "Processes";
    /// Appends the row of a process. `header` is `None` if the profile is missing.
    pub fn push_process(out, time: &str, owner: &Owner, header: Option<Header>, extent: Extent)
    for thing(time) {
        ..OWNER: push_owner(owner);
        /// samples of all threads
        samples: number(extent.time().map(|time| time.samples)) => gauge("count").title("Samples");
        /// processor time after the first half second: ticks of the timer divided by the frequency.
        /// Each sample stands for an equal part of this time
        cpu_seconds: millionths(extent.time().map(|time| time.microseconds))
            => gauge("s").title("Sampled CPU time").quantity("process.cpu.time").sampled();
        /// samples in a second of processor time
        frequency: number(header.map(|header| 1_000_000 / header.period))
            => gauge("1/s").title("Samples per second of CPU time");
        /// complete; partial if more than 5 percent of the ticks are missing; incomplete if the end
        /// is missing, for example because the process was killed; or missing
        profile: text(extent.word());
    }
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
            let (name, own) = (self.functions.name(number), self.next(before, samples.own));
            before = samples.own.saturating_add(before);
            let library = self.functions.library(number);
            self.function(name, library, (samples.own, own), Some(samples.total))
        });
        let known = self.tally.functions.get(OTHER);
        let known = known.map_or(0, |samples| samples.own);
        let own = |items: &[(usize, Samples)]| sum_of(items.iter().map(|(_, samples)| samples.own));
        let other = own(others).saturating_add(known);
        if known > 0 || !others.is_empty() {
            let before = own(&order[..rows.len()]);
            let own = (other, self.next(before, other));
            rows.push(self.function(OTHER_NAME, None, own, None));
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
            let row = self.stack(&self.text_of(stack), samples, self.next(before, samples));
            before = samples.saturating_add(before);
            row
        });
        let own = |items: &[(&[u32], u64)]| sum_of(items.iter().map(|(_, samples)| *samples));
        let other = own(others).saturating_add(self.tally.other_stacks);
        if other > 0 {
            let before = own(&order[..rows.len()]);
            rows.push(self.stack(OTHER_NAME, other, self.next(before, other)));
        }
        rows
    }

    row! {
        /// the functions of each process with the most samples of their own, and the sum (other) of
        /// all others
        pub FUNCTION: "function" of "function";
        /// Returns the row of a function. `own` is its own samples and their time.
        fn function(&self, name: &str, library: Option<&str>, own: (u64, u64), total: Option<u64>)
        for thing(self.time) {
            ..OWNER: push_owner(self.owner);
            /// the name of the function, without parameters; the name of its library in brackets if
            /// it has no symbol
            function: text(name) => key();
            /// the file name of the library or program that contains the function
            library: text(library) => key();
            /// samples in the function itself
            samples_self: number(own.0) => gauge("count");
            /// samples in the function and in the functions that it has called
            samples_total: number(total) => gauge("count");
            /// processor time in the function itself
            self_seconds: millionths(own.1) => gauge("s");
            /// processor time in the function and in the functions that it has called
            total_seconds: millionths(total.map(|total| self.whole.of(total))) => gauge("s");
        }
    }

    row! {
        /// the stacks of functions of each process with the most samples, and the sum (other) of
        /// all others
        pub STACK: "stack" of "stack";
        /// Returns the row of a stack.
        fn stack(&self, stack: &str, samples: u64, microseconds: u64) for thing(self.time) {
            ..OWNER: push_owner(self.owner);
            /// the functions, the outermost first, separated by semicolons
            stack: text(stack) => key();
            /// samples with this stack
            samples: number(samples) => gauge("count");
            /// processor time with this stack
            cpu_seconds: millionths(microseconds) => gauge("s");
        }
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
