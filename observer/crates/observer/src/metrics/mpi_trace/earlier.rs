//! The ranks of an earlier attempt, whose files are still in the volume. They are reported, and are
//! no part of the rows and of the summary.

use super::file::{self, Trace};
use super::{MpiTrace, Traced};
use crate::sampling::sampler::Run;

/// The maximum ranks that are named.
const MAX_NAMED: usize = 16;

/// The processes of earlier attempts.
#[derive(Default)]
struct EarlierRanks {
    count: usize,
    /// The known ranks: a process that is in `MPI_Init` may have none.
    ranks: Vec<u32>,
    calls: u64,
}

impl EarlierRanks {
    fn add(&mut self, trace: &Trace) {
        self.count += 1;
        self.ranks
            .extend(Some(trace.rank).filter(|rank| *rank != u32::MAX));
        self.calls = self.calls.saturating_add(trace.calls);
    }

    /// Returns the number of the processes, their ranks and their calls.
    fn describe(mut self) -> String {
        let processes = match self.count {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
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
        let calls = match self.calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        format!("{processes} of an earlier attempt of this pod ({ranks}; {calls} of MPI)")
    }
}

impl MpiTrace {
    /// Leaves out the files of an earlier attempt, and reports them.
    pub(super) fn leave_out_earlier(&mut self, run: &mut Run<'_>) {
        let began = |opened: &_| file::read(opened).map(|trace| trace.began);
        let names = self
            .folder
            .take_earlier(run.settings, &mut run.processes, began);
        let mut earlier = EarlierRanks::default();
        for name in names {
            if let Some(trace) = self.folder.open_file(name).as_ref().and_then(file::read) {
                earlier.add(&trace);
            }
            let left_out = Traced {
                is_excluded: true,
                is_done: true,
                ..Traced::default()
            };
            self.processes.insert(name, left_out);
            self.earlier.insert(name);
        }
        if earlier.count > 0 {
            let processes = earlier.describe();
            self.folder.note(format!(
                "the volume has the files of {processes}: they are not counted in this log"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_processes_are_described() {
        let describe = |count, ranks: &[u32], calls| {
            let ranks = ranks.to_vec();
            EarlierRanks {
                count,
                ranks,
                calls,
            }
            .describe()
        };
        let earlier = "of an earlier attempt of this pod";
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
