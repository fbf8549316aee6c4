//! What is left out, and says so: each time when it is twice as much as was said before.

use crate::log::Log;
use crate::look::Processes;

/// What was left out, at most, of one look or timepoint.
#[derive(Debug, Default)]
pub struct Omissions {
    processes: Worst,
    threads: Worst,
    rows: Worst,
    timepoints: u64,
}

#[derive(Debug, Default)]
struct Worst {
    count: u64,
    said: u64,
}

impl Worst {
    /// Whether it is time to say that so many are left out.
    fn is_news(&mut self, count: u64) -> bool {
        self.count = self.count.max(count);
        let is_news = count > 0 && count >= 2 * self.said;
        if is_news {
            self.said = count;
        }
        is_news
    }
}

impl Omissions {
    /// How many processes were left out, at most.
    #[must_use]
    pub fn processes(&self) -> u64 {
        self.processes.count
    }

    /// Says what a look left out.
    pub fn say_of_look(&mut self, processes: &Processes, log: &mut Log) {
        let capacity = processes.capacity();
        let left_out = processes.left_out as u64;
        if self.processes.is_news(left_out) {
            let known = capacity.processes;
            log.say(&format!(
                "{left_out} processes are left out: there is memory for {known}"
            ));
        }
        let threads = processes.meter.threads_left_out;
        if self.threads.is_news(threads) {
            let known = capacity.threads;
            let unknown = "the context switches of their processes are not known";
            log.say(&format!(
                "{threads} threads are left out, and {unknown}: {known} are read at once"
            ));
        }
        log.flush();
    }

    /// Says how many processes have no rows in a timepoint, for want of memory.
    pub fn leave_out_rows(&mut self, count: usize, log: &mut Log) {
        if self.rows.is_news(count as u64) {
            log.say(&format!(
                "{count} processes have no rows: there is not enough memory"
            ));
        }
    }

    /// A timepoint was not taken, since the log's reader did not take the one before.
    pub fn skip_timepoint(&mut self) {
        self.timepoints += 1;
    }

    /// Says how many timepoints the reader of the log missed, when it reads again.
    pub fn say_of_reader(&mut self, log: &mut Log) {
        if self.timepoints > 0 {
            let count = std::mem::take(&mut self.timepoints);
            log.say(&format!(
                "the log was not read for a time; {count} timepoints are left out"
            ));
        }
    }
}
