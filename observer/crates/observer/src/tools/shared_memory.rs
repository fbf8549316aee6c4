//! The memory that a tool in a process shares with the observer (observer/preload/memory.h): a file
//! without a name. The observer opens it through `/proc/PID/fd`, which needs the user and the group
//! of the process, but no capability. Once it is open, it can still be read when the process has
//! ended.

use std::fs::File;

use crate::sampling::measure::is_denial;
use crate::sampling::process_table::ProcessTable;

/// The least number under which tools keep such a file open (`FIRST_NUMBER`).
const FIRST_NUMBER: i32 = 700;
/// The number of open files that are looked at.
const MAX_FILES: usize = 64;
const HELP: &str = "; an observer with the user and the group of the process can read them";

/// The result of a search for the memory of a process.
pub enum Search {
    /// The memory.
    Found(File),
    /// The process has no such memory.
    Missing,
    /// The files of the process cannot be read.
    Denied {
        /// The reason.
        why: &'static str,
        /// What would help, after a semicolon; empty if nothing would.
        help: &'static str,
    },
    /// The process has ended, or its files cannot be read now.
    Unknown,
}

/// Looks for the memory of a process. `link` is the text of the link to it in `/proc/PID/fd`
/// (`memfd_create(2)`), and `is_valid` reports whether a file is that of the process.
pub fn find(
    table: &mut ProcessTable,
    pid: i32,
    link: &[u8],
    is_valid: impl FnOnce(&File) -> bool,
) -> Search {
    let ProcessTable { meter, all, .. } = table;
    let process = all
        .values_mut()
        .find(|process| process.pid == pid && !process.is_zombie);
    let Some((file_id, measured)) =
        process.and_then(|process| Some((process.file_id, process.measured.as_mut()?)))
    else {
        return Search::Unknown;
    };
    if meter.read_status(file_id, measured).is_none() {
        return Search::Unknown;
    }
    let identity = measured.identity;
    let access = &mut measured.io_access;
    let (found, _guard) = meter.with_access(access, identity, |meter| {
        let files = &mut meter.files;
        let number = files.find_open_file(file_id, FIRST_NUMBER, MAX_FILES, link)?;
        let open = |number| files.open_again(file_id, number);
        number.map(open).transpose()
    });
    match found {
        Ok(file) => file.filter(is_valid).map_or(Search::Missing, Search::Found),
        // The open files of a process that is ending belong to root.
        Err(error) if is_denial(error) && meter.has_memory(pid) => {
            let why = meter.explain_denial(file_id, identity);
            let can_help = identity.is_some_and(|identity| !meter.can_be(identity));
            let help = if can_help { HELP } else { "" };
            Search::Denied { why, help }
        }
        Err(_) => Search::Unknown,
    }
}
