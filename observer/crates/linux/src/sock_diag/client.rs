//! Requests the TCP sockets of the observer's network namespace from the kernel, and receives the
//! kernel's messages about sockets that are closed.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::RcvBuf;
use nix::sys::socket::{
    AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, connect, setsockopt, socket,
};
use nix::unistd::{read, write};

use super::message::{Message, TcpSocket, messages, request};

/// The size of the buffer for a datagram. The kernel sends datagrams of at most this many bytes to
/// a reader with such a buffer (`net/netlink/af_netlink.c`, `netlink_dump`).
const DATAGRAM: usize = 32_768;
/// The groups `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY` of `linux/sock_diag.h`.
const DESTROY_GROUPS: u32 = 1 | 1 << 2;
/// Bytes of the kernel for messages about closed sockets that wait to be read. The kernel grants at
/// most twice its `net.core.rmem_max`: with the default of 212,992 bytes, 332 messages waited on
/// Linux 6.18, and with 1 MiB 1638.
const WAITING: usize = 1 << 20;
/// The maximum number of these messages that are read in a call.
const MAX_MESSAGES: usize = 4096;

/// A client of `sock_diag`.
pub struct Client {
    requests: OwnedFd,
    /// The socket for messages about closed sockets; `None` if the kernel sends no such messages.
    events: Option<OwnedFd>,
    buffer: Vec<u8>,
}

/// The result of reading the messages about closed sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// All messages were read.
    Complete,
    /// Some messages were lost, because too many sockets were closed since the last reading.
    Lost,
    /// The kernel does not send them.
    Off,
}

impl Client {
    /// Opens the netlink sockets of the client, which does not need the capability `NET_ADMIN`. If
    /// `hears_closed` is true, the kernel sends a message for each TCP socket of the namespace that
    /// is closed, unless it does not support these messages.
    ///
    /// # Errors
    /// If the kernel or a seccomp profile does not allow the netlink sockets.
    pub fn open(hears_closed: bool) -> Result<Self, Errno> {
        // Kernels before 4.7, or without CONFIG_INET_DIAG, do not send these messages.
        let events = hears_closed.then(|| listen(DESTROY_GROUPS).ok()).flatten();
        Ok(Self {
            requests: listen(0)?,
            events,
            buffer: vec![0; DATAGRAM],
        })
    }

    /// Whether the kernel sends messages about closed sockets.
    pub fn hears_closed(&self) -> bool {
        self.events.is_some()
    }

    /// Visits each TCP socket. If this fails, some may have been visited. `may_continue` is called
    /// before each message of many sockets, and ends the visits with false.
    ///
    /// # Errors
    /// `EOPNOTSUPP` or `ENOENT` if the kernel has no `sock_diag` for TCP, `EACCES` or `EPERM` if it
    /// is not allowed, `ENOBUFS` or `EAGAIN` if memory is short, `ECANCELED` after `may_continue`.
    pub fn visit_sockets(
        &mut self,
        visit: impl FnMut(&TcpSocket),
        may_continue: impl FnMut() -> bool,
    ) -> Result<(), Errno> {
        let visited = self.visit_answer(visit, may_continue);
        if visited.is_err() {
            // The rest of this answer would be read as the answer to the next request.
            self.requests = listen(0)?;
        }
        visited
    }

    fn visit_answer(
        &mut self,
        mut visit: impl FnMut(&TcpSocket),
        mut may_continue: impl FnMut() -> bool,
    ) -> Result<(), Errno> {
        write(&self.requests, &request())?;
        loop {
            if !may_continue() {
                return Err(Errno::ECANCELED);
            }
            let length = receive(&self.requests, &mut self.buffer)?;
            for message in messages(&self.buffer[..length]) {
                match message {
                    Message::Socket(socket) => visit(&socket),
                    Message::Done => return Ok(()),
                    Message::Failed(error) => return Err(error),
                    Message::Other => {}
                }
            }
        }
    }

    /// Visits each socket that was closed since the last call, with its last counters.
    pub fn visit_closed(&mut self, mut visit: impl FnMut(&TcpSocket)) -> Hearing {
        let mut hearing = Hearing::Complete;
        let Some(events) = &self.events else {
            return Hearing::Off;
        };
        // More are left for the next call, so that a call ends if sockets are closed all the time.
        for _ in 0..MAX_MESSAGES {
            match receive(events, &mut self.buffer) {
                Ok(length) => {
                    for message in messages(&self.buffer[..length]) {
                        if let Message::Socket(socket) = message {
                            visit(&socket);
                        }
                    }
                }
                Err(Errno::ENOBUFS) => hearing = Hearing::Lost,
                Err(_) => return hearing,
            }
        }
        hearing
    }
}

/// Opens a netlink socket that receives only from the kernel: the answers to requests, and the
/// messages of the multicast groups in the mask `groups`.
fn listen(groups: u32) -> Result<OwnedFd, Errno> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        SockProtocol::NetlinkSockDiag,
    )?;
    if groups != 0 {
        setsockopt(&netlink, RcvBuf, &WAITING)?;
    }
    bind(netlink.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    // A connected socket does not receive from other processes.
    connect(netlink.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(netlink)
}

fn receive(from: &impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match read(from, buffer) {
            Err(Errno::EINTR) => {}
            // The kernel never sends an empty datagram.
            Ok(0) => return Err(Errno::EAGAIN),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{IpAddr, TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    fn inode_of(stream: &TcpStream) -> u32 {
        let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
        let inode = std::fs::metadata(path).unwrap().ino();
        u32::try_from(inode).unwrap()
    }

    #[test]
    fn both_ends_of_a_connection_are_found_until_they_are_closed() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let mut client = Client::open(true).unwrap();
            let listener = TcpListener::bind(address).unwrap();
            let mut one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut other, _) = listener.accept().unwrap();
            one.write_all(&vec![7; 100_000]).unwrap();
            other.read_exact(&mut vec![0; 60_000]).unwrap();
            let mut ends = Vec::new();
            let wanted = [inode_of(&one), inode_of(&other)];
            client
                .visit_sockets(
                    |socket| {
                        if wanted.contains(&socket.inode) {
                            ends.push(*socket);
                        }
                    },
                    || true,
                )
                .unwrap();
            let cancelled = client.visit_sockets(|_| (), || false);
            assert_eq!(cancelled, Err(Errno::ECANCELED));
            assert_eq!(client.visit_sockets(|_| (), || true), Ok(()));
            ends.sort_by_key(|end| end.info.received);
            let [sender, receiver] = ends[..] else {
                panic!("{ends:?}")
            };
            assert_eq!(
                (sender.info.sent, receiver.info.received),
                (100_000, 100_000)
            );
            assert_eq!(receiver.receive_queue, 40_000);
            let loopback: IpAddr = listener.local_addr().unwrap().ip();
            assert_eq!((sender.source, sender.destination), (loopback, loopback));
            drop((one, other));
            let mut closed = Vec::new();
            while closed.len() < 2 {
                client.visit_closed(|socket| {
                    if [sender.cookie, receiver.cookie].contains(&socket.cookie) {
                        closed.push(socket.info.sent.max(socket.info.received));
                    }
                });
                std::thread::yield_now();
            }
            assert!(closed.iter().all(|bytes| *bytes >= 100_000), "{closed:?}");
        }
    }
}
