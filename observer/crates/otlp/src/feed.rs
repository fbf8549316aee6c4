//! The observer's side of the live export: starts the pusher, and gives it a copy of the log. No
//! call waits for the pusher, except at the end.

use std::io::Read as _;
use std::iter::once;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use encode::json::push_string;
use encode::number::push;
use linux::clock;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::unistd::write;

use crate::endpoint::Endpoint;

/// The most bytes that wait for the pusher. Lines for which there is no room are dropped.
const MAX_PENDING: usize = 1 << 20;
/// The longest line that the pusher prints, in bytes.
const MAX_REPORT: usize = 4096;

/// The pushes until now, as the pusher reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The pushes that the receiver accepted.
    pub pushes: u64,
    /// The pushes that failed.
    pub failed: u64,
    /// The rows that were left out because there are too many processes or devices.
    pub rows: u64,
}

/// A running pusher.
pub struct Feed {
    endpoint: String,
    child: Child,
    /// `None` after the end of the copy.
    input: Option<ChildStdin>,
    is_closing: bool,
    /// `None` after the end of the pusher.
    reports: Option<ChildStdout>,
    /// The part of the copy that the pipe did not take yet.
    pending: Vec<u8>,
    report: Vec<u8>,
    counts: Counts,
    dropped: u64,
    /// The first problem, until it is reported.
    problem: Option<String>,
    has_problem: bool,
}

