//! Reads the memory that the recorder in a process shares with the observer. Its format is that of
//! observer/torch/recorder.py: a header, and two places for copies of the flight recorder of
//! `PyTorch`, of which the newer one is named in the header. A process can write anything into this
//! memory, and at any time.

use linux::read_at::ReadAt;

use crate::tools::words::Words;

/// The text of the link to the memory in `/proc/PID/fd` (`memfd_create(2)`).
pub const LINK: &[u8] = b"/memfd:ridealong-torch (deleted)";

/// The beginning of the memory; the last byte is the version of the format.
pub const MAGIC: &[u8; 8] = b"RLTOR\0\0\x01";
/// The bytes of the header.
pub const HEADER: usize = 128;
/// The bytes of the place of a copy.
pub const SLOT: usize = 4 << 20;
/// A copy is read again if the recorder has overwritten it meanwhile.
const TRIES: usize = 3;

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The rank of the process in the default process group, and the size of this group.
    pub rank: Option<u32>,
    /// See `rank`.
    pub size: Option<u32>,
    /// The number of copies until now.
    pub copies: u64,
    /// The bytes of the last copy.
    length: usize,
    /// The longest time for which a copy kept all other threads of Python from running, in
    /// nanoseconds, and the sum of these times.
    pub longest: u64,
    /// See `longest`.
    pub whole: u64,
}

/// Whether this is the memory of a process.
pub fn is_of<F: ReadAt + ?Sized>(file: &F, pid: u32) -> bool {
    let mut start = [0; 12];
    let is_whole = file.read_at(0, &mut start) == start.len();
    is_whole && start.starts_with(MAGIC) && Words(&start).u32(8) == pid
}

/// Reads the header. `None` if the memory is not that of the recorder.
pub fn read_head<F: ReadAt + ?Sized>(file: &F) -> Option<Head> {
    let mut bytes = [0; HEADER];
    if file.read_at(0, &mut bytes) < HEADER || !bytes.starts_with(MAGIC) {
        return None;
    }
    let words = Words(&bytes);
    // A negative number means that it is not known.
    let known = |at: usize| i32::try_from(words.u32(at)).ok().map(i32::unsigned_abs);
    Some(Head {
        rank: known(16),
        size: known(20),
        copies: words.u64(32),
        length: usize::try_from(words.u64(40)).map_or(SLOT, |length| length.min(SLOT)),
        longest: words.u64(48),
        whole: words.u64(56),
    })
}

/// Reads the last copy with its header. `None` if there is none.
pub fn read<F: ReadAt + ?Sized>(file: &F) -> Option<(Head, Vec<u8>)> {
    for _ in 0..TRIES {
        let head = read_head(file)?;
        let place = head.copies.checked_sub(1)? % 2;
        let mut text = vec![0; head.length];
        let count = file.read_at(HEADER as u64 + place * SLOT as u64, &mut text);
        text.truncate(count);
        if read_head(file)?.copies == head.copies {
            return Some((head, text));
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The memory of process 7, which has rank 1 of 2, after this number of copies.
    pub fn example(copies: u64, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + 2 * SLOT];
        bytes[..8].copy_from_slice(MAGIC);
        for (at, word) in [(8, 7_u32), (16, 1), (20, 2)] {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let facts = [copies, text.len() as u64, 5_000_000, 8_000_000];
        for (index, word) in facts.into_iter().enumerate() {
            let at = 32 + 8 * index;
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let at = HEADER + usize::try_from((copies + 1) % 2).unwrap() * SLOT;
        bytes[at..at + text.len()].copy_from_slice(text);
        bytes
    }

    #[test]
    fn the_newer_copy_is_read() {
        for copies in [1, 2] {
            let bytes = example(copies, b"text");
            assert!(is_of(bytes.as_slice(), 7) && !is_of(bytes.as_slice(), 8));
            let (head, text) = read(bytes.as_slice()).unwrap();
            assert_eq!(
                (head.rank, head.size, head.copies),
                (Some(1), Some(2), copies)
            );
            assert_eq!(text, b"text");
        }
    }

    #[test]
    fn memory_without_a_copy_has_only_a_header() {
        let mut bytes = example(0, b"");
        bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(bytes.as_slice()).is_none());
        assert_eq!(read_head(bytes.as_slice()).unwrap().rank, None);
    }

    #[test]
    fn memory_of_another_version_is_rejected() {
        let mut bytes = example(1, b"text");
        bytes[7] = 2;
        assert!(read(bytes.as_slice()).is_none() && !is_of(bytes.as_slice(), 7));
    }

    #[test]
    fn a_length_beyond_the_memory_is_cut() {
        let mut bytes = example(1, b"text");
        bytes[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(bytes.as_slice()).unwrap().1.len(), SLOT);
    }
}
