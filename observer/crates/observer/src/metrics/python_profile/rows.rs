//! The rows of the metric python-profile, as JSON Lines. src/catalog/python-profile.yaml describes
//! their columns.

use std::cmp::Reverse;

use encode::json::{push_known, push_text};

use super::memory::{MAIN, OTHER, Profile, ROOTS, State, Sum, Thread};
use super::tally::{self, Line};
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals, take_rows};

/// The rows of processes.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "python",
        "state",
        "sampler",
        "samples",
        "unread",
        "main_seconds",
        "main_running",
        "sampler_seconds",
    ],
};

/// The rows of the stacks in which threads are now.
pub const NOW: Section = Section {
    name: "now",
    columns: &[
        "container",
        "program",
        "pid",
        "thread",
        "threads",
        "activity",
        "stack",
        "unchanged",
    ],
};

/// The rows of functions.
pub const FUNCTION: Section = Section {
    name: "function",
    columns: &[
        "container",
        "program",
        "pid",
        "threads",
        "function",
        "samples_self",
        "samples_total",
        "self_wall",
        "self_running",
        "total_wall",
        "total_running",
    ],
};

/// The rows of stacks.
pub const STACK: Section = Section {
    name: "stack",
    columns: &[
        "container",
        "program",
        "pid",
        "threads",
        "stack",
        "samples",
        "wall",
        "running",
    ],
};

/// The maximum rows of functions and of stacks of a process.
const MAX_FUNCTIONS: usize = 500;
const MAX_STACKS: usize = 2000;
/// The maximum threads of a process that have rows at a timepoint.
const MAX_THREADS: usize = 4;
const MICRO: u32 = 6;
const MICROSECOND: u64 = 1000;

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
    fn begin(&self, section: &Section) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, section);
        push_known(&mut out, "pid", Some(u64::from(self.pid.unsigned_abs())));
        out
    }

    fn end(&self, mut out: Vec<u8>) -> Vec<u8> {
        out.extend_from_slice(self.tail);
        out
    }

    /// Appends the time in which threads were running, if that is known.
    fn push_running(&self, out: &mut Vec<u8>, key: &str, sum: Sum) {
        let running = self.profile.knows_activity.then_some(sum.running);
        push_time(out, key, running);
    }

    /// Returns the row of the process.
    pub fn process(&self) -> Vec<u8> {
        let profile = self.profile;
        let [_, main] = tally::totals(profile);
        let mut out = self.begin(&PROCESS);
        let version = profile.minor.map(|minor| format!("3.{minor}"));
        push_text(&mut out, "python", version.as_deref());
        let state = if self.has_ended { "ended" } else { "running" };
        push_text(&mut out, "state", Some(state));
        push_text(&mut out, "sampler", Some(word_of(profile.state)));
        push_known(&mut out, "samples", Some(profile.samples));
        push_known(&mut out, "unread", Some(profile.failed));
        push_time(&mut out, "main_seconds", Some(main.time));
        self.push_running(&mut out, "main_running", main);
        push_time(&mut out, "sampler_seconds", Some(profile.cost));
        self.end(out)
    }

    /// Returns the rows of the stacks in which the threads are at a time in nanoseconds since boot:
    /// first that of the main thread, then those that have not changed for the longest time.
    pub fn now(&self, now: u64) -> Vec<Vec<u8>> {
        let mut threads: Vec<&Thread> = self.profile.threads.iter().collect();
        threads.sort_by_key(|thread| (!thread.is_main, thread.since, thread.tid));
        threads.truncate(MAX_THREADS);
        let row = |thread: &Thread| {
            let mut out = self.begin(&NOW);
            push_known(&mut out, "thread", Some(u64::from(thread.tid)));
            push_text(&mut out, "threads", Some(threads_of(thread.is_main)));
            let activity = |runs| if runs { "running" } else { "waiting" };
            let is_running = thread.is_running.filter(|_| !self.profile.is_old(now));
            push_text(&mut out, "activity", is_running.map(activity));
            let stack = tally::stack(self.profile, thread.node as usize);
            push_text(&mut out, "stack", Some(&stack));
            push_time(
                &mut out,
                "unchanged",
                Some(now.saturating_sub(thread.since)),
            );
            self.end(out)
        };
        threads.into_iter().map(row).collect()
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

    /// Returns the row of a line. Without `is_main`, it is of all threads.
    fn function(&self, is_main: Option<bool>, name: &str, own: Sum, total: Option<Sum>) -> Vec<u8> {
        let mut out = self.begin(&FUNCTION);
        push_text(&mut out, "threads", is_main.map(threads_of));
        push_text(&mut out, "function", Some(name));
        push_known(&mut out, "samples_self", Some(own.samples));
        push_known(&mut out, "samples_total", total.map(|total| total.samples));
        push_time(&mut out, "self_wall", Some(own.time));
        self.push_running(&mut out, "self_running", own);
        push_time(&mut out, "total_wall", total.map(|total| total.time));
        match total {
            Some(total) => self.push_running(&mut out, "total_running", total),
            None => push_time(&mut out, "total_running", None),
        }
        self.end(out)
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

    /// Returns the row of a stack. Without `is_main`, it is of all threads.
    fn stack(&self, is_main: Option<bool>, text: &str, sum: Sum) -> Vec<u8> {
        let mut out = self.begin(&STACK);
        push_text(&mut out, "threads", is_main.map(threads_of));
        push_text(&mut out, "stack", Some(text));
        push_known(&mut out, "samples", Some(sum.samples));
        push_time(&mut out, "wall", Some(sum.time));
        self.push_running(&mut out, "running", sum);
        self.end(out)
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

/// Appends a time in nanoseconds.
fn push_time(out: &mut Vec<u8>, key: &str, nanoseconds: Option<u64>) {
    push_decimals(out, key, nanoseconds.map(|time| time / MICROSECOND), MICRO);
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
    use crate::sampling::json_rows::columns_of;

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
    fn the_rows_have_the_declared_columns() {
        let profile = read(&example()).unwrap();
        let rows = rows_of(&profile);
        assert_eq!(columns_of(&rows.process()), PROCESS.sorted_columns());
        assert_eq!(columns_of(&rows.now(5_000_000)[0]), NOW.sorted_columns());
        for row in rows.functions(1 << 20) {
            assert_eq!(columns_of(&row), FUNCTION.sorted_columns());
        }
        for row in rows.stacks(1 << 20) {
            assert_eq!(columns_of(&row), STACK.sorted_columns());
        }
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
