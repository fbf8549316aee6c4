//! The ranks of an earlier attempt, whose files are still in the volume. They are reported, and are
//! no part of the rows and of the summary.

use super::file::{self, Trace};
use super::{MpiTrace, Traced};
use crate::sampling::sampler::Run;

/// The maximum ranks that are named.
const MAX_NAMED: usize = 16;

impl MpiTrace {
    /// Leaves out the files of an earlier attempt, and reports them.
    pub(super) fn leave_out_earlier(&mut self, run: &mut Run<'_>) {
        let names = self.folder.take_earlier(run.settings, &mut run.processes);
        let mut traces = Vec::new();
        for name in names {
            traces.extend(self.folder.open_file(name).as_ref().and_then(file::read));
            let left_out = Traced {
                is_excluded: true,
                is_done: true,
                ..Traced::default()
            };
            self.processes.insert(name, left_out);
        }
        if !traces.is_empty() {
            self.folder.note(describe(&traces));
        }
    }
}

fn describe(traces: &[Trace]) -> String {
    let mut ranks: Vec<u32> = traces.iter().map(|trace| trace.rank).collect();
    // The recorder does not know the rank of a process that is in MPI_Init.
    ranks.retain(|rank| *rank != u32::MAX);
    ranks.sort_unstable();
    let mut named: Vec<String> = ranks.iter().take(MAX_NAMED).map(u32::to_string).collect();
    if ranks.len() > MAX_NAMED {
        named.push("and others".to_owned());
    }
    let named = match named.join(", ") {
        named if named.is_empty() => "no known rank".to_owned(),
        named => format!("ranks {named}"),
    };
    let count = traces.len();
    let calls = traces
        .iter()
        .map(|trace| trace.calls)
        .fold(0, u64::saturating_add);
    format!(
        "the volume has the files of {count} processes of an earlier attempt of this pod ({named}; \
         {calls} calls of MPI): they are not counted in this log"
    )
}
