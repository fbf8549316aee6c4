//! The rows of processes, their process groups and their calls.

use std::cmp::Reverse;

use super::dump::{Collective, Dump, Group};
use super::memory::Head;
use crate::sampling::row::{id, nanoseconds, number, row, text};

/// The maximum process groups of a process that have rows: those with the latest calls.
const MAX_GROUPS: usize = 16;

/// The rows of a process.
pub struct TorchRows<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// The process id.
    pub pid: i32,
    /// The end of each row: the container and the program.
    pub tail: &'a [u8],
    /// Whether the process has ended.
    pub has_ended: bool,
    /// The header of its memory.
    pub head: &'a Head,
}

row! {
    /// The rank of a process.
    RANK;
    /// Appends the rank.
    fn push_rank(out, head: &Head) {
        /// the rank in the default process group
        world_rank: number(head.rank.map(u64::from));
    }
}

impl TorchRows<'_> {
    row! {
        /// the processes that have made a process group of PyTorch: at each timepoint, and at their
        /// end
        pub PROCESS: "process" of "process", "PyTorch";
        /// Returns the row of the process.
        pub fn process(&self) for process(self.time, id(self.pid), self.tail) {
            let head = self.head;
            ..RANK: push_rank(head);
            /// the number of ranks in the default process group
            world_size: number(head.size.map(u64::from)) => gauge("count").not_exported();
            /// running or ended
            state: text(if self.has_ended { "ended" } else { "running" });
            /// copies of the flight recorder
            copies: number(head.copies)
                => counter("count").title("Copies of the flight recorder").not_exported();
            /// the longest time of a copy, for which no other thread of Python ran
            longest_copy: nanoseconds(head.longest)
                => gauge("s").title("Longest copy of the flight recorder");
            /// the time of all copies
            copy_seconds: nanoseconds(head.whole)
                => counter("s").title("Time of copies of the flight recorder").not_exported();
        }
    }

    /// Returns the rows of the process groups with the latest calls.
    pub fn groups(&self, dump: &Dump) -> Vec<Vec<u8>> {
        let last = |group: &Group| {
            let own = dump
                .collectives
                .iter()
                .rev()
                .find(|it| it.group == group.name);
            own.map(|call| (call.called, call.number))
        };
        let mut groups: Vec<_> = dump
            .groups
            .iter()
            .map(|group| (group, last(group)))
            .collect();
        groups.sort_by_key(|(_, last)| Reverse(*last));
        groups.truncate(MAX_GROUPS);
        let row = |(group, last)| self.group(group, last);
        groups.into_iter().map(row).collect()
    }

    row! {
        /// the process groups in a copy of the flight recorder, at most 16: those with the latest
        /// calls
        pub GROUP: "group" of "process";
        /// Returns the row of a process group. `last` is the time and the number of its last call.
        fn group(&self, group: &Group, last: Option<(u64, u64)>)
        for process(self.time, id(self.pid), self.tail) {
            ..RANK: push_rank(self.head);
            /// the name of the process group, which is the same in all members; 0#2 is the second
            /// group 0, after the default process group was destroyed
            group: text(&*group.name) => key();
            /// the description of the process group, such as default_pg
            description: text(&*group.description);
            /// the number of members; null if they are not known
            size: number(group.size) => gauge("count").not_exported();
            /// the ranks of the members: numbers, and ranges such as 0-7, or 0-56:8, whose step is
            /// 8
            members: text(&*group.members);
            /// the number of the latest call in the process group; null if it has none
            last_number: number(last.map(|(_, number)| number))
                => counter("count").title("Collective calls of PyTorch").not_exported();
        }
    }

    row! {
        /// the latest calls of collective operations that have no row yet: at each timepoint 256 of
        /// all processes together, but at least 32 of each; at the end of a process 2000
        pub COLLECTIVE: "collective" of "process";
        /// Returns the row of a call.
        pub fn collective(&self, call: &Collective)
        for process(self.time, id(self.pid), self.tail) {
            ..RANK: push_rank(self.head);
            /// the name of the process group, as in the section group
            group: text(&*call.group) => key();
            /// the number of the call in the process group, which is the same in all members
            number: number(call.number) => key();
            /// the operation, such as gloo:all_reduce
            operation: text(&*call.operation);
            /// when the process made the call, in seconds since 1970 by the clock of its node
            called: nanoseconds(call.called) => gauge("s").not_exported();
            /// scheduled, started or completed, as the flight recorder knows it; Gloo leaves it
            /// scheduled
            state: text(call.state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dump::{self, tests::EXAMPLE};
    use super::super::memory::{self, tests::example};
    use super::*;

    fn json(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    #[test]
    fn the_rows_have_their_values() {
        let (head, text) = memory::read(example(1, EXAMPLE.as_bytes()).as_slice()).unwrap();
        let dump = dump::parse(&text).unwrap();
        let rows = TorchRows {
            time: "T",
            pid: 7,
            tail: b",\"container\":\"app\",\"program\":\"train.py\"}",
            has_ended: true,
            head: &head,
        };
        let process = rows.process();
        assert_eq!(json(&process)["longest_copy"], 0.005);
        let [group] = &rows.groups(&dump)[..] else {
            panic!()
        };
        assert_eq!(json(group)["last_number"], 1);
        let call = rows.collective(&dump.collectives[0]);
        assert_eq!(json(&call)["called"], 2.0);
        assert_eq!(json(&call)["world_rank"], 1);
    }
}
