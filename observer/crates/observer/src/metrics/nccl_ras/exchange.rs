//! One request to NCCL's RAS service, and its answer. The socket never blocks, and what the service
//! sends is read at most as often as [`PAUSE`] says, whatever it sends.
//!
//! The request is written at once: the service reads its lines one after another, and answers each
//! with a line, until the last one makes it send its data and close the connection
//! (`src/ras/client_support.cc`, `rasClientEventLoop`). A version before 2.28.7 answers the format
//! with an error, and then sends text.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, socket,
};

use super::answer::Format;

/// The seconds between two looks at the socket.
pub const PAUSE: f64 = 0.05;
/// The seconds after which an exchange ends. The service waits five seconds for processes that do
/// not answer, and five more for others on the way (`src/ras/ras_internal.h`).
pub const PATIENCE: f64 = 15.0;
/// The maximum bytes of an answer, without the indentation of JSON.
pub const MAX_BODY: usize = 4 << 20;
/// The maximum bytes of an answer with the indentation.
const MAX_RAW: usize = 8 * MAX_BODY;
/// The maximum bytes of a line before the data.
const MAX_HEAD: usize = 512;
/// The bytes that are read at once, and the maximum bytes of one look.
const CHUNK: usize = 65_536;
const MAX_LOOK: usize = 16 * CHUNK;

const JSON_REQUEST: &[u8] = b"CLIENT PROTOCOL 2\nSET FORMAT json\nVERBOSE STATUS\n";
const TEXT_REQUEST: &[u8] = b"CLIENT PROTOCOL 2\nVERBOSE STATUS\n";

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing listens.
    Refused,
    /// There was no complete answer in time.
    Silent,
    /// The answer is too large.
    TooLarge,
    /// The answer is not one of the service. The text says why.
    Unreadable(String),
    /// The connection failed.
    Broken(Errno),
}

impl Failure {
    /// Returns the name in the rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Silent => "silent",
            Self::TooLarge => "too-large",
            Self::Unreadable(_) => "unreadable",
            Self::Broken(_) => "broken",
        }
    }
}

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// The format.
    pub format: Format,
    /// The data, in JSON without indentation.
    pub body: Vec<u8>,
}

/// An exchange.
pub struct Exchange {
    /// The addresses that were not tried yet.
    addresses: VecDeque<SocketAddr>,
    request: &'static [u8],
    connection: Option<Connection>,
    /// When it ends, in seconds since boot.
    deadline: f64,
    receiver: Receiver,
}

struct Connection {
    stream: TcpStream,
    is_connected: bool,
    /// The bytes of the request that were written.
    written: usize,
}

impl Exchange {
    /// Begins an exchange. The addresses are tried one after another.
    pub fn begin(addresses: Vec<SocketAddr>, format: Format, now: f64) -> Self {
        Self {
            addresses: addresses.into(),
            request: match format {
                Format::Json => JSON_REQUEST,
                Format::Text => TEXT_REQUEST,
            },
            connection: None,
            deadline: now + PATIENCE,
            receiver: Receiver::new(format),
        }
    }

