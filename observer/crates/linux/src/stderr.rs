//! Messages on standard error.

use std::io::stderr;
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

/// Writes a message to standard error if that does not block.
pub fn warn(sentence: &str) {
    let stream = stderr();
    let mut ready = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
        // If this fails, there is no other stream for the message.
        let _ = write(
            stream.as_fd(),
            format!("ridealong: {sentence}\n").as_bytes(),
        );
    }
}
