//! `struct tcp_info` of linux/tcp.h: the state of a TCP socket.

use super::bytes::{u32_at, u64_at};

/// The values of a socket that are used. Newer kernels append fields, but do not move fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// The smoothed round-trip time in microseconds; 0 if it was never measured.
    pub rtt: u32,
    /// Segments that were sent again.
    pub retransmitted: u32,
    /// Bytes of the application that were sent at least once. Before Linux 4.19, bytes that the
    /// other end has acknowledged.
    pub sent: u64,
    /// Bytes that were received in order.
    pub received: u64,
}

impl TcpInfo {
    /// Parses the structure. `None` if it is too short to contain the acknowledged and the received
    /// bytes, which Linux 4.1 and later report.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        // tcpi_bytes_sent counts each byte as often as it was sent.
        let sent = u64_at(bytes, 200)
            .zip(u64_at(bytes, 208))
            .map(|(sent, again)| sent.saturating_sub(again));
        Some(Self {
            rtt: u32_at(bytes, 68)?,
            retransmitted: u32_at(bytes, 100)?,
            sent: sent.or(u64_at(bytes, 120))?,
            received: u64_at(bytes, 128)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure in which the 32-bit word at position `n` is `n`.
    fn numbered(length: u8) -> Vec<u8> {
        (0..length)
            .step_by(4)
            .flat_map(|at| u32::from(at).to_ne_bytes())
            .collect()
    }

    fn long(first: u64) -> u64 {
        if cfg!(target_endian = "little") {
            ((first + 4) << 32) | first
        } else {
            (first << 32) | (first + 4)
        }
    }

    #[test]
    fn bytes_that_were_sent_again_count_once() {
        let mut bytes = numbered(248);
        bytes[200..208].copy_from_slice(&1000_u64.to_ne_bytes());
        bytes[208..216].copy_from_slice(&300_u64.to_ne_bytes());
        let expected = TcpInfo {
            rtt: 68,
            retransmitted: 100,
            sent: 700,
            received: long(128),
        };
        assert_eq!(TcpInfo::parse(&bytes), Some(expected));
    }

    #[test]
    fn an_older_kernel_has_only_the_bytes_that_were_acknowledged() {
        let info = TcpInfo::parse(&numbered(192)).unwrap();
        assert_eq!((info.sent, info.received), (long(120), long(128)));
        assert_eq!(TcpInfo::parse(&numbered(132)), None);
        assert_eq!(TcpInfo::parse(&[]), None);
    }
}
