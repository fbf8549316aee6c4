//! The summary of a run. It follows the closing marker of the log, and is also the termination
//! message of the container, which outlives the log. Each line is a JSON object. The first line
//! describes the run, and each other line describes a program, a container or a device. If a
//! kubelet truncates the message (12 KiB for all containers of a pod), the first lines stay
//! complete.

use std::fs::OpenOptions;
use std::io::Write as _;

use crate::runtime::log::Log;

/// The maximum bytes of a termination message (kubernetes pkg/kubelet/container/runtime.go,
/// `MaxContainerTerminationMessageLength`).
const MESSAGE: usize = 4096;
const PATH: &str = "/dev/termination-log";

/// Writes the summary into the log and into the termination message, as far as each has room.
pub fn write(log: &mut Log, lines: &[&[u8]]) {
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

/// Writes the termination message. The kubelet creates the file `PATH`. If it does not exist, no
/// message is written.
fn leave_message(message: &[u8]) {
    if let Ok(mut file) = OpenOptions::new().write(true).truncate(true).open(PATH) {
        let _ = file.write_all(message);
    }
}
