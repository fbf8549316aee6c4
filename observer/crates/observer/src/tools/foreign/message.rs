//! The requests of the observer to the child that reads files, and the answers.
//!
//! An answer is a number of four bytes. After [`Request::Read`], this is the number of bytes that
//! follow. After [`Request::Keep`] and [`Request::Open`], it is the number of the file, from 1; 0
//! if there is no file. There is no answer to [`Request::Close`].

/// The bytes of the head of a request.
pub const HEAD: usize = 17;
/// The maximum bytes of one read.
pub const MAX_READ: usize = 65_536;
/// The maximum bytes of a path.
pub const MAX_PATH: usize = 4096;

const KEEP: u8 = 1;
const OPEN: u8 = 2;
const READ: u8 = 3;
const CLOSE: u8 = 4;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Open the file at a path below the root directory, if it is in another file system.
    Keep(&'a [u8]),
    /// Open the file at a path below the root directory.
    Open(&'a [u8]),
    /// Read bytes of an open file: its number, the offset, and the number of bytes.
    Read(u32, u64, u32),
    /// Close an open file.
    Close(u32),
}

impl<'a> Request<'a> {
    /// Returns the bytes of a request.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, file, offset, length, path): (u8, u32, u64, u32, &[u8]) = match *self {
            Self::Keep(path) => (KEEP, 0, 0, length_of(path), path),
            Self::Open(path) => (OPEN, 0, 0, length_of(path), path),
            Self::Read(file, offset, length) => (READ, file, offset, length, &[]),
            Self::Close(file) => (CLOSE, file, 0, 0, &[]),
        };
        let mut bytes = vec![kind];
        bytes.extend(file.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(path);
        bytes
    }

    /// Returns the number of bytes of the path that follows the head of a request.
    pub fn path_length(head: &[u8; HEAD]) -> usize {
        let length = head.last_chunk().copied().map_or(0, u32::from_le_bytes);
        let has_path = matches!(head[0], KEEP | OPEN);
        usize::try_from(length).map_or(0, |length| if has_path { length } else { 0 })
    }

    /// Parses the head of a request and the path that follows it.
    pub fn decode(head: &[u8; HEAD], path: &'a [u8]) -> Option<Self> {
        let [kind, rest @ ..] = head;
        let (file, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let file = u32::from_le_bytes(*file);
        let length = u32::from_le_bytes(*rest.first_chunk()?);
        match *kind {
            KEEP => Some(Self::Keep(path)),
            OPEN => Some(Self::Open(path)),
            READ => Some(Self::Read(file, u64::from_le_bytes(*offset), length)),
            CLOSE => Some(Self::Close(file)),
            _ => None,
        }
    }
}

fn length_of(path: &[u8]) -> u32 {
    u32::try_from(path.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_decoded_as_it_was_encoded() {
        for request in [
            Request::Keep(b"/lib/a.so"),
            Request::Open(b"/b c"),
            Request::Read(7, u64::MAX - 1, 65_536),
            Request::Close(9),
        ] {
            let bytes = request.encode();
            let (head, path) = bytes.split_first_chunk().unwrap();
            assert_eq!(Request::path_length(head), path.len());
            assert_eq!(Request::decode(head, path), Some(request));
        }
        assert_eq!(Request::decode(&[5; HEAD], b""), None);
    }
}
