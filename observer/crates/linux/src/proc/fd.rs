//! The links in `/proc/PID/fd`, which name the open files of a process.

use super::words::number;

/// Returns the inode of the socket that a link such as `socket:[4711]` names; `None` if the link
/// names another file.
///
/// ```
/// use linux::proc::fd::socket_inode;
/// assert_eq!(socket_inode(b"socket:[4711]"), Some(4711));
/// assert_eq!(socket_inode(b"pipe:[4711]"), None);
/// ```
pub fn socket_inode(link: &[u8]) -> Option<u32> {
    let digits = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    u32::try_from(number(digits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_link_of_a_socket_has_an_inode() {
        assert_eq!(socket_inode(b"socket:[4294967295]"), Some(u32::MAX));
        for link in [
            "socket:[4294967296]",
            "socket:[]",
            "socket:[1",
            "/tmp/socket:[1]",
        ] {
            assert_eq!(socket_inode(link.as_bytes()), None, "{link}");
        }
    }
}
