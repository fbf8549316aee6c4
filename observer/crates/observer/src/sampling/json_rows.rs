//! The parts of a log that the metrics whose rows are JSON Lines share: the header, the beginning
//! of a row, and the lines of the summary.

use encode::json::{push_key, push_known, push_member, push_string};
use encode::number::push_scaled;

use crate::runtime::declaration::Section;
use crate::runtime::metadata;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::accounts::Sum;
use crate::sampling::containers::Containers;
use crate::sampling::process::Process;

/// Writes the header. `extra` contains the keys that only this metric has, with their values.
pub fn write_header(settings: &Settings, session: &mut Session, extra: &[(&str, &str)]) {
    metadata::write(&mut session.log, settings, extra);
    session.log.write_line("METRICS OPERATOR COLLECTION START");
    session.log.set_json(true);
    session.log.flush();
}

/// Appends the beginning of a row: its time and the name of its section.
pub fn begin(out: &mut Vec<u8>, time: &str, section: &Section) {
    out.extend_from_slice(b"{\"time\":\"");
    out.extend_from_slice(time.as_bytes());
    out.extend_from_slice(b"\",\"section\":\"");
    out.extend_from_slice(section.name.as_bytes());
    out.push(b'"');
}

/// Appends the id of a process. The caller ends the row with [`Process::tail`].
pub fn push_pid(out: &mut Vec<u8>, process: &Process) {
    push_known(out, "pid", Some(u64::from(process.pid.unsigned_abs())));
}

/// Appends a member whose value is `number` in units of 10^-`digits`, or `null`.
pub fn push_decimals(out: &mut Vec<u8>, key: &str, number: Option<u64>, digits: u32) {
    push_key(out, key);
    match number {
        Some(number) => push_scaled(out, number, digits),
        None => out.extend_from_slice(b"null"),
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

/// Begins the line of the summary for a program.
pub fn begin_program(sum: &Sum, containers: &Containers) -> Vec<u8> {
    let mut line = b"{\"program\":".to_vec();
    push_string(&mut line, &sum.program);
    if containers.has_names {
        push_member(&mut line, "container", containers.name(sum.container));
    }
    push_known(&mut line, "processes", Some(sum.processes));
    line
}

/// Returns the names of the columns of a row, sorted, to compare them with a [`Section`].
///
/// # Panics
/// If the row is not an object of JSON.
#[cfg(test)]
pub fn columns_of(row: &[u8]) -> Vec<String> {
    let row: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(row).unwrap();
    let names = row.keys().filter(|key| *key != "time" && *key != "section");
    names.cloned().collect()
}
