//! Leaves out the processes of earlier attempts of the target. Those of an attempt before the
//! observer, whose files are still in the volume, have no rows. Those of an attempt that was
//! observed have rows. Both are reported, and are no part of the summary: the program has begun
//! again with the same ranks.

use super::attempts::{Attempts, CountedProcesses};
use super::file::{self, Trace};
use super::{MpiTrace, Traced};
use crate::sampling::attempts::LastAttempt;
use crate::sampling::sampler::Run;

impl MpiTrace {
    /// Begins to count again if the target was started again since the last scan.
    pub(super) fn begin_attempt(&mut self, run: &mut Run<'_>) {
        let last = LastAttempt::of(&run.processes);
        if last.number <= self.attempts.last.number {
            return;
        }
        let before = std::mem::take(&mut self.totals).processes;
        self.attempts = Attempts { last, before };
    }

    /// Reports the processes of the attempts before, once their last rows are written.
    pub(super) fn note_attempts(&mut self) {
        let before = std::mem::take(&mut self.attempts.before);
        if before.count > 0 {
            let processes = before.describe("the attempt before");
            self.folder.note(format!("not counted: {processes}"));
        }
    }

    /// Leaves out the files of an earlier attempt, and reports them.
    pub(super) fn leave_out_earlier(&mut self, run: &mut Run<'_>) {
        let began = |opened: &_| file::read(opened).map(|trace| trace.began);
        let names = self
            .folder
            .take_earlier(run.settings, &mut run.processes, began);
        let mut earlier = CountedProcesses::default();
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
            let processes = earlier.describe("an earlier attempt of this pod");
            self.folder.note(format!(
                "the volume has the files of {processes}: they are not counted in this log"
            ));
        }
    }

    /// Adds a process that has ended to those of its attempt.
    pub(super) fn count(&mut self, trace: &Trace, pid: Option<u32>, has_ended: bool) {
        if self.attempts.last.is_after(trace.began) {
            self.attempts.before.add(trace);
        } else {
            self.totals.add(trace, pid, has_ended);
        }
    }
}
