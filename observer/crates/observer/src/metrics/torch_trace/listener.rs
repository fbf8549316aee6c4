//! Listens on a socket in the folder of the results, as the daemon dynolog does, and tells the
//! observed processes which steps they are to record.
//!
//! A process waits at most 90 ms for an answer, so a thread of its own listens. Any process of the
//! target can send anything: a datagram has a bounded size, and a bounded rate.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, RecvMsg, SockaddrLike as _, UnixAddr, UnixCredentials, recvmsg,
    sendto, setsockopt, sockopt,
};
use nix::sys::stat::{Mode, umask};

use super::message::{MAX_DATAGRAM, Message};
use crate::tools::results::{ResultName, Results};

/// The name of the socket.
const SOCKET: &str = "dynolog";
/// The beginning of the name of the socket of a process. The rest is a UUID.
const CLIENT: &str = "dynoconfigclient";
/// The maximum bytes of the name of the socket of a process.
const MAX_CLIENT: usize = 64;
/// A link in the folder, which leads to the folder itself. libkineto only takes answers from a
/// socket whose path begins with `KINETO_IPC_SOCKET_DIR`, and the path is that with which the
/// socket was bound. The target has the folder at `/ridealong/results/torch-trace`, and the
/// observer at `/ridealong/results`. With the link, both have the same path.
pub const LINK: &str = "torch-trace";
/// The pause after a datagram, which limits the processor time that a process of the target can
/// cause, and after an error.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// The bytes of a socket address before its path (`sockaddr_un`, unix(7)).
const FAMILY: u32 = 2;
/// Bytes of the stack of the thread.
const STACK: usize = 65_536;

/// The steps that a process records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// The first step. A process that has passed it begins at the next multiple of it.
    pub first: f64,
    /// The number of steps.
    pub count: f64,
}

/// The number of steps before the first one in which the profiler already runs, so that its own
/// beginning is not in the trace.
const WARMUP: f64 = 3.0;

impl Steps {
    /// Returns the configuration for a process. A process that has made no step yet ignores it,
    /// because it has no duration, and asks again five seconds later (pytorch/kineto,
    /// `libkineto/src/AsyncActivityProfilerHandler.cpp`).
    fn configuration(self, path: &str) -> String {
        let Self { first, count } = self;
        let warmup = WARMUP.min(first - 1.0);
        format!(
            "ACTIVITIES_LOG_FILE={path}\nACTIVITIES_DURATION_MSECS=0\n\
             PROFILE_START_ITERATION={first:.0}\nPROFILE_START_ITERATION_ROUNDUP={first:.0}\n\
             ACTIVITIES_ITERATIONS={count:.0}\nACTIVITIES_WARMUP_ITERATIONS={warmup:.0}\n\
             PROFILE_REPORT_INPUT_SHAPES=true\n"
        )
    }
}

/// A process that may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The file for its trace.
    pub name: ResultName,
    /// Whether it has asked.
    pub has_asked: bool,
}

#[derive(Default)]
struct Shared {
    /// The observed processes, by their ids in the pod.
    processes: BTreeMap<i32, Asking>,
    /// The number of datagrams that were not as expected.
    refused: u64,
}

/// Listens until the observer ends.
pub struct Listener {
    shared: Arc<Mutex<Shared>>,
}

impl Listener {
    /// Begins to listen in a folder.
    ///
    /// # Errors
    /// A clause with the reason why it cannot listen.
    pub fn start(folder: &str, steps: Steps) -> Result<Self, String> {
        let results = Results::open(folder, 0).map_err(|error| error.desc().to_owned())?;
        let describe = |error: std::io::Error| error.to_string();
        let socket = bind(folder, &results).map_err(describe)?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        let server = Server {
            shared: Arc::clone(&shared),
            socket,
            results,
            folder: folder.to_owned(),
            steps,
        };
        let thread = Builder::new().stack_size(STACK);
        thread.spawn(move || server.listen()).map_err(describe)?;
        Ok(Self { shared })
    }

    /// Lets a process record a trace into a file.
    pub fn add(&self, pid: i32, name: ResultName) {
        let asking = Asking {
            name,
            has_asked: false,
        };
        lock(&self.shared).processes.insert(pid, asking);
    }

    /// Forgets a process. Returns whether it has asked.
    pub fn remove(&self, pid: i32) -> bool {
        let removed = lock(&self.shared).processes.remove(&pid);
        removed.is_some_and(|it| it.has_asked)
    }

