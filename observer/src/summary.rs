//! The summary of a run, after the log's closing marker and as the container's termination message,
//! which outlives the log. It has one line of JSON for the run and for each program, sorted by CPU
//! time, so that whole lines are left where a kubelet cuts it (12 KiB for all containers of a pod).

use std::fs::OpenOptions;
use std::io::Write as _;

use crate::log::Log;

/// Bytes that a kubelet keeps of a termination message (kubernetes
/// pkg/kubelet/container/runtime.go, `MaxContainerTerminationMessageLength`).
const MESSAGE: usize = 4096;
const PATH: &str = "/dev/termination-log";

/// Writes the summary into the log, as far as there is room, and as the termination message.
pub fn write(log: &mut Log, lines: &[Vec<u8>]) {
    log.write_line("SUMMARY START");
    let mut message = Vec::with_capacity(MESSAGE);
    for line in lines {
        if log.budget().has_room_for_summary() {
            log.line().extend_from_slice(line);
            log.end_line();
        }
        if message.len() + line.len() < MESSAGE {
            message.extend_from_slice(line);
            message.push(b'\n');
        }
    }
    log.write_line("SUMMARY END");
    leave_message(&message);
}

/// The kubelet creates the file. If it does not exist, no message is written.
fn leave_message(message: &[u8]) {
    if let Ok(mut file) = OpenOptions::new().write(true).truncate(true).open(PATH) {
        let _ = file.write_all(message);
    }
}