impl Feed {
    /// Starts the pusher: this program, in the role `push`. Its settings are in the environment.
    ///
    /// # Errors
    /// A sentence that describes the error of the system.
    pub fn start(endpoint: &Endpoint) -> Result<Self, String> {
        let error =
            |error: &dyn std::fmt::Display| format!("the live export cannot start: {error}");
        let mut child = Command::new("/proc/self/exe")
            .arg0("push")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The log of a container also contains its standard error, and has one writer.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|problem| error(&problem))?;
        let (input, reports) = (child.stdin.take(), child.stdout.take());
        let pipes = [
            input.as_ref().map(AsFd::as_fd),
            reports.as_ref().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|problem| error(&problem))?;
        }
        Ok(Self {
            endpoint: endpoint.to_string(),
            child,
            input,
            is_closing: false,
            reports,
            pending: Vec::new(),
            report: Vec::new(),
            counts: Counts::default(),
            dropped: 0,
            problem: None,
            has_problem: false,
        })
    }

    /// Copies a line, which has no line break.
    pub fn push_line(&mut self, line: &[u8]) {
        self.push_lines(&[line]);
    }

    /// Copies lines that describe the whole run until now, in the format of the summary.
    pub fn push_totals(&mut self, lines: &[Vec<u8>]) {
        if lines.is_empty() {
            return;
        }
        let (start, end): (&[u8], &[u8]) = (b"SUMMARY START", b"SUMMARY END");
        let lines = lines.iter().map(Vec::as_slice);
        let block: Vec<&[u8]> = once(start).chain(lines).chain(once(end)).collect();
        self.push_lines(&block);
    }

    /// Copies all of the lines, or none if there is no room for them.
    fn push_lines(&mut self, lines: &[&[u8]]) {
        if self.input.is_none() {
            return;
        }
        let size: usize = lines.iter().map(|line| line.len() + 1).sum();
        if self.pending.len() + size > MAX_PENDING {
            self.dropped += lines.len() as u64;
            return;
        }
        for line in lines {
            self.pending.extend_from_slice(line);
            self.pending.push(b'\n');
        }
    }

    /// Writes as much of the copy as the pipe takes, and reads the reports of the pusher.
    pub fn flush(&mut self) {
        self.write_pending();
        self.read_reports();
    }

    fn write_pending(&mut self) {
        let mut written = 0;
        while let Some(input) = self.input.as_ref().filter(|_| written < self.pending.len()) {
            match write(input, &self.pending[written..]) {
                Ok(count) => written += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    self.pending.drain(..written);
                    return;
                }
                Err(error) => {
                    self.fail(&format!("the pusher has ended: {}", error.desc()));
                    self.input = None;
                    // A child that has ended keeps its process id until its parent has waited.
                    let _ = self.child.try_wait();
                }
            }
        }
        // A burst of lines must not occupy memory for the rest of the run.
        self.pending = Vec::new();
        if self.is_closing {
            self.input = None;
        }
    }

    fn read_reports(&mut self) {
        let mut piece = [0; 512];
        while let Some(reports) = &mut self.reports {
            match reports.read(&mut piece) {
                Ok(0) => self.reports = None,
                Ok(count) => self.read_piece(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn read_piece(&mut self, piece: &[u8]) {
        for byte in piece {
            if *byte != b'\n' {
                if self.report.len() < MAX_REPORT {
                    self.report.push(*byte);
                }
                continue;
            }
            let report = std::mem::take(&mut self.report);
            if let Some((counts, problem)) = parse_report(&report) {
                self.counts = counts;
                if !problem.is_empty() {
                    self.fail(&problem);
                }
            }
        }
    }

    fn fail(&mut self, problem: &str) {
        if !std::mem::replace(&mut self.has_problem, true) {
            self.problem = Some(format!(
                "the live export to {} failed: {problem}; the log is not affected, and the summary \
                 counts further failures",
                self.endpoint
            ));
        }
    }

    /// Returns the sentence about the first failure, once.
    pub fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    /// The line of the summary: the pushes until now. The last push follows it.
    pub fn summary(&self) -> Vec<u8> {
        let mut line = b"{\"live_export\":".to_vec();
        push_string(&mut line, &self.endpoint);
        for (key, count) in [
            ("pushes", self.counts.pushes),
            ("failed_pushes", self.counts.failed),
            ("dropped_lines", self.dropped),
            ("rows_left_out", self.counts.rows),
        ] {
            encode::json::push_key(&mut line, key);
            push(&mut line, count);
        }
        line.push(b'}');
        line
    }

    /// Returns the descriptors to poll, with the events to wait for.
    pub fn descriptors(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let input = self.input.as_ref().filter(|_| !self.pending.is_empty());
        let input = input.map(|input| (input.as_fd(), PollFlags::POLLOUT));
        let reports = self.reports.as_ref();
        let reports = reports.map(|reports| (reports.as_fd(), PollFlags::POLLIN));
        input.into_iter().chain(reports).collect()
    }

    /// Ends the copy as soon as it is written, so that the pusher pushes for the last time.
    pub fn close(&mut self) {
        self.is_closing = true;
        self.flush();
    }

    /// Ends the copy, and waits until the pusher has pushed for the last time. At the time `until`,
    /// in seconds since boot, the pusher is killed.
    pub fn finish(&mut self, until: f64) {
        self.close();
        while self.reports.is_some() {
            let left = until - clock::since_boot();
            if left <= 0.0 {
                break;
            }
            let timeout = TimeSpec::from(std::time::Duration::from_secs_f64(left));
            let mut waiting: Vec<PollFd> = self
                .descriptors()
                .into_iter()
                .map(|(pipe, events)| PollFd::new(pipe, events))
                .collect();
            let _ = ppoll(&mut waiting, Some(timeout), None);
            drop(waiting);
            self.flush();
        }
        self.input = None;
        // The errors mean that the pusher has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses a report: three counts, and the problem of the last push if it failed.
fn parse_report(report: &[u8]) -> Option<(Counts, String)> {
    let text = str::from_utf8(report).ok()?;
    let mut words = text.splitn(4, ' ');
    let mut count = || words.next()?.parse().ok();
    let counts = Counts {
        pushes: count()?,
        failed: count()?,
        rows: count()?,
    };
    Some((counts, words.next().unwrap_or_default().to_owned()))
}

/// Formats a report, see [`parse_report`].
pub fn format_report(counts: &Counts, problem: &str) -> String {
    let problem: String = problem.chars().take(1024).collect();
    let problem = encode::json::clean(problem.as_bytes());
    let Counts {
        pushes,
        failed,
        rows,
    } = counts;
    format!("{pushes} {failed} {rows} {problem}")
        .trim_end()
        .to_owned()
        + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_counts_and_a_problem() {
        let counts = Counts {
            pushes: 3,
            failed: 2,
            rows: 1,
        };
        for problem in ["", "the receiver answered 500: no\nway"] {
            let report = format_report(&counts, problem);
            let found = parse_report(report.trim_end().as_bytes());
            assert_eq!(found, Some((counts.clone(), problem.replace('\n', "?"))));
        }
        assert_eq!(parse_report(b"1 2"), None);
        assert_eq!(parse_report(b"a b c"), None);
    }
}
