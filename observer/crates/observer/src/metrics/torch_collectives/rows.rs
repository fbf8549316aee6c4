//! The rows of processes, their process groups and their calls. src/catalog/torch-collectives.yaml
//! describes the columns.

use std::cmp::Reverse;

use encode::json::{push_known, push_text};

use super::dump::{Collective, Dump, Group};
use super::memory::Head;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals};

/// The rows of processes.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "world_size",
        "state",
        "copies",
        "longest_copy",
        "copy_seconds",
    ],
};

/// The rows of process groups.
pub const GROUP: Section = Section {
    name: "group",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "group",
        "description",
        "size",
        "members",
        "last_number",
    ],
};

/// The rows of calls.
pub const COLLECTIVE: Section = Section {
    name: "collective",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "group",
        "number",
        "operation",
        "called",
        "state",
    ],
};

/// The maximum process groups of a process that have rows: those with the latest calls.
const MAX_GROUPS: usize = 16;
const MICRO: u32 = 6;
const MICROSECOND: u64 = 1000;

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

impl TorchRows<'_> {
    fn begin(&self, section: &Section) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, section);
        push_known(&mut out, "pid", Some(u64::from(self.pid.unsigned_abs())));
        push_known(&mut out, "world_rank", self.head.rank.map(u64::from));
        out
    }

    fn end(&self, mut out: Vec<u8>) -> Vec<u8> {
        out.extend_from_slice(self.tail);
        out
    }

    /// Returns the row of the process.
    pub fn process(&self) -> Vec<u8> {
        let head = self.head;
        let mut out = self.begin(&PROCESS);
        push_known(&mut out, "world_size", head.size.map(u64::from));
        let state = if self.has_ended { "ended" } else { "running" };
        push_text(&mut out, "state", Some(state));
        push_known(&mut out, "copies", Some(head.copies));
        push_time(&mut out, "longest_copy", head.longest);
        push_time(&mut out, "copy_seconds", head.whole);
        self.end(out)
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
        let row = |(group, last): (&Group, Option<(u64, u64)>)| {
            let mut out = self.begin(&GROUP);
            push_text(&mut out, "group", Some(&group.name));
            push_text(&mut out, "description", Some(&group.description));
            push_known(&mut out, "size", group.size);
            push_text(&mut out, "members", Some(&group.members));
            push_known(&mut out, "last_number", last.map(|(_, number)| number));
            self.end(out)
        };
        groups.into_iter().map(row).collect()
    }

    /// Returns the row of a call.
    pub fn collective(&self, call: &Collective) -> Vec<u8> {
        let mut out = self.begin(&COLLECTIVE);
        push_text(&mut out, "group", Some(&call.group));
        push_known(&mut out, "number", Some(call.number));
        push_text(&mut out, "operation", Some(&call.operation));
        push_time(&mut out, "called", call.called);
        push_text(&mut out, "state", call.state);
        self.end(out)
    }
}

/// Appends a time in nanoseconds.
fn push_time(out: &mut Vec<u8>, key: &str, nanoseconds: u64) {
    push_decimals(out, key, Some(nanoseconds / MICROSECOND), MICRO);
}

#[cfg(test)]
mod tests {
    use super::super::dump::{self, tests::EXAMPLE};
    use super::super::memory::{self, tests::example};
    use super::*;
    use crate::sampling::json_rows::columns_of;

    fn json(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    #[test]
    fn the_rows_have_the_declared_columns_and_their_values() {
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
        assert_eq!(columns_of(&process), PROCESS.sorted_columns());
        assert_eq!(json(&process)["longest_copy"], 0.005);
        let [group] = &rows.groups(&dump)[..] else {
            panic!()
        };
        assert_eq!(columns_of(group), GROUP.sorted_columns());
        assert_eq!(json(group)["last_number"], 1);
        let call = rows.collective(&dump.collectives[0]);
        assert_eq!(columns_of(&call), COLLECTIVE.sorted_columns());
        assert_eq!(json(&call)["called"], 2.0);
        assert_eq!(json(&call)["world_rank"], 1);
    }
}
