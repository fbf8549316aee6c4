//! The TCP sockets of a network namespace, from the kernel's `sock_diag` (`sock_diag(7)`): the
//! messages, a parser for each structure, and a client.
//!
//! As in [`crate::proc`], no parser panics on any input, and each has a fuzz target. The crate
//! netlink-packet-sock-diag is not used: it allocates every attribute of each socket, and needs
//! more crates, among them those of a procedural macro.

pub mod bytes;
pub mod client;
pub mod message;
pub mod tcp_info;
