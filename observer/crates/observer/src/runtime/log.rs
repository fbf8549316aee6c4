//! Writes the log in whole lines and within a budget. The reader may be slow or absent.
//!
//! No failure of the log is fatal. Lines are buffered until they can be written without blocking.
//! If a write fails, the observer reports the error on standard error and continues without a log.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use encode::json::{clean, find_keyword, push_string};
use linux::clock::WallTime;
use linux::stderr::warn;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::write;
use otlp::feed::Feed;

use crate::runtime::budget::Budget;

/// The number of bytes that a pipe accepts without blocking if it is ready for writing (pipe(7),
/// `PIPE_BUF`).
const PIECE: usize = 4096;

/// The log, with its buffer.
pub struct Log {
    out: OwnedFd,
    /// Whether a write may block.
    may_wait: bool,
    budget: Budget,
    /// The buffer: lines that are not completely written yet, and the current line.
    text: Vec<u8>,
    /// The number of bytes of `text` that are already written.
    written: usize,
    /// The position in `text` at which the current line begins.
    line_start: usize,
    is_broken: bool,
    /// Whether every line is a JSON object, even a message for people.
    is_json: bool,
    /// The live export, which has a copy of each line.
    pub feed: Option<Feed>,
}

impl Log {
    /// Creates a log that is written to a file, pipe or socket.
    pub fn new(out: OwnedFd, budget: Budget) -> Self {
        let kind = fstat(&out).map_or(SFlag::S_IFIFO, |facts| {
            SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT
        });
        let may_wait = kind != SFlag::S_IFREG;
        Self {
            out,
            may_wait,
            budget,
            text: Vec::new(),
            written: 0,
            line_start: 0,
            is_broken: false,
            is_json: false,
            feed: None,
        }
    }

    /// Returns the budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns the buffer, to append text to the current line. [`Log::end_line`] ends the line.
    pub fn line(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends the current line.
    pub fn end_line(&mut self) {
        if let Some(feed) = &mut self.feed {
            feed.push_line(&self.text[self.line_start..]);
        }
        self.end_unexported_line();
    }

    /// Ends the current line, and does not copy it to the live export.
    pub fn end_unexported_line(&mut self) {
        self.budget.count_line(self.text.len() - self.line_start);
        self.text.push(b'\n');
        self.line_start = self.text.len();
    }

    /// Appends a whole line.
    pub fn write_line(&mut self, line: &str) {
        self.line().extend_from_slice(line.as_bytes());
        self.end_line();
    }

    /// Selects how messages for people are written from now on: as rows of JSON Lines, or as text.
    pub fn set_json(&mut self, is_json: bool) {
        self.is_json = is_json;
    }

    /// Appends a message for people. In JSON Lines, the message is a row
    /// `{"time":…,"notice":…}`. In text, dots replace the keywords of the Metrics Operator's parser
    /// in the message, because the parser also reads this line.
    pub fn note(&mut self, sentence: &str) {
        if self.is_json {
            let time = WallTime::now().precise_timestamp();
            let line = self.line();
            line.extend_from_slice(b"{\"time\":\"");
            line.extend_from_slice(time.as_bytes());
            line.extend_from_slice(b"\",\"notice\":");
            push_string(line, &clean(sentence.as_bytes()));
            line.push(b'}');
            self.end_line();
            return;
        }
        let mut sentence = clean(sentence.as_bytes());
        while let Some((at, length)) = find_keyword(&sentence) {
            sentence.replace_range(at..at + length, "...");
        }
        self.write_line(&format!("ridealong: {sentence}"));
    }

    /// Whether the log can still be written and has room for a timepoint of about `bytes` bytes.
    pub fn has_room(&self, bytes: f64) -> bool {
        !self.is_broken && self.budget.has_room(bytes)
    }

    /// Whether the buffer contains text that is not written yet.
    pub fn is_waiting(&self) -> bool {
        self.written < self.text.len()
    }

    /// Returns the descriptor to poll until more can be written.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.out.as_fd()
    }

    /// Writes as much as possible without blocking.
    pub fn flush(&mut self) {
        while self.is_waiting() && self.is_ready() {
            let end = if self.may_wait {
                self.text.len().min(self.written + PIECE)
            } else {
                self.text.len()
            };
            match write(&self.out, &self.text[self.written..end]) {
                Ok(count) => self.written += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(error) => self.fail(error),
            }
        }
        if !self.is_waiting() {
            self.forget();
        }
    }

    fn is_ready(&self) -> bool {
        if !self.may_wait {
            return true;
        }
        let mut out = [PollFd::new(self.out.as_fd(), PollFlags::POLLOUT)];
        // A pipe with an error also counts as ready. The write then reports the error.
        poll(&mut out, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    fn forget(&mut self) {
        self.text.clear();
        self.written = 0;
        self.line_start = 0;
    }

    fn fail(&mut self, error: Errno) {
        self.forget();
        if self.is_broken {
            return;
        }
        self.is_broken = true;
        warn(&format!("the log cannot be written: {}", error.desc()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{OFlag, open};
    use nix::sys::stat::Mode;
    use nix::unistd::{pipe, read};

    fn read_some(reader: &OwnedFd) -> String {
        let mut buffer = vec![0; 65_536];
        let count = read(reader, &mut buffer).unwrap();
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    }

    #[test]
    fn a_slow_reader_does_not_block_the_log() {
        let (reader, writer) = pipe().unwrap();
        let mut log = Log::new(writer, Budget::new(8.0));
        for _ in 0..3000 {
            log.write_line(&"x".repeat(99));
        }
        log.flush();
        assert!(log.is_waiting());
        let mut taken = 0;
        while log.is_waiting() {
            taken += read_some(&reader).len();
            log.flush();
        }
        assert_eq!(taken + read_some(&reader).len(), 300_000);
    }

    #[test]
    fn a_closed_pipe_breaks_the_log_without_a_panic() {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut log = Log::new(writer, Budget::new(8.0));
        log.write_line("one");
        log.flush();
        assert!(!log.has_room(1.0) && !log.is_waiting());
    }

    #[test]
    fn a_full_disk_breaks_the_log_without_a_panic() {
        let full = open("/dev/full", OFlag::O_WRONLY, Mode::empty()).unwrap();
        let mut log = Log::new(full, Budget::new(8.0));
        log.write_line("one");
        log.flush();
        assert!(!log.has_room(1.0) && !log.is_waiting());
    }

    #[test]
    fn keywords_are_replaced_in_a_message() {
        let (reader, writer) = pipe().unwrap();
        let mut log = Log::new(writer, Budget::new(8.0));
        log.note("no POLICY in METRICS OPERATOR\nhere");
        log.flush();
        assert_eq!(read_some(&reader), "ridealong: no ... in ...?here\n");
    }

    #[test]
    fn a_message_among_json_lines_is_a_row() {
        let (reader, writer) = pipe().unwrap();
        let mut log = Log::new(writer, Budget::new(8.0));
        log.set_json(true);
        log.note("no \"POLICY\"\nhere");
        log.set_json(false);
        log.note("there");
        log.flush();
        let text = read_some(&reader);
        let (row, rest) = text.split_once('\n').unwrap();
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(row["notice"], "no \"POLICY\"?here");
        assert_eq!(row["time"].as_str().map(str::len), Some(24));
        assert_eq!(rest, "ridealong: there\n");
    }
}
