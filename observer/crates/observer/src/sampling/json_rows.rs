//! The parts of a log that the metrics whose rows are JSON Lines share: the header and the lines
//! of the summary.

use encode::json::{push_known, push_member, push_string};

use crate::runtime::metadata;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::accounts::Sum;
use crate::sampling::row::{number, row};

/// Writes the header. `extra` contains the keys that only this metric has, with their values.
pub fn write_header(settings: &Settings, session: &mut Session, extra: &[(&str, &str)]) {
    metadata::write(&mut session.log, settings, extra);
    session.log.write_line("METRICS OPERATOR COLLECTION START");
    session.log.set_json(true);
    session.log.flush();
}

row! {
    /// The number of processes of a program.
    pub PROCESSES;
    /// Appends the number of processes of a program.
    pub fn push_processes(out, sum: &Sum) {
        /// number of processes that ran the program
        processes: number(sum.processes)
            => gauge("count").quantity("ridealong.process.count").export_unit("{process}");
    }
}

/// Returns the rows of the first items, at most a number of rows and of bytes, and the items that
/// have no row.
pub fn take_rows<T>(
    items: &[T],
    (rows, bytes): (usize, usize),
    row: impl FnMut(&T) -> Vec<u8>,
) -> (Vec<Vec<u8>>, &[T]) {
    let mut left = bytes;
    let fits = |row: &Vec<u8>| {
        let is_small = row.len() <= left;
        left = left.saturating_sub(row.len());
        is_small
    };
    let taken: Vec<Vec<u8>> = items.iter().take(rows).map(row).take_while(fits).collect();
    let others = &items[taken.len()..];
    (taken, others)
}

/// Returns the summary of a run that could not begin, which has only one line.
pub fn build_empty_summary(metric: &str, pod: &str) -> Vec<Vec<u8>> {
    let mut line = begin_whole(metric, pod, 0, 0);
    line.push(b'}');
    vec![line]
}

/// Begins the line of the summary for the whole run: the numbers of timepoints and processes.
pub fn begin_whole(metric: &str, pod: &str, timepoints: u64, processes: u64) -> Vec<u8> {
    let mut line = b"{\"metric\":".to_vec();
    push_string(&mut line, metric);
    push_member(&mut line, "pod", pod);
    push_known(&mut line, "timepoints", Some(timepoints));
    push_known(&mut line, "processes", Some(processes));
    line
}
