//! Parses the state and the signals in `/proc/PID/task/TID/status`.

use super::status::{self, parse_inner_pid};
use super::words::{lines, words};

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The letter of the state (proc(5)): `R` runs or waits for a processor, `S` sleeps, `D` waits
    /// and cannot be interrupted.
    pub letter: u8,
    /// The id of the thread in its innermost PID namespace.
    pub inner_id: Option<i32>,
    /// The context switches of the thread.
    pub switches: u64,
    /// The mask of the signals that the thread blocks.
    pub blocked: u64,
    /// Real, effective, saved and filesystem user id.
    pub uids: [u32; 4],
}

/// Parses a status file. `None` if a line is missing.
pub fn parse(text: &[u8]) -> Option<TaskState> {
    let value = |label: &[u8]| {
        let rest = lines(text).find_map(|line| line.strip_prefix(label))?;
        words(rest).next()
    };
    let blocked = std::str::from_utf8(value(b"SigBlk:")?).ok()?;
    let known = status::parse(text)?;
    Some(TaskState {
        letter: *value(b"State:")?.first()?,
        inner_id: parse_inner_pid(text),
        switches: known.voluntary.wrapping_add(known.involuntary),
        blocked: u64::from_str_radix(blocked, 16).ok()?,
        uids: known.uids,
    })
}

impl TaskState {
    /// Whether the thread blocks a signal.
    pub fn blocks(&self, signal: u32) -> bool {
        self.blocked >> (signal - 1) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tlmp\nState:\tS (sleeping)\nPid:\t26\nUid:\t1000\t1000\t1000\t1000\n\
        NSpid:\t26\t7\nSigBlk:\t0000000000400000\nSigCgt:\t0000000000400000\n\
        voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";

    #[test]
    fn the_state_of_a_thread_is_parsed() {
        let state = parse(TEXT.as_bytes()).unwrap();
        assert_eq!(
            (state.letter, state.inner_id, state.switches),
            (b'S', Some(7), 42)
        );
        assert_eq!(state.uids[0], 1000);
        assert!(state.blocks(23));
        assert!(!state.blocks(1));
    }

    #[test]
    fn a_text_without_one_of_the_lines_is_no_state() {
        for label in ["State:", "SigBlk:", "voluntary_ctxt_switches:"] {
            assert_eq!(
                parse(TEXT.replace(label, "Other:").as_bytes()),
                None,
                "{label}"
            );
        }
        assert_eq!(parse(b""), None);
    }
}
