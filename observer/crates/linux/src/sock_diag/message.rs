//! Builds and parses netlink messages about TCP sockets (linux/netlink.h and `linux/inet_diag.h`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::errno::Errno;

use super::bytes::{u16_at, u32_at, u64_at};
use super::tcp_info::TcpInfo;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of `struct inet_diag_req`.
const REQUEST: usize = 60;
/// The position of `idiag_states` in `struct inet_diag_req`.
const STATES_AT: usize = 52;
/// Bytes of a request: the header and `struct inet_diag_req`.
const REQUEST_LENGTH: u32 = 76;
/// Bytes of `struct inet_diag_msg`; its attributes follow.
const SOCKET: usize = 72;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The request for the sockets of all families, and the type of its answers. A request of the type
/// [`SOCK_DIAG_BY_FAMILY`] is only for one family, and for each request the kernel reads its table
/// of the TCP sockets of the whole machine.
const TCPDIAG_GETSOCK: u16 = 18;
/// The type of the messages about closed sockets.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP_FLAGS: u16 = 0x301;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const INET_DIAG_INFO: u16 = 2;
/// The bits of an attribute's type that are not flags (`NLA_TYPE_MASK`).
const TYPE_MASK: u16 = 0x3fff;
/// The states of sockets that send and receive: ESTABLISHED, `SYN_SENT`, `FIN_WAIT1`, `FIN_WAIT2`,
/// `CLOSE_WAIT`, `LAST_ACK` and CLOSING (`net/tcp_states.h`). The kernel does not return sockets in
/// other states.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// A TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    /// The kernel's number of the socket. The kernel never uses a number for two sockets.
    pub cookie: u64,
    /// The inode; 0 if no process has the socket open.
    pub inode: u32,
    /// The local address. An IPv4 address that is mapped to IPv6 becomes an IPv4 address.
    pub source: IpAddr,
    /// The address of the other end.
    pub destination: IpAddr,
    /// Bytes that the process has not read yet.
    pub receive_queue: u32,
    /// Bytes that are not sent yet, or not acknowledged yet.
    pub send_queue: u32,
    /// The counters and the round-trip time of the socket.
    pub info: TcpInfo,
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A socket.
    Socket(TcpSocket),
    /// The list of sockets is complete.
    Done,
    /// The request failed.
    Failed(Errno),
    /// Another message, or a socket without counters.
    Other,
}

/// Returns the request for all TCP sockets, with their counters.
pub fn request() -> [u8; HEADER + REQUEST] {
    let mut bytes = [0; HEADER + REQUEST];
    bytes[..4].copy_from_slice(&REQUEST_LENGTH.to_ne_bytes());
    bytes[4..6].copy_from_slice(&TCPDIAG_GETSOCK.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP_FLAGS.to_ne_bytes());
    bytes[HEADER] = AF_INET;
    bytes[HEADER + 3] = 1 << (INET_DIAG_INFO - 1);
    let states = HEADER + STATES_AT;
    bytes[states..states + 4].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// Returns the messages of a datagram, up to the first message with an impossible length.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Message> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(rest, 0)?).ok()?;
        let kind = u16_at(rest, 4)?;
        let body = rest.get(HEADER..length)?;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some(parse(kind, body))
    })
}

fn parse(kind: u16, body: &[u8]) -> Message {
    // The bodies of NLMSG_DONE and NLMSG_ERROR begin with the negative number of an error, or 0.
    let error = u32_at(body, 0).map_or(0, u32::cast_signed);
    match kind {
        NLMSG_DONE | NLMSG_ERROR if error < 0 => {
            Message::Failed(Errno::from_raw(error.saturating_neg()))
        }
        NLMSG_DONE => Message::Done,
        TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY => {
            parse_socket(body).map_or(Message::Other, Message::Socket)
        }
        _ => Message::Other,
    }
}

/// Parses `struct inet_diag_msg` and its attributes.
fn parse_socket(body: &[u8]) -> Option<TcpSocket> {
    let family = *body.first()?;
    Some(TcpSocket {
        source: address(family, body, 8)?,
        destination: address(family, body, 24)?,
        cookie: u64_at(body, 44)?,
        receive_queue: u32_at(body, 56)?,
        send_queue: u32_at(body, 60)?,
        inode: u32_at(body, 68)?,
        info: TcpInfo::parse(attribute(body.get(SOCKET..)?, INET_DIAG_INFO)?)?,
    })
}

fn address(family: u8, body: &[u8], at: usize) -> Option<IpAddr> {
    let bytes = body.get(at..)?;
    match family {
        AF_INET => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        AF_INET6 => Some(IpAddr::from(Ipv6Addr::from(*bytes.first_chunk::<16>()?)).to_canonical()),
        _ => None,
    }
}

/// Returns the first attribute of a type.
fn attribute(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = attributes;
    loop {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & TYPE_MASK;
        let value = rest.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        rest = rest.get(aligned(length)..)?;
    }
}

