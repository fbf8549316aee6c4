//! Runs another program, passes its log on, and pushes the rows of the log. The program can be a
//! shell script in an image that has a copy of this program: `command: [push, sh, -c, …]`.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};

use encode::json::{clean, push_string};
use linux::clock::{self, WallTime};
use linux::signals::termination_signals;
use linux::stderr::warn;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, write};

use crate::feed::Feed;
use crate::lines::Lines;
use crate::settings::ExportSettings;

/// The bytes that are passed on at a time.
const PIECE: usize = 16_384;
/// The number of bytes that a pipe accepts without blocking if it is ready for writing (pipe(7),
/// `PIPE_BUF`).
const PIPE_PIECE: usize = 4096;
/// The seconds that the last push may take.
const LAST_PUSH: f64 = 0.9;

/// Runs a program, and exits with its exit code. Without settings, the program replaces this one.
pub fn run(words: &[OsString], settings: Option<&ExportSettings>) -> ExitCode {
    let Some((name, arguments)) = words.split_first() else {
        return ExitCode::SUCCESS;
    };
    let mut command = Command::new(name);
    command.args(arguments);
    let Some(settings) = settings else {
        return not_started(name, &command.exec());
    };
    // The pusher is started before the program, and the program before signals are blocked, so that
    // the program handles all signals as usual.
    let feed = match Feed::start(&settings.endpoint) {
        Ok(feed) => feed,
        Err(problem) => {
            warn(&problem);
            return not_started(name, &command.exec());
        }
    };
    match Relay::start(command.stdout(Stdio::piped()), feed) {
        Ok(relay) => relay.run(),
        Err(error) => not_started(name, &error),
    }
}

fn not_started(name: &OsString, error: &std::io::Error) -> ExitCode {
    let name = clean(name.as_encoded_bytes());
    warn(&format!("{name} cannot be started: {error}"));
    // The exit code of a shell for a program that it cannot start.
    ExitCode::from(127)
}

struct Relay {
    signals: SignalFd,
    child: Child,
    /// The log of the program; `None` after its end.
    source: Option<ChildStdout>,
    exit: Option<ExitStatus>,
    out: OwnedFd,
    /// The bytes that are not written yet.
    buffer: Vec<u8>,
    is_broken: bool,
    lines: Lines,
    is_collecting: bool,
    feed: Feed,
}

impl Relay {
    fn start(command: &mut Command, feed: Feed) -> std::io::Result<Self> {
        let mut child = command.spawn()?;
        let mut signals = termination_signals();
        signals.add(Signal::SIGCHLD);
        signals.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let source = child.stdout.take();
        if let Some(source) = &source {
            fcntl(source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            signals: SignalFd::with_flags(&signals, flags)?,
            exit: child.try_wait()?,
            child,
            source,
            out: std::io::stdout().as_fd().try_clone_to_owned()?,
            buffer: Vec::new(),
            is_broken: false,
            lines: Lines::default(),
            is_collecting: false,
            feed,
        })
    }

    fn run(mut self) -> ExitCode {
        loop {
            self.write();
            let has_more = self.buffer.is_empty() && self.read();
            self.feed.flush();
            self.note_problem();
            if has_more || self.can_write() {
                continue;
            }
            // A process that the program has started may keep the pipe of the log open.
            if self.exit.is_some() && self.buffer.is_empty() {
                break;
            }
            self.wait();
        }
        let problem = self.feed.take_problem();
        self.feed.finish(clock::since_boot() + LAST_PUSH);
        if let Some(problem) = problem.or_else(|| self.feed.take_problem()) {
            warn(&problem);
        }
        self.exit_code()
    }

    fn exit_code(&self) -> ExitCode {
        let status = self.exit.unwrap_or_default();
        let code = status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal));
        ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// Waits for a signal, for the log, or for the reader of the log.
    fn wait(&mut self) {
        let mut waiting = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if !self.buffer.is_empty() {
            waiting.push(PollFd::new(self.out.as_fd(), PollFlags::POLLOUT));
        } else if let Some(source) = &self.source {
            waiting.push(PollFd::new(source.as_fd(), PollFlags::POLLIN));
        }
        let descriptors = self.feed.descriptors().into_iter();
        waiting.extend(descriptors.map(|(pipe, events)| PollFd::new(pipe, events)));
        let _ = poll(&mut waiting, PollTimeout::NONE);
        drop(waiting);
        while let Ok(Some(signal)) = self.signals.read_signal() {
            self.handle(signal.ssi_signo);
        }
    }

    fn handle(&mut self, number: u32) {
        let number = i32::try_from(number).unwrap_or_default();
        match Signal::try_from(number) {
            Ok(Signal::SIGCHLD) => {
                self.exit = self.exit.or_else(|| self.child.try_wait().ok().flatten());
            }
            Ok(signal) if self.exit.is_none() => {
                if let Ok(pid) = i32::try_from(self.child.id()) {
                    let _ = kill(Pid::from_raw(pid), signal);
                }
            }
            _ => {}
        }
    }

    /// Reads a piece of the log into the buffer. Returns false if there is none.
    fn read(&mut self) -> bool {
        let Some(source) = &mut self.source else {
            return false;
        };
        let mut piece = vec![0; PIECE];
        match source.read(&mut piece) {
            Ok(0) => self.source = None,
            Ok(count) => {
                piece.truncate(count);
                self.copy_lines(&piece);
                if !self.is_broken {
                    self.buffer = piece;
                }
                return true;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return true,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.source = None,
        }
        false
    }

    /// Copies the lines to the pusher, except those that are too long.
    fn copy_lines(&mut self, text: &[u8]) {
        self.lines.read(text, |line| {
            let Some(line) = line else { return };
            match line.trim_ascii() {
                b"METRICS OPERATOR COLLECTION START" => self.is_collecting = true,
                b"METRICS OPERATOR COLLECTION END" => self.is_collecting = false,
                _ => {}
            }
            self.feed.push_line(line);
        });
    }

    fn can_write(&self) -> bool {
        let mut out = [PollFd::new(self.out.as_fd(), PollFlags::POLLOUT)];
        !self.buffer.is_empty() && poll(&mut out, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    /// Writes the buffer as far as that does not block.
    fn write(&mut self) {
        while self.can_write() {
            let end = self.buffer.len().min(PIPE_PIECE);
            match write(&self.out, &self.buffer[..end]) {
                Ok(count) => drop(self.buffer.drain(..count)),
                Err(Errno::EINTR | Errno::EAGAIN) => return,
                Err(_) => {
                    // The reader of the log has ended. The program notices this by the closed pipe.
                    self.is_broken = true;
                    self.source = None;
                    self.buffer.clear();
                }
            }
        }
    }

    /// Writes the first problem of the live export into the log, as a row, where a row can be.
    fn note_problem(&mut self) {
        if !self.is_collecting || !self.lines.is_between_lines() || self.is_broken {
            return;
        }
        if let Some(problem) = self.feed.take_problem() {
            let time = WallTime::now().precise_timestamp();
            let mut row = format!("{{\"time\":\"{time}\",\"notice\":").into_bytes();
            push_string(&mut row, &problem);
            row.extend_from_slice(b"}\n");
            self.buffer.extend_from_slice(&row);
        }
    }
}
