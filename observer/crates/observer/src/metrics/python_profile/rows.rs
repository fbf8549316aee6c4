//! The rows of the metric python-profile.

use std::cmp::Reverse;

use super::memory::{MAIN, OTHER, Profile, ROOTS, State, Sum, Thread};
use super::tally::{self, Line};
use crate::sampling::json_rows::take_rows;
use crate::sampling::row::{id, nanoseconds, number, row, text};

/// The maximum rows of functions and of stacks of a process.
const MAX_FUNCTIONS: usize = 500;
const MAX_STACKS: usize = 2000;
/// The maximum threads of a process that have rows at a timepoint.
const MAX_THREADS: usize = 4;

/// The rows of a process.
pub struct ProfileRows<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// The process id.
    pub pid: i32,
    /// The end of each row: the container and the program.
    pub tail: &'a [u8],
    /// Whether the process has ended.
    pub has_ended: bool,
    /// What the sampler has seen.
    pub profile: &'a Profile,
}

impl ProfileRows<'_> {
    /// Returns the time in which threads were running, if that is known.
    fn running(&self, sum: Sum) -> Option<u64> {
        self.profile.knows_activity.then_some(sum.running)
    }

    row! {
        /// the processes that run CPython: at each timepoint, and at their end
        pub PROCESS: "process" of "process", "Python";
        /// Returns the row of the process.
        pub fn process(&self) for process(self.time, id(self.pid), self.tail) {
            let profile = self.profile;
            let [_, main] = tally::totals(profile);
            let version = profile.minor.map(|minor| format!("3.{minor}"));
            /// the version of CPython, such as 3.12; null if it is not known
            python: text(version.as_deref());
            /// running or ended
            state: text(if self.has_ended { "ended" } else { "running" });
            /// sampling; starting if the interpreter does not run yet; or why there are no samples:
            /// free-threaded, unknown-version, unreadable, no-thread
            sampler: text(word_of(profile.state));
            /// samples of all threads
            samples: number(profile.samples) => counter("count").title("Samples of Python");
            /// samples whose stack could not be read
            unread: number(profile.failed) => counter("count").not_exported();
            /// time for which the samples of the main thread stand
            main_seconds: nanoseconds(main.time) => counter("s").title("Python, main thread");
            /// the part of main_seconds in which the thread was running or waited for a processor;
            /// null if that is not known
            main_running: nanoseconds(self.running(main))
                => counter("s").title("Python, main thread running");
            /// processor time of the thread that takes the samples
            sampler_seconds: nanoseconds(profile.cost)
                => counter("s").title("CPU time of the sampler").not_exported();
        }
    }

    /// Returns the rows of the stacks in which the threads are at a time in nanoseconds since boot:
    /// first that of the main thread, then those that have not changed for the longest time.
    pub fn now(&self, now: u64) -> Vec<Vec<u8>> {
        let mut threads: Vec<&Thread> = self.profile.threads.iter().collect();
        threads.sort_by_key(|thread| (!thread.is_main, thread.since, thread.tid));
        threads.truncate(MAX_THREADS);
        let row = |thread| self.thread(thread, now);
        threads.into_iter().map(row).collect()
    }

    row! {
        /// at each timepoint, the stacks in which the threads of each process are: that of the main
        /// thread, and the three others that have not changed for the longest time
        pub NOW: "now" of "thread";
        /// Returns the row of a thread.
        fn thread(&self, thread: &Thread, now: u64)
        for process(self.time, id(self.pid), self.tail) {
            /// the id of the thread, as the process sees it
            thread: number(u64::from(thread.tid)) => key();
            /// main for the main thread, or other
            threads: text(threads_of(thread.is_main));
            let is_running = thread.is_running.filter(|_| !self.profile.is_old(now));
            /// running, also if the thread waits for a processor; or waiting; null if that is not
            /// known
            activity: text(is_running.map(|runs| if runs { "running" } else { "waiting" }));
            /// the functions, the outermost first, separated by semicolons, as in the section stack
            stack: text(&*tally::stack(self.profile, thread.node as usize));
            /// how long the samples have found the same stack, line by line
            unchanged: nanoseconds(now.saturating_sub(thread.since)) => gauge("s").not_exported();
        }
    }

    /// Returns the rows of the lines of functions with the most time of their own. The last row has
    /// the sum of all others. The rows take about `bytes` bytes.
    pub fn functions(&self, bytes: usize) -> Vec<Vec<u8>> {
        let lines = |root| {
            let lines = tally::lines(self.profile, root).into_iter();
            lines.map(move |(name, line)| (root == MAIN, name, line))
        };
        let mut lines: Vec<(bool, &str, Line)> = (MAIN..ROOTS).flat_map(lines).collect();
        lines.retain(|(_, _, line)| line.total.samples > 0);
        lines.sort_by_key(|(is_main, name, line)| {
            let time = (line.own.time, line.total.time);
            (Reverse((time, *is_main)), *name)
        });
        let row = |(is_main, name, line): &(bool, &str, Line)| {
            self.function(Some(*is_main), name, line.own, Some(line.total))
        };
        let other = |sum| self.function(None, OTHER, sum, None);
        let (mut rows, others) = take_rows(&lines, (MAX_FUNCTIONS, bytes), row);
        let sum = sum_of(others.iter().map(|(_, _, line)| line.own));
        rows.extend(sum.map(other));
        rows
    }

    row! {
        /// the lines of functions of each process with the most time of their own, and the sum
        /// (other) of all others
        pub FUNCTION: "function" of "function";
        /// Returns the row of a line. Without `is_main`, it is of all threads.
        fn function(&self, is_main: Option<bool>, name: &str, own: Sum, total: Option<Sum>)
        for process(self.time, id(self.pid), self.tail) {
            /// main for the main thread, other for all others; null in the row (other)
            threads: text(is_main.map(threads_of)) => key();
            /// function (file:line): the line in which the function was
            function: text(name) => key();
            /// samples in the line itself
            samples_self: number(own.samples) => gauge("count");
            /// samples in the line and in the functions that it has called
            samples_total: number(total.map(|total| total.samples)) => gauge("count");
            /// time in the line itself
            self_wall: nanoseconds(own.time) => gauge("s");
            /// the part of self_wall in which the thread was running or waited for a processor;
            /// null if that is not known
            self_running: nanoseconds(self.running(own)) => gauge("s");
            /// time in the line and in the functions that it has called
            total_wall: nanoseconds(total.map(|total| total.time)) => gauge("s");
            /// the part of total_wall in which the thread was running or waited for a processor
            total_running: nanoseconds(total.and_then(|total| self.running(total))) => gauge("s");
        }
    }

    /// Returns the rows of the stacks with the most time. The last row has the sum of all others.
    /// The rows take about `bytes` bytes.
    pub fn stacks(&self, bytes: usize) -> Vec<Vec<u8>> {
        let nodes = self.profile.nodes.iter().enumerate();
        let mut stacks: Vec<(usize, Sum)> = nodes
            .map(|(number, node)| (number, node.own))
            .filter(|(_, sum)| sum.samples > 0)
            .collect();
        stacks.sort_by_key(|(number, sum)| (Reverse(sum.time), *number));
        let row = |(number, sum): &(usize, Sum)| {
            let node = self.profile.nodes.get(*number);
            let is_main = node.map(|node| node.root == MAIN);
            self.stack(is_main, &tally::stack(self.profile, *number), *sum)
        };
        let other = |sum| self.stack(None, OTHER, sum);
        let (mut rows, others) = take_rows(&stacks, (MAX_STACKS, bytes), row);
        rows.extend(sum_of(others.iter().map(|(_, sum)| *sum)).map(other));
        rows
    }

    row! {
        /// the stacks of each process with the most time, and the sum (other) of all others
        pub STACK: "stack" of "stack";
        /// Returns the row of a stack. Without `is_main`, it is of all threads.
        fn stack(&self, is_main: Option<bool>, stack: &str, sum: Sum)
        for process(self.time, id(self.pid), self.tail) {
            /// main for the main thread, other for all others; null in the row (other)
            threads: text(is_main.map(threads_of)) => key();
            /// the functions with file and line, the outermost first, separated by semicolons
            stack: text(stack) => key();
            /// samples with this stack
            samples: number(sum.samples) => gauge("count");
            /// time with this stack
            wall: nanoseconds(sum.time) => gauge("s");
            /// the part of wall in which the thread was running or waited for a processor; null if
            /// that is not known
            running: nanoseconds(self.running(sum)) => gauge("s");
        }
    }
}

