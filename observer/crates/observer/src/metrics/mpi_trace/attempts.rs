//! The attempts of the target that were observed, and the numbers of their processes.

use super::file::Trace;
use crate::sampling::attempts::LastAttempt;
use crate::tools::earlier::counted;

/// The maximum ranks that are named.
const MAX_NAMED: usize = 16;

/// The number of processes, and of their calls.
#[derive(Default)]
pub struct CountedProcesses {
    /// The processes.
    pub count: u64,
    /// The known ranks: a process that is in `MPI_Init` may have none.
    ranks: Vec<u32>,
    /// Their calls.
    pub calls: u64,
}

impl CountedProcesses {
    /// Adds a process.
    pub fn add(&mut self, trace: &Trace) {
        self.count += 1;
        self.ranks
            .extend(Some(trace.rank).filter(|rank| *rank != u32::MAX));
        self.calls = self.calls.saturating_add(trace.calls);
    }

    /// Returns the number of the processes of an attempt, their ranks and their calls.
    pub fn describe(mut self, attempt: &str) -> String {
        let processes = counted(self.count, "process", "processes");
        self.ranks.sort_unstable();
        let named: Vec<String> = self
            .ranks
            .iter()
            .take(MAX_NAMED)
            .map(u32::to_string)
            .collect();
        let more = if self.ranks.len() > MAX_NAMED {
            ", and others"
        } else {
            ""
        };
        let ranks = match named.len() {
            0 => "no known rank".to_owned(),
            1 => format!("rank {}", named[0]),
            _ => format!("ranks {}{more}", named.join(", ")),
        };
        let calls = counted(self.calls, "call", "calls");
        format!("{processes} of {attempt} ({ranks}; {calls} of MPI)")
    }
}

/// The attempts of the target that were observed.
#[derive(Default)]
pub struct Attempts {
    /// The last one.
    pub last: LastAttempt,
    /// The processes of the attempts before that have ended, and are not reported yet.
    pub before: CountedProcesses,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_processes_are_described() {
        let describe = |count, ranks: &[u32], calls| {
            let ranks = ranks.to_vec();
            CountedProcesses {
                count,
                ranks,
                calls,
            }
            .describe("the attempt before")
        };
        let earlier = "of the attempt before";
        assert_eq!(
            describe(2, &[1, 0], 7),
            format!("2 processes {earlier} (ranks 0, 1; 7 calls of MPI)")
        );
        assert_eq!(
            describe(1, &[3], 1),
            format!("1 process {earlier} (rank 3; 1 call of MPI)")
        );
        assert_eq!(
            describe(1, &[], 0),
            format!("1 process {earlier} (no known rank; 0 calls of MPI)")
        );
        let many: Vec<u32> = (0..17).collect();
        assert!(describe(17, &many, 0).contains("14, 15, and others; "));
    }
}
