//! The rows about the processes of an MPI job that have not returned from `MPI_Init` yet.

use super::launcher::Assigned;
use super::rows::some;
use crate::runtime::log::Log;
use crate::sampling::row::{millionths, number, row, text};

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

    row! {
        /// at each timepoint, the processes that have a rank from the launcher of an MPI job, and
        /// have not returned from MPI_Init yet; if a rank has several, the one that started last
        pub START: "start" of "process";
        /// Returns the row.
        fn build(&self) for process(self.time, u64::from(self.pid), self.tail) {
            let Assigned { job, size, rank } = self.assigned;
            /// the rank that the launcher has given to the process; null if it is not known
            mpi_rank: number(rank.map(u64::from)) => key().not_summed();
            /// the number of ranks, from the launcher; null if it is not known
            mpi_size: number(Some(u64::from(*size)).filter(|size| *size > 0))
                => gauge("count").not_exported();
            /// the identifier of the job, as in the section rank
            job: text(some(job));
            /// MPI_Init or MPI_Init_thread; null if the process has called neither
            call: text(self.call.map(|call| format!("MPI_{call}")).as_deref());
            /// time since the call began, or without a call since the process started
            waited: millionths(self.microseconds)
                => gauge("s").title("Time until MPI_Init returns");
            /// the state of the process, as in the section open
            process_state: text(self.state);
            /// CPU seconds, summed over threads
            cpu_time: millionths(self.cpu) => counter("s").not_exported();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_row_has_what_the_launcher_has_assigned() {
        let assigned = Assigned {
            job: "1.1".to_owned(),
            size: 4,
            rank: Some(2),
        };
        let row = row(&assigned, Some("Init"));
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
