//! The rows about the processes of an MPI job that have not returned from `MPI_Init` yet.
//! src/catalog/mpi-trace.yaml describes their columns.

use encode::json::{push_known, push_text};

use super::launcher::Assigned;
use super::rows::{MICRO, some};
use crate::runtime::declaration::Section;
use crate::runtime::log::Log;
use crate::sampling::json_rows::{begin, push_decimals};

/// The rows.
pub const START: Section = Section {
    name: "start",
    columns: &[
        "container",
        "program",
        "pid",
        "mpi_rank",
        "mpi_size",
        "job",
        "call",
        "waited",
        "process_state",
        "cpu_time",
    ],
};

/// The row of a process.
pub struct StartRow<'a> {
    /// The time of the row.
    pub time: &'a str,
    /// The process id in the PID namespace of the pod.
    pub pid: u32,
    /// What the launcher has assigned to the process.
    pub assigned: &'a Assigned,
    /// The function in which the process is, without `MPI_`; `None` if it has not called it.
    pub call: Option<&'a str>,
    /// The microseconds since the call began, or since the process started.
    pub microseconds: u64,
    /// The state of the process, as in the rows of open calls.
    pub state: &'a str,
    /// The processor time of the process in microseconds, if it is known.
    pub cpu: Option<u64>,
    /// The end of the row.
    pub tail: &'a [u8],
}

impl StartRow<'_> {
    /// Writes the row into a log.
    pub fn write(&self, log: &mut Log) {
        log.line().extend_from_slice(&self.build());
        log.end_line();
    }

    fn build(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Assigned { job, size, rank } = self.assigned;
        begin(&mut out, self.time, &START);
        push_known(&mut out, "pid", Some(u64::from(self.pid)));
        push_known(&mut out, "mpi_rank", rank.map(u64::from));
        let size = Some(u64::from(*size)).filter(|size| *size > 0);
        push_known(&mut out, "mpi_size", size);
        push_text(&mut out, "job", some(job));
        let call = self.call.map(|call| format!("MPI_{call}"));
        push_text(&mut out, "call", call.as_deref());
        push_decimals(&mut out, "waited", Some(self.microseconds), MICRO);
        push_text(&mut out, "process_state", Some(self.state));
        push_decimals(&mut out, "cpu_time", self.cpu, MICRO);
        out.extend_from_slice(self.tail);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::json_rows::columns_of;

    fn row(assigned: &Assigned, call: Option<&'static str>) -> Vec<u8> {
        let row = StartRow {
            time: "T",
            pid: 7,
            assigned,
            call,
            microseconds: 2_500_000,
            state: "sleeping",
            cpu: None,
            tail: b",\"container\":\"app\",\"program\":\"lmp\"}",
        };
        row.build()
    }

    #[test]
    fn the_row_has_the_declared_columns() {
        let assigned = Assigned {
            job: "1.1".to_owned(),
            size: 4,
            rank: Some(2),
        };
        let row = row(&assigned, Some("Init"));
        assert_eq!(columns_of(&row), START.sorted_columns());
        let row: serde_json::Value = serde_json::from_slice(&row).unwrap();
        assert_eq!((&row["mpi_rank"], &row["job"]), (&2.into(), &"1.1".into()));
        assert_eq!(
            (&row["call"], &row["waited"]),
            (&"MPI_Init".into(), &2.5.into())
        );
    }

    #[test]
    fn a_process_whose_rank_is_not_known_has_a_row() {
        let assigned = Assigned {
            job: String::new(),
            size: 0,
            rank: None,
        };
        let row: serde_json::Value = serde_json::from_slice(&row(&assigned, None)).unwrap();
        for column in ["mpi_rank", "mpi_size", "job", "call"] {
            assert!(row[column].is_null());
        }
    }
}
