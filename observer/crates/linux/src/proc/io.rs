//! Parses `/proc/PID/io` and `/proc/PID/task/TID/io`.

use super::words::{lines, number_after};

/// Bytes at the storage layer (fs/proc/base.c, `do_io_accounting`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes that were fetched from storage.
    pub read: u64,
    /// Bytes that were sent to storage, or will be.
    pub written: u64,
    /// Bytes of `written` that were cancelled, for example because a file was truncated before it
    /// was stored.
    pub cancelled: u64,
}

/// Parses an io file. `None` if one of these values is missing.
pub fn parse(text: &[u8]) -> Option<Io> {
    let find = |label: &[u8]| lines(text).find_map(|line| number_after(line, label));
    Some(Io {
        read: find(b"read_bytes:")?,
        written: find(b"write_bytes:")?,
        cancelled: find(b"cancelled_write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_at_the_storage_layer_are_parsed() {
        let text = b"rchar: 8678\nwchar: 1702\nsyscr: 14\nsyscw: 2\nread_bytes: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 3\n";
        assert_eq!(
            parse(text),
            Some(Io {
                read: 1,
                written: 4096,
                cancelled: 3
            })
        );
    }

    #[test]
    fn a_truncated_io_is_none() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"read_bytes: 1\nwrite_bytes: 4096\n"), None);
    }
}
