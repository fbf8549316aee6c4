//! The traffic of TCP sockets.

use linux::sock_diag::message::TcpSocket;

/// The traffic of a socket, or of several sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Segments sent again.
    pub retransmitted: u64,
}

impl Traffic {
    /// Returns the traffic of a socket since the start of the socket.
    pub fn of(socket: &TcpSocket) -> Self {
        Self {
            sent: socket.info.sent,
            received: socket.info.received,
            retransmitted: u64::from(socket.info.retransmitted),
        }
    }

    /// Adds other traffic.
    pub fn add(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.retransmitted = self.retransmitted.saturating_add(other.retransmitted);
    }

    /// Returns the sum of the bytes sent and the bytes received.
    pub fn bytes(&self) -> u64 {
        self.sent.saturating_add(self.received)
    }

    /// Returns the growth since `before`.
    pub fn since(&self, before: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            retransmitted: self.retransmitted.saturating_sub(before.retransmitted),
        }
    }

    /// Returns the larger of each two numbers.
    pub fn max(&self, other: Self) -> Self {
        Self {
            sent: self.sent.max(other.sent),
            received: self.received.max(other.received),
            retransmitted: self.retransmitted.max(other.retransmitted),
        }
    }
}
