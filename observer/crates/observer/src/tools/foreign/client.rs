//! The observer's side: starts the child that reads files of a container, and waits for its answers
//! for a limited time.

use std::cell::RefCell;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use encode::json::clean;
use linux::proc::files::RootDirectory;
use linux::read_at::ReadAt;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::message::{MAX_READ, Request};
use crate::runtime::identity::Identity;
use crate::runtime::watchdog;

/// The variable with the identity that the child may assume.
pub const READ_AS: &str = "RIDEALONG_READ_AS";
/// The maximum time until an answer, and after a signal to end.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_AFTER_SIGNAL: Duration = Duration::from_millis(300);
/// The time between two looks whether there is a signal, in milliseconds.
const PAUSE: u16 = 50;
/// The maximum children that are left behind for a container. A child that waits for a file can
/// stay until the end of the pod.
const MAX_LEFT_BEHIND: usize = 2;

/// The files of a container.
pub struct ForeignFiles(Rc<RefCell<Client>>);

/// An open file of a container.
pub struct ForeignFile {
    client: Rc<RefCell<Client>>,
    /// The child that has opened the file.
    generation: usize,
    number: u32,
}

struct Client {
    root: RootDirectory,
    identity: Option<Identity>,
    child: Option<(Child, UnixStream)>,
    /// The children that did not answer.
    left_behind: Vec<Child>,
    /// Whether no more children are started.
    is_given_up: bool,
    problem: Option<String>,
}

impl ForeignFiles {
    /// Reads files below a root directory. `identity` is that of a process of the container, if its
    /// files may be read with it.
    pub fn new(root: RootDirectory, identity: Option<Identity>) -> Self {
        Self(Rc::new(RefCell::new(Client {
            root,
            identity,
            child: None,
            left_behind: Vec::new(),
            is_given_up: false,
            problem: None,
        })))
    }

    /// Opens a file, if it is not in the file system of the root directory.
    pub fn keep(&self, path: &[u8]) -> Option<ForeignFile> {
        self.open_by(&Request::Keep(path), path)
    }

    /// Opens a file.
    pub fn open(&self, path: &[u8]) -> Option<ForeignFile> {
        self.open_by(&Request::Open(path), path)
    }

    /// Returns a sentence about files that cannot be read, once.
    pub fn take_problem(&self) -> Option<String> {
        self.0.borrow_mut().problem.take()
    }

    fn open_by(&self, request: &Request<'_>, path: &[u8]) -> Option<ForeignFile> {
        let mut client = self.0.borrow_mut();
        let mut answer = [0; 4];
        client.start()?;
        client.send(request)?;
        if client.receive(&mut answer).is_none() {
            client.fail(path);
            return None;
        }
        let number = u32::from_le_bytes(answer);
        (number > 0).then(|| ForeignFile {
            client: Rc::clone(&self.0),
            generation: client.left_behind.len(),
            number,
        })
    }
}

impl ReadAt for ForeignFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut length = 0;
        while length < buffer.len() {
            let end = buffer.len().min(length + MAX_READ);
            let piece = &mut buffer[length..end];
            match self.read_piece(offset.saturating_add(length as u64), piece) {
                Some(count) if count > 0 => length += count,
                _ => break,
            }
        }
        length
    }
}

impl ForeignFile {
    fn read_piece(&self, offset: u64, piece: &mut [u8]) -> Option<usize> {
        let mut client = self.client.borrow_mut();
        if client.left_behind.len() != self.generation {
            return None;
        }
        let length = u32::try_from(piece.len()).ok()?;
        client.send(&Request::Read(self.number, offset, length))?;
        let mut count = [0; 4];
        let read = client.receive(&mut count).and_then(|()| {
            let count = usize::try_from(u32::from_le_bytes(count)).ok()?;
            client.receive(piece.get_mut(..count)?)?;
            Some(count)
        });
        if read.is_none() {
            client.fail(b"a program or library");
        }
        read
    }
}

impl Drop for ForeignFile {
    fn drop(&mut self) {
        let mut client = self.client.borrow_mut();
        if client.left_behind.len() == self.generation {
            // There is no answer, because closing a file can wait for its server, too.
            let _ = client.send(&Request::Close(self.number));
        }
    }
}

impl Client {
    /// Starts a child if none runs. `None` if that is not possible.
    fn start(&mut self) -> Option<()> {
        if self.child.is_some() {
            return Some(());
        }
        if self.is_given_up {
            return None;
        }
        match self.spawn() {
            Ok(child) => self.child = Some(child),
            Err(error) => {
                self.is_given_up = true;
                self.problem = Some(format!("files of a container cannot be read: {error}"));
            }
        }
        self.child.as_ref().map(|_| ())
    }

    fn spawn(&self) -> std::io::Result<(Child, UnixStream)> {
        let (own, other) = UnixStream::pair()?;
        own.set_nonblocking(true)?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(identity) = self.identity {
            command.env(READ_AS, identity.to_string());
        }
        let child = command
            .arg0("read-files")
            .stdin(self.root.try_clone()?)
            .stdout(OwnedFd::from(other))
            .stderr(Stdio::null())
            .spawn()?;
        Ok((child, own))
    }

    /// Sends a request, for which the socket always has room.
    fn send(&mut self, request: &Request<'_>) -> Option<()> {
        let (_, socket) = self.child.as_mut()?;
        socket.write_all(&request.encode()).ok()
    }

    /// Receives bytes of an answer. `None` if they do not arrive in time.
    fn receive(&mut self, bytes: &mut [u8]) -> Option<()> {
        let (_, socket) = self.child.as_mut()?;
        let begun = Instant::now();
        let mut signalled = None;
        let mut length = 0;
        while length < bytes.len() {
            match socket.read(&mut bytes[length..]) {
                Ok(0) => return None,
                Ok(count) => {
                    length += count;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            if watchdog::has_signal() {
                signalled.get_or_insert_with(Instant::now);
            }
            let is_late = signalled.is_some_and(|at| at.elapsed() >= PATIENCE_AFTER_SIGNAL);
            if is_late || begun.elapsed() >= PATIENCE {
                return None;
            }
            let mut ready = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut ready, PollTimeout::from(PAUSE));
        }
        watchdog::count_step();
        Some(())
    }

    /// Leaves the child behind after a request about the file `path`.
    fn fail(&mut self, path: &[u8]) {
        let Some((mut child, _)) = self.child.take() else {
            return;
        };
        // An error means that the child has ended. The kernel may keep it until its file system
        // answers, so the observer does not wait for it.
        let _ = child.kill();
        self.left_behind.push(child);
        for child in &mut self.left_behind {
            let _ = child.try_wait();
        }
        self.is_given_up = self.left_behind.len() >= MAX_LEFT_BEHIND;
        let path = clean(path);
        self.problem = Some(format!(
            "the file system of {path} does not answer: functions have no names"
        ));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.child.take() {
            let _ = child.kill();
            let _ = child.try_wait();
        }
    }
}
