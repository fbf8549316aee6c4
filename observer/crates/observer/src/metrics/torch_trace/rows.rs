//! The rows of traces. src/catalog/torch-trace.yaml describes the columns.

use encode::json::{push_known, push_text};

use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals};

/// The rows of processes that have a trace, or could have one.
pub const TRACE: Section = Section {
    name: "trace",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "trace",
        "file",
        "bytes",
        "written",
    ],
};

/// The outcome of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file is complete.
    Complete {
        /// Its bytes.
        bytes: u64,
        /// When it was complete, in milliseconds since 1970; `None` if that is not known.
        written: Option<u64>,
    },
    /// The process ended while it wrote the file, or the file is not a trace.
    Incomplete,
    /// The process has asked, and has no file: it has not reached the first step.
    Missing,
}

/// The row of a process.
pub struct TraceRow<'a> {
    /// The time of the row.
    pub time: &'a str,
    /// The process id.
    pub pid: i32,
    /// The rank in the default process group, from the variable RANK.
    pub rank: Option<u32>,
    /// The end of the row: the container and the program.
    pub tail: &'a [u8],
    /// The name of the file in the log.
    pub file: &'a str,
    /// The outcome.
    pub outcome: Outcome,
}

impl TraceRow<'_> {
    /// Returns the row.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, &TRACE);
        self.push_process(&mut out);
        let (name, size, written) = match self.outcome {
            Outcome::Complete { bytes, written } => ("complete", Some(bytes), written),
            Outcome::Incomplete => ("incomplete", None, None),
            Outcome::Missing => ("missing", None, None),
        };
        push_text(&mut out, "trace", Some(name));
        push_text(&mut out, "file", size.map(|_| self.file));
        push_known(&mut out, "bytes", size);
        push_decimals(&mut out, "written", written, 3);
        out.extend_from_slice(self.tail);
        out
    }

    /// Returns the members that describe the process of a raw file, each after a comma.
    pub fn origin(&self) -> Vec<u8> {
        let mut out = self.tail.strip_suffix(b"}").unwrap_or(self.tail).to_vec();
        self.push_process(&mut out);
        out
    }

    fn push_process(&self, out: &mut Vec<u8>) {
        push_known(out, "pid", Some(u64::from(self.pid.unsigned_abs())));
        push_known(out, "world_rank", self.rank.map(u64::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: Outcome) -> String {
        let row = TraceRow {
            time: "T",
            pid: 7,
            rank: Some(3),
            tail: br#","container":"app","program":"train.py"}"#,
            file: "trace_7.json",
            outcome,
        };
        String::from_utf8(row.write()).unwrap()
    }

    #[test]
    fn a_row_has_the_declared_columns() {
        let complete = Outcome::Complete {
            bytes: 12,
            written: Some(1500),
        };
        assert_eq!(
            row(complete),
            r#"{"time":"T","section":"trace","pid":7,"world_rank":3,"trace":"complete","file":"trace_7.json","bytes":12,"written":1.500,"container":"app","program":"train.py"}"#
        );
        for outcome in [complete, Outcome::Incomplete, Outcome::Missing] {
            let value: serde_json::Value = serde_json::from_str(&row(outcome)).unwrap();
            let members = value.as_object().unwrap().keys();
            let mut names: Vec<String> = members.cloned().collect();
            names.retain(|name| name != "time" && name != "section");
            names.sort_unstable();
            assert_eq!(names, TRACE.sorted_columns());
            assert_eq!(value["file"].is_null(), outcome != complete);
        }
    }
}
