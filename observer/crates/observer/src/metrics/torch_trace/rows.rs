//! The rows of traces.

use crate::sampling::row::{id, number, row, text, thousandths};

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
    /// Returns the members that describe the process of a raw file, each after a comma.
    pub fn origin(&self) -> Vec<u8> {
        let mut out = self.tail.strip_suffix(b"}").unwrap_or(self.tail).to_vec();
        number(&mut out, ",\"pid\":", id(self.pid));
        push_rank(&mut out, self.rank);
        out
    }
}

row! {
    /// The rank of a process.
    RANK;
    /// Appends the rank.
    fn push_rank(out, rank: Option<u32>) {
        /// the rank in the variable RANK of torchrun or a variable of a launcher of MPI; null if
        /// the process had none when it executed its program
        world_rank: number(rank.map(u64::from));
    }
}

row! {
    /// the traces of PyTorch: `ridealong collect --output artifacts` writes the files, which
    /// https://ui.perfetto.dev shows
    pub TRACE: "trace" of "process", "Traces of PyTorch";
    /// Returns the row of a process.
    pub fn trace(row: &TraceRow<'_>) for process(row.time, id(row.pid), row.tail) {
        let (name, size, written) = match row.outcome {
            Outcome::Complete { bytes, written } => ("complete", Some(bytes), written),
            Outcome::Incomplete => ("incomplete", None, None),
            Outcome::Missing => ("missing", None, None),
        };
        ..RANK: push_rank(row.rank);
        /// complete; incomplete if the process ended while it recorded or wrote the trace; missing,
        /// at the end, if a rank has recorded none
        trace: text(name);
        /// the name of the raw file of a complete trace
        file: text(size.map(|_| row.file));
        /// the size of the file
        bytes: number(size) => gauge("bytes").title("Size of the trace").not_exported();
        /// when the file was complete, in seconds since 1970 by the clock of the node
        written: thousandths(written) => gauge("s").not_exported();
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
        String::from_utf8(trace(&row)).unwrap()
    }

    #[test]
    fn only_a_complete_trace_has_a_file() {
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
            assert_eq!(value["file"].is_null(), outcome != complete);
        }
    }
}
