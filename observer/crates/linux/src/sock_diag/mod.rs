//! The TCP sockets of a network namespace, from the kernel's `sock_diag` (`sock_diag(7)`): the
//! messages, a parser for each structure, and a client.
//!
//! As in [`crate::proc`], no parser panics on any input, and a fuzz target runs the parsers. The
//! crate netlink-packet-sock-diag is not used: it allocates memory for every attribute of each
//! socket, and depends on more crates, among them the crates of a procedural macro.

pub mod bytes;
pub mod client;
pub mod message;
pub mod tcp_info;