/// Returns the word for the main thread, or for the others.
fn threads_of(is_main: bool) -> &'static str {
    if is_main { "main" } else { "other" }
}

/// Returns the sum, if it has samples.
fn sum_of(sums: impl Iterator<Item = Sum>) -> Option<Sum> {
    let mut whole = Sum::default();
    sums.for_each(|sum| whole.add(sum));
    (whole.samples > 0).then_some(whole)
}

/// Returns the word for what the sampler does.
fn word_of(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Sampling => "sampling",
        State::FreeThreaded => "free-threaded",
        State::UnknownVersion => "unknown-version",
        State::Unreadable => "unreadable",
        State::NoThread => "no-thread",
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::{read, tests::example};
    use super::*;

    fn rows_of(profile: &Profile) -> ProfileRows<'_> {
        ProfileRows {
            time: "T",
            pid: 7,
            tail: b",\"container\":\"app\",\"program\":\"train.py\"}",
            has_ended: true,
            profile,
        }
    }

    fn json(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    #[test]
    fn a_line_has_the_time_of_the_lines_that_it_called() {
        let profile = read(&example()).unwrap();
        let rows = rows_of(&profile).functions(1 << 20);
        let main = json(&rows[1]);
        assert_eq!(main["function"], "main (/app/train.py:10)");
        assert_eq!(
            (&main["self_wall"], &main["total_wall"]),
            (&0.01.into(), &0.05.into())
        );
        assert_eq!(main["total_running"], 0.01);
    }

    #[test]
    fn lines_and_stacks_without_room_are_summed_up() {
        let profile = read(&example()).unwrap();
        let rows = rows_of(&profile);
        for all in [rows.functions(0), rows.stacks(0)] {
            assert_eq!(all.len(), 1);
            assert!(json(&all[0])["threads"].is_null());
        }
        assert_eq!(json(&rows.stacks(0)[0])["wall"], 0.05);
    }

    #[test]
    fn the_stack_is_that_of_the_thread() {
        let profile = read(&example()).unwrap();
        let now = json(&rows_of(&profile).now(5_000_000)[0]);
        let stack = "main (/app/train.py:10);work (json/decoder.py:20)";
        assert_eq!(
            (&now["stack"], &now["activity"]),
            (&stack.into(), &"waiting".into())
        );
        assert_eq!(now["unchanged"], 0.004);
    }

    #[test]
    fn the_activity_of_a_thread_is_not_known_while_the_sampler_does_not_look() {
        let profile = read(&example()).unwrap();
        let now = json(&rows_of(&profile).now(10_000_000_000)[0]);
        assert!(now["activity"].is_null());
        assert_eq!(now["unchanged"], 9.999);
    }
}