    /// Continues the exchange without waiting. `None` if it goes on.
    pub fn look(&mut self, now: f64) -> Option<Result<Reply, Failure>> {
        match self.go_on() {
            Ok(false) if now < self.deadline => None,
            Ok(false) => Some(Err(Failure::Silent)),
            Ok(true) => Some(self.receiver.finish()),
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Connects, writes and reads as far as that is possible at once. Returns whether the service
    /// has closed the connection.
    fn go_on(&mut self) -> Result<bool, Failure> {
        let Some(connection) = &mut self.connection else {
            return self.connect_next();
        };
        if !connection.is_connected {
            match connection.check() {
                Ok(is_connected) => connection.is_connected = is_connected,
                Err(error) => return self.fail(error),
            }
            if !connection.is_connected {
                return Ok(false);
            }
        }
        connection.write(self.request)?;
        connection.read(&mut self.receiver)
    }

    fn connect_next(&mut self) -> Result<bool, Failure> {
        let Some(address) = self.addresses.pop_front() else {
            return Err(Failure::Refused);
        };
        match Connection::open(address) {
            Ok(connection) => {
                self.connection = Some(connection);
                self.go_on()
            }
            Err(error) => self.fail(error),
        }
    }

    /// Tries the next address, if there is one.
    fn fail(&mut self, error: Errno) -> Result<bool, Failure> {
        self.connection = None;
        if !self.addresses.is_empty() {
            return self.connect_next();
        }
        Err(match error {
            Errno::ECONNREFUSED => Failure::Refused,
            other => Failure::Broken(other),
        })
    }
}

impl Connection {
    fn open(address: SocketAddr) -> Result<Self, Errno> {
        let family = if address.is_ipv4() {
            AddressFamily::Inet
        } else {
            AddressFamily::Inet6
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Stream, flags, None)?;
        let result = connect(socket.as_raw_fd(), &SockaddrStorage::from(address));
        let is_connected = match result {
            Ok(()) => true,
            Err(Errno::EINPROGRESS | Errno::EAGAIN) => false,
            Err(error) => return Err(error),
        };
        Ok(Self {
            stream: TcpStream::from(socket),
            is_connected,
            written: 0,
        })
    }

    /// Returns whether the socket is connected now.
    fn check(&self) -> Result<bool, Errno> {
        let mut ready = [PollFd::new(self.stream.as_fd(), PollFlags::POLLOUT)];
        if poll(&mut ready, PollTimeout::ZERO)? == 0 {
            return Ok(false);
        }
        match getsockopt(&self.stream, SocketError)? {
            0 => Ok(true),
            error => Err(Errno::from_raw(error)),
        }
    }

    fn write(&mut self, request: &[u8]) -> Result<(), Failure> {
        while self.written < request.len() {
            match self.stream.write(&request[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(())
    }

    /// Reads what has arrived. Returns whether the service has closed the connection.
    fn read(&mut self, receiver: &mut Receiver) -> Result<bool, Failure> {
        let mut chunk = vec![0; CHUNK];
        let mut taken = 0;
        while taken < MAX_LOOK {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(true),
                Ok(count) => {
                    taken += count;
                    receiver.take(&chunk[..count])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(broken(&error)),
            }
        }
        Ok(false)
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::Broken(Errno::from_raw(error.raw_os_error().unwrap_or_default()))
}

/// Collects the bytes of an answer.
pub struct Receiver {
    /// The line before the data that is not complete yet.
    line: Vec<u8>,
    next: Expected,
    /// The bytes that were taken.
    raw: usize,
    body: Vec<u8>,
    format: Format,
    is_in_string: bool,
    is_escaped: bool,
}

/// The next part of an answer, which has a line for each line of the request, and then the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Protocol,
    Format,
    Data,
}

impl Receiver {
    /// Begins with nothing. `requested` is the format of the request.
    pub fn new(requested: Format) -> Self {
        Self {
            line: Vec::new(),
            next: Expected::Protocol,
            raw: 0,
            body: Vec::new(),
            format: requested,
            is_in_string: false,
            is_escaped: false,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// If the answer is too large, or is not one of the service.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.raw = self.raw.saturating_add(bytes.len());
        let mut rest = bytes;
        while self.next != Expected::Data {
            let Some((byte, after)) = rest.split_first() else {
                return Ok(());
            };
            rest = after;
            self.line.push(*byte);
            if self.line.len() > MAX_HEAD {
                return Err(unreadable("its first lines are too long"));
            }
            if *byte == b'\n' {
                self.end_line()?;
            }
        }
        match self.format {
            Format::Text => self.body.extend_from_slice(rest),
            Format::Json => self.take_json(rest),
        }
        if self.body.len() > MAX_BODY || self.raw > MAX_RAW {
            return Err(Failure::TooLarge);
        }
        Ok(())
    }

    /// Takes a line before the data: the version of the protocol, or whether the format is known.
    fn end_line(&mut self) -> Result<(), Failure> {
        let line = std::mem::take(&mut self.line);
        if self.next == Expected::Format {
            if line.starts_with(b"ERROR") {
                self.format = Format::Text;
            }
            self.next = Expected::Data;
            return Ok(());
        }
        if !line.starts_with(b"SERVER PROTOCOL ") {
            return Err(unreadable("it does not begin with SERVER PROTOCOL"));
        }
        self.next = match self.format {
            Format::Text => Expected::Data,
            Format::Json => Expected::Format,
        };
        Ok(())
    }

    /// Keeps the bytes of JSON without blanks between them.
    fn take_json(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !self.is_in_string && byte.is_ascii_whitespace() {
                continue;
            }
            if self.is_escaped {
                self.is_escaped = false;
            } else if self.is_in_string && *byte == b'\\' {
                self.is_escaped = true;
            } else if *byte == b'"' {
                self.is_in_string = !self.is_in_string;
            }
            self.body.push(*byte);
        }
    }

    /// Returns the answer after its last byte.
    ///
    /// # Errors
    /// If it has no data.
    pub fn finish(&mut self) -> Result<Reply, Failure> {
        if self.body.is_empty() {
            return Err(unreadable("the service closed the connection without data"));
        }
        Ok(Reply {
            format: self.format,
            body: std::mem::take(&mut self.body),
        })
    }
}

fn unreadable(why: &str) -> Failure {
    Failure::Unreadable(why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const JSON: &[u8] = include_bytes!("../../../tests/nccl-answers/documented-json.txt");
    const TEXT: &[u8] = include_bytes!("../../../tests/nccl-answers/mismatch-2.24.txt");

    /// Returns what a receiver makes of the pieces of an answer.
    fn receive(format: Format, pieces: &[&[u8]]) -> Result<Reply, Failure> {
        let mut receiver = Receiver::new(format);
        for piece in pieces {
            receiver.take(piece)?;
        }
        receiver.finish()
    }

    /// Exchanges with a server that sends bytes to each client and then does something.
    fn exchange(bytes: Vec<u8>, then: fn(TcpStream)) -> Result<Reply, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; JSON_REQUEST.len()];
            stream.read_exact(&mut request).unwrap();
            assert_eq!(request, JSON_REQUEST);
            let _ = stream.write_all(&bytes);
            then(stream);
        });
        let mut exchange = Exchange::begin(vec![address], Format::Json, 0.0);
        // The clock of the exchange stands still, so its patience does not end.
        loop {
            if let Some(result) = exchange.look(0.0) {
                return result;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn json_is_received_without_its_indentation() {
        let bytes = [b"SERVER PROTOCOL 2\nOK\n", JSON].concat();
        let reply = exchange(bytes, drop).unwrap();
        assert_eq!(reply.format, Format::Json);
        let [received, sent] = [&reply.body[..], JSON]
            .map(|bytes| serde_json::from_slice::<serde_json::Value>(bytes).unwrap());
        assert_eq!(received, sent);
        assert!(reply.body.len() < JSON.len());
    }

    #[test]
    fn blanks_in_strings_are_kept() {
        let json = br#"{ "a b" : "c \" d\\" , "e" : 1 }"#;
        let reply = receive(Format::Json, &[b"SERVER PROTOCOL 2\nOK\n", json]).unwrap();
        assert_eq!(reply.body, br#"{"a b":"c \" d\\","e":1}"#);
    }

    #[test]
    fn an_older_service_answers_with_text() {
        let bytes = [
            &b"SERVER PROTOCOL 2\nERROR: Unknown command SET FORMAT json\n"[..],
            TEXT,
        ];
        let reply = exchange(bytes.concat(), drop).unwrap();
        assert_eq!((reply.format, &reply.body[..]), (Format::Text, TEXT));
        let requested = receive(Format::Text, &[b"SERVER PROTOCOL 2\n", TEXT]).unwrap();
        assert_eq!(
            (requested.format, &requested.body[..]),
            (Format::Text, TEXT)
        );
    }

    #[test]
    fn the_second_address_is_tried_if_nothing_listens_on_the_first() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses: Vec<SocketAddr> = [&closed, &open].map(|it| it.local_addr().unwrap()).into();
        drop(closed);
        let mut exchange = Exchange::begin(addresses.clone(), Format::Json, 0.0);
        assert_eq!(exchange.look(0.0), None);
        drop(open);
        let mut exchange = Exchange::begin(addresses, Format::Json, 0.0);
        assert_eq!(exchange.look(0.0), Some(Err(Failure::Refused)));
    }

    #[test]
    fn a_silent_service_is_left_when_the_patience_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut exchange = Exchange::begin(vec![address], Format::Json, 100.0);
        assert_eq!(exchange.look(100.0), None);
        assert_eq!(exchange.look(100.0 + PATIENCE - 0.01), None);
        assert_eq!(exchange.look(100.0 + PATIENCE), Some(Err(Failure::Silent)));
    }

    #[test]
    fn other_services_are_not_read() {
        for bytes in [&b"HTTP/1.1 400 Bad Request\n"[..], &[b'x'; 1000], b""] {
            let result = exchange(bytes.to_vec(), drop);
            assert!(matches!(result, Err(Failure::Unreadable(_))), "{result:?}");
        }
    }

    #[test]
    fn an_answer_without_an_end_is_too_large() {
        for letter in [b'x', b' '] {
            let mut receiver = Receiver::new(Format::Json);
            receiver.take(b"SERVER PROTOCOL 2\nOK\n").unwrap();
            let chunk = vec![letter; CHUNK];
            let result = (0..=MAX_RAW / CHUNK).find_map(|_| receiver.take(&chunk).err());
            assert_eq!(result, Some(Failure::TooLarge));
            assert!(receiver.body.capacity() <= 3 * MAX_BODY);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_pieces_of_an_answer_do_not_matter(cuts: [usize; 3]) {
            let bytes = [b"SERVER PROTOCOL 2\nOK\n", JSON].concat();
            let mut cuts = cuts.map(|cut| cut % bytes.len());
            cuts.sort_unstable();
            let [one, two, three] = cuts;
            let pieces = [&bytes[..one], &bytes[one..two], &bytes[two..three], &bytes[three..]];
            proptest::prop_assert_eq!(
                receive(Format::Json, &pieces),
                receive(Format::Json, &[&bytes])
            );
        }
    }
}
