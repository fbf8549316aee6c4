//! Counts omitted processes, threads, rows and timepoints, and reports them in the log. Omitted
//! processes, threads and rows are reported again only when their number has doubled.

use crate::runtime::log::Log;
use crate::sampling::process_table::ProcessTable;

/// The omissions: for processes, threads and rows, the largest number in one scan or timepoint; for
/// timepoints, the number since the last report.
#[derive(Debug, Default)]
pub struct Omissions {
    processes: Maximum,
    threads: Maximum,
    rows: Maximum,
    timepoints: u64,
    has_reported_names: bool,
}

/// The largest number of omissions in one scan or timepoint. It is reported again when it has
/// doubled.
#[derive(Debug, Default)]
pub struct Maximum {
    count: u64,
    reported: u64,
}

impl Maximum {
    /// Updates the maximum, and returns whether to report this count.
    pub fn is_due(&mut self, count: u64) -> bool {
        self.count = self.count.max(count);
        let is_due = count > 0 && count >= 2 * self.reported;
        if is_due {
            self.reported = count;
        }
        is_due
    }
}

impl Omissions {
    /// The largest number of processes that a scan left out.
    pub fn processes(&self) -> u64 {
        self.processes.count
    }

    /// Reports the omissions of a scan.
    pub fn report_scan(&mut self, processes: &ProcessTable, log: &mut Log) {
        let capacity = processes.capacity();
        let left_out = processes.left_out as u64;
        if self.processes.is_due(left_out) {
            let known = capacity.processes;
            log.note(&format!(
                "{left_out} processes are left out: there is memory for {known}"
            ));
        }
        if processes.cuts_names && !self.has_reported_names {
            self.has_reported_names = true;
            log.note("long names of programs are cut: there is not enough memory");
        }
        let threads = processes.meter.threads_left_out;
        if self.threads.is_due(threads) {
            let known = capacity.threads;
            let unknown = "the context switches of their processes are unknown";
            log.note(&format!(
                "{threads} threads are left out, because a scan reads at most {known}; {unknown}"
            ));
        }
        log.flush();
    }

    /// Reports the processes that have no rows in a timepoint because of the memory limit.
    pub fn report_missing_rows(&mut self, count: usize, log: &mut Log) {
        if self.rows.is_due(count as u64) {
            log.note(&format!(
                "{count} processes have no rows: there is not enough memory"
            ));
        }
    }

    /// Counts a timepoint that was not taken because the previous timepoint is not completely
    /// written.
    pub fn count_missed_timepoint(&mut self) {
        self.timepoints += 1;
    }

    /// Reports the timepoints that were not taken. Call this method when the reader of the log
    /// reads again.
    pub fn report_missed_timepoints(&mut self, log: &mut Log) {
        if self.timepoints > 0 {
            let count = std::mem::take(&mut self.timepoints);
            log.note(&format!(
                "the log was not read for a time; {count} timepoints are left out"
            ));
        }
    }
}
