//! Reads files of the observed containers in a child process.
//!
//! A container can have file systems whose server does not answer, for example with FUSE. A thread
//! that waits for such a server may wait for ever, and after the server has read the request, even
//! SIGKILL does not end the wait (fs/fuse/dev.c, `request_wait_answer`). Opening a file, reading it
//! and closing it can all wait. A process with such a thread cannot exit, so the observer itself
//! never opens these files: the child does ([`server`]), and the observer waits for the child only
//! for some seconds ([`client`]). A child that does not answer is killed and left behind.

pub mod client;
pub mod message;
pub mod server;