    /// Returns the number of datagrams that were not as expected.
    pub fn refused(&self) -> u64 {
        lock(&self.shared).refused
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binds the socket, so that processes of every user can send to it.
fn bind(folder: &str, results: &Results) -> std::io::Result<UnixDatagram> {
    results.link_to_itself(LINK)?;
    // The socket of an observer that was restarted is still there.
    results.remove_entry(SOCKET);
    let before = umask(Mode::from_bits_truncate(0o111));
    let socket = UnixDatagram::bind(format!("{folder}/{LINK}/{SOCKET}"));
    umask(before);
    let socket = socket?;
    setsockopt(&socket, sockopt::PassCred, &true)?;
    Ok(socket)
}

struct Server {
    shared: Arc<Mutex<Shared>>,
    socket: UnixDatagram,
    results: Results,
    folder: String,
    steps: Steps,
}

impl Server {
    fn listen(&self) {
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            match self.receive(&mut buffer) {
                Ok(Some((datagram, sender))) => {
                    self.answer(datagram, &sender);
                    sleep(PAUSE);
                }
                Ok(None) => {
                    lock(&self.shared).refused += 1;
                    sleep(PAUSE);
                }
                Err(Errno::EINTR) => {}
                Err(_) => sleep(PAUSE_AFTER_ERROR),
            }
        }
    }

    /// Waits for a datagram. `None` if it is too large, or if its sender cannot get an answer.
    fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<(&'a [u8], Sender)>, Errno> {
        // There is only room for the credentials, so that the kernel drops file descriptors.
        let mut control = cmsg_space!(UnixCredentials);
        let (bytes, sender, is_cut) = {
            let mut parts = [IoSliceMut::new(buffer)];
            let socket = self.socket.as_raw_fd();
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let received = recvmsg::<UnixAddr>(socket, &mut parts, Some(&mut control), flags)?;
            let is_cut = received.flags.contains(MsgFlags::MSG_TRUNC);
            (received.bytes, Sender::of(&received), is_cut)
        };
        let sender = sender.filter(|_| !is_cut);
        Ok(sender.map(|sender| (&buffer[..bytes], sender)))
    }

    fn answer(&self, datagram: &[u8], sender: &Sender) {
        let Some(message) = Message::parse(datagram) else {
            lock(&self.shared).refused += 1;
            return;
        };
        let configuration = self.configure(message, sender.pid).unwrap_or_default();
        let path = format!("{}/{}", self.folder, sender.name);
        let Ok(address) = UnixAddr::new(path.as_str()) else {
            return;
        };
        // A process that does not read its answers has ended, or asks again.
        let answer = message.answer(&configuration);
        let socket = self.socket.as_raw_fd();
        let _ = sendto(socket, &answer, &address, MsgFlags::MSG_DONTWAIT);
    }

    /// Returns the configuration for a process; `None` if it is to record nothing, or has begun to
    /// write its trace.
    fn configure(&self, message: Message, pid: i32) -> Option<String> {
        let name = {
            let mut shared = lock(&self.shared);
            let process = shared.processes.get_mut(&pid)?;
            process.has_asked = true;
            process.name.file_name()
        };
        let has_begun = self.results.has_entry(&name) || self.results.has_entry(&partial(&name));
        if has_begun || message != (Message::Request { can_record: true }) {
            return None;
        }
        let path = format!("{}/{LINK}/{name}", self.folder);
        Some(self.steps.configuration(&path))
    }
}

/// Returns the name that a trace has until libkineto has written all of it
/// (`libkineto/src/output_json.cpp`).
pub fn partial(name: &str) -> String {
    format!("{name}.tmp")
}

/// The process that sent a datagram.
#[derive(Debug, PartialEq, Eq)]
struct Sender {
    /// Its id in the pod, from the kernel; 0 if it is in no process namespace of the pod.
    pid: i32,
    /// The name of its socket in the folder.
    name: String,
}

impl Sender {
    /// Returns the sender of a datagram; `None` if its socket is not like those of libkineto.
    fn of(received: &RecvMsg<'_, '_, UnixAddr>) -> Option<Self> {
        let address = received.address.as_ref()?;
        // nix panics at the path of a socket without an address.
        if address.len() <= FAMILY {
            return None;
        }
        let name = client_name(address.path()?)?;
        let pid = received.cmsgs().ok()?.find_map(|it| match it {
            ControlMessageOwned::ScmCredentials(credentials) => Some(credentials.pid()),
            _ => None,
        })?;
        Some(Self { pid, name })
    }
}

/// Returns the name of the socket of a process; `None` if it is not one of libkineto's names.
fn client_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix(CLIENT)?;
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (name.len() <= MAX_CLIENT && rest.bytes().all(is_id)).then(|| name.to_owned())
}
