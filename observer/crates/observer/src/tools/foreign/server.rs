//! The child that reads files of a container for the observer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use linux::proc::files::{Files, RootDirectory};
use linux::proc::status;
use linux::read_at::ReadAt as _;
use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::stat::fstat;

use super::message::{HEAD, MAX_PATH, MAX_READ, Request};
use crate::runtime::identity::{Identity, ObserverIdentity};

/// Answers requests until the observer ends. Standard input is the root directory of a container,
/// and standard output the socket of the observer. `other` is the identity with which files are
/// opened that the observer's own identity may not open.
pub fn run(other: Option<Identity>) {
    // If the observer ends while this process waits for a file, only SIGKILL may end the wait.
    let _ = set_pdeathsig(Signal::SIGKILL);
    let (root, socket) = (std::io::stdin(), std::io::stdout());
    let root = root.as_fd().try_clone_to_owned();
    let socket = socket.as_fd().try_clone_to_owned();
    if let (Ok(root), Ok(socket)) = (root, socket) {
        let mut server = Server {
            root: RootDirectory::from(root),
            device: None,
            own: own_identity(),
            other,
            files: BTreeMap::new(),
            last: 0,
        };
        server.answer(&mut UnixStream::from(socket));
    }
}

struct Server {
    root: RootDirectory,
    /// The file system of the root directory, once it is known.
    device: Option<u64>,
    own: Option<ObserverIdentity>,
    other: Option<Identity>,
    files: BTreeMap<u32, File>,
    /// The number of the file that was opened last.
    last: u32,
}

impl Server {
    fn answer(&mut self, socket: &mut UnixStream) {
        let (mut head, mut path) = ([0; HEAD], vec![0; MAX_PATH]);
        let mut answer = Vec::new();
        while socket.read_exact(&mut head).is_ok() {
            let Some(path) = path.get_mut(..Request::path_length(&head)) else {
                return;
            };
            let is_read = socket.read_exact(path).is_ok();
            let request = Request::decode(&head, path).filter(|_| is_read);
            let Some(request) = request else { return };
            answer.clear();
            self.handle(request, &mut answer);
            if socket.write_all(&answer).is_err() {
                return;
            }
        }
    }

    fn handle(&mut self, request: Request<'_>, answer: &mut Vec<u8>) {
        match request {
            Request::Keep(path) => {
                let file = self.open(path).filter(|file| self.is_elsewhere(file));
                self.add(file, answer);
            }
            Request::Open(path) => {
                let file = self.open(path);
                self.add(file, answer);
            }
            Request::Read(number, offset, length) => {
                let most = usize::try_from(length).map_or(MAX_READ, |most| most.min(MAX_READ));
                answer.resize(4 + most, 0);
                let file = self.files.get(&number);
                let count = file.map_or(0, |file| file.read_at(offset, &mut answer[4..]));
                answer.truncate(4 + count);
                let count = u32::try_from(count).unwrap_or_default();
                answer[..4].copy_from_slice(&count.to_le_bytes());
            }
            Request::Close(number) => {
                self.files.remove(&number);
            }
        }
    }

    /// Opens a file with the observer's own identity and, if the kernel denies that, with the
    /// identity of a process of the container.
    fn open(&self, path: &[u8]) -> Option<File> {
        match self.root.open(path) {
            Err(Errno::EACCES | Errno::EPERM) => {
                let (own, other) = (self.own?, self.other?);
                let _guard = own.can_assume(other).then(|| own.assume(other))?;
                self.root.open(path).ok()
            }
            result => result.ok(),
        }
    }

    /// Whether a file is in another file system than the root directory.
    fn is_elsewhere(&mut self, file: &File) -> bool {
        self.device = self.device.or_else(|| self.root.device().ok());
        let device = self.device;
        fstat(file).is_ok_and(|facts| device.is_some_and(|device| facts.st_dev != device))
    }

    fn add(&mut self, file: Option<File>, answer: &mut Vec<u8>) {
        let number = file.map_or(0, |file| {
            self.last += 1;
            self.files.insert(self.last, file);
            self.last
        });
        answer.extend(number.to_le_bytes());
    }
}

fn own_identity() -> Option<ObserverIdentity> {
    let mut files = Files::open().ok()?;
    let text = files.read_whole("self/status").ok()?;
    Some(ObserverIdentity::from_status(text, &status::parse(text)?))
}