/// Returns the position of the message or attribute that follows one of `length` bytes.
fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + body.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    /// The body of a socket with the cookie 5, the inode 6 and queues of 7 and 8 bytes.
    fn socket(family: u8, source: &[u8], destination: &[u8]) -> Vec<u8> {
        let mut body = vec![0; SOCKET];
        body[0] = family;
        body[8..8 + source.len()].copy_from_slice(source);
        body[24..24 + destination.len()].copy_from_slice(destination);
        body[44..52].copy_from_slice(&5_u64.to_ne_bytes());
        body[56..60].copy_from_slice(&7_u32.to_ne_bytes());
        body[60..64].copy_from_slice(&8_u32.to_ne_bytes());
        body[68..72].copy_from_slice(&6_u32.to_ne_bytes());
        // The protocol precedes the counters.
        body.extend([5_u16, 10].map(u16::to_ne_bytes).concat());
        body.extend([6, 0, 0, 0]);
        body.extend([4 + 136_u16, INET_DIAG_INFO].map(u16::to_ne_bytes).concat());
        body.extend([0; 136]);
        body
    }

    #[test]
    fn a_request_asks_for_counters_and_names_the_states() {
        let bytes = request();
        assert_eq!(bytes.len(), 76);
        assert_eq!(u32_at(&bytes, 0), Some(76));
        assert_eq!(bytes[16..20], [2, 0, 0, 2]);
        assert_eq!(u32_at(&bytes, 68), Some(0xb36));
    }

    #[test]
    fn answers_and_messages_about_closed_sockets_have_the_same_body() {
        let body = socket(AF_INET, &[10, 0, 0, 1], &[10, 0, 0, 2]);
        for kind in [TCPDIAG_GETSOCK, SOCK_DIAG_BY_FAMILY] {
            let datagram = message(kind, &body);
            let found = messages(&datagram).next();
            assert!(matches!(found, Some(Message::Socket(_))), "{found:?}");
        }
    }

    #[test]
    fn a_datagram_has_several_messages() {
        let one = message(
            SOCK_DIAG_BY_FAMILY,
            &socket(AF_INET, &[10, 0, 0, 1], &[10, 0, 0, 2]),
        );
        let datagram = [one, message(NLMSG_DONE, &[0; 4])].concat();
        let found: Vec<Message> = messages(&datagram).collect();
        let [Message::Socket(socket), Message::Done] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(socket.source, IpAddr::from([10, 0, 0, 1]));
        assert_eq!(socket.destination, IpAddr::from([10, 0, 0, 2]));
        assert_eq!((socket.cookie, socket.inode), (5, 6));
        assert_eq!((socket.receive_queue, socket.send_queue), (7, 8));
    }

    #[test]
    fn an_ipv4_address_that_is_mapped_to_ipv6_becomes_an_ipv4_address() {
        let mapped: IpAddr = "::ffff:10.0.0.2".parse().unwrap();
        let IpAddr::V6(mapped) = mapped else { panic!() };
        let own: Ipv6Addr = "fd00::1".parse().unwrap();
        let datagram = message(
            SOCK_DIAG_BY_FAMILY,
            &socket(AF_INET6, &own.octets(), &mapped.octets()),
        );
        let Some(Message::Socket(socket)) = messages(&datagram).next() else {
            panic!();
        };
        assert_eq!(socket.source, IpAddr::from(own));
        assert_eq!(socket.destination, IpAddr::from([10, 0, 0, 2]));
    }

    #[test]
    fn an_error_is_a_failure() {
        let error = |number: i32| message(NLMSG_ERROR, &number.to_ne_bytes());
        let found: Vec<Message> = messages(&[error(-2), error(0)].concat()).collect();
        assert_eq!(found, [Message::Failed(Errno::ENOENT), Message::Other]);
        let interrupted = message(NLMSG_DONE, &(-4_i32).to_ne_bytes());
        let failed = Message::Failed(Errno::EINTR);
        assert_eq!(messages(&interrupted).next(), Some(failed));
    }

    #[test]
    fn a_socket_without_counters_or_of_another_family_is_skipped() {
        let whole = socket(AF_INET, &[10, 0, 0, 1], &[10, 0, 0, 2]);
        let other = socket(1, &[], &[]);
        for body in [&whole[..SOCKET], &whole[..SOCKET + 12], &other, &[]] {
            let datagram = message(SOCK_DIAG_BY_FAMILY, body);
            assert_eq!(messages(&datagram).next(), Some(Message::Other));
        }
    }

    #[test]
    fn impossible_lengths_end_the_messages() {
        for length in [0_u32, 15, 17, u32::MAX] {
            let mut datagram = message(SOCK_DIAG_BY_FAMILY, &[]);
            datagram[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(messages(&datagram).count(), 0, "{length}");
        }
    }
}
