//! The answers of threads: the records that the loader appends to the file of a request
//! (observer/loader/stacks.h). Any process of the target can write anything there.

use std::fs::File;

use linux::read_at::ReadAt;

/// The maximum bytes of the answers to a request. A record has at most 2,080 bytes.
const MAX_BYTES: usize = 8 << 20;
/// The bytes before the addresses of a record, and the maximum number of its addresses.
const HEADER: usize = 32;
const MAX_FRAMES: usize = 256;
const MAGIC: u64 = 0x0031_4b43_4154_5352;
/// The kind of a record with addresses. Records of other kinds are skipped.
const ADDRESSES: u16 = 1;
const IS_CUT: u16 = 1;
/// The bytes of an address.
const WORD: usize = 8;

/// The stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The ids of the process and of the thread, as the process sees them.
    pub process: u32,
    /// See `process`.
    pub thread: u32,
    /// The value of the process's timer.
    pub timer: u64,
    /// Whether the stack has more functions than the record.
    pub is_cut: bool,
    /// The address of the instruction, and the return addresses of its callers.
    pub addresses: Vec<u64>,
}

/// The file with the answers.
pub struct Answers {
    file: File,
    read: usize,
}

impl Answers {
    /// Reads the answers from a file.
    pub fn new(file: File) -> Self {
        Self { file, read: 0 }
    }

    /// Returns the answers that were added since the last call. Text that is no record ends the
    /// reading, because the next record cannot be found.
    pub fn read_new(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut record = [0; HEADER + MAX_FRAMES * WORD];
        while self.read < MAX_BYTES {
            let count = ReadAt::read_at(&self.file, self.read as u64, &mut record);
            let Some((answer, length)) = parse(&record[..count]) else {
                return answers;
            };
            self.read += length;
            answers.extend(answer);
        }
        answers
    }
}

/// Parses the first record, and returns its length. The answer is missing if the record is of
/// another kind. `None` if there is no whole record.
pub fn parse(bytes: &[u8]) -> Option<(Option<Answer>, usize)> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at + WORD)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let half = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let short = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    };
    let count = usize::try_from(half(28)?).ok()?;
    if word(0)? != MAGIC || count > MAX_FRAMES {
        return None;
    }
    let length = HEADER + count * WORD;
    let addresses = bytes.get(HEADER..length)?.chunks_exact(WORD);
    let addresses = addresses.map(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
    let answer = Answer {
        process: half(8)?,
        thread: half(12)?,
        timer: word(16)?,
        is_cut: short(26)? & IS_CUT != 0,
        addresses: addresses.collect(),
    };
    Some(((short(24)? == ADDRESSES).then_some(answer), length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u16, flags: u16, addresses: &[u64]) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend(8_u32.to_le_bytes());
        bytes.extend(0xabcd_u64.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(u32::try_from(addresses.len()).unwrap().to_le_bytes());
        bytes.extend(addresses.iter().flat_map(|address| address.to_le_bytes()));
        bytes
    }

    fn answer(is_cut: bool, addresses: &[u64]) -> Answer {
        Answer {
            process: 7,
            thread: 8,
            timer: 0xabcd,
            is_cut,
            addresses: addresses.to_vec(),
        }
    }

    fn read_all(bytes: &[u8]) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut rest = bytes;
        while let Some((answer, length)) = parse(rest) {
            answers.extend(answer);
            rest = &rest[length..];
        }
        answers
    }

    #[test]
    fn records_of_other_kinds_are_skipped() {
        let bytes = [record(1, 0, &[1, 2]), record(9, 0, &[3]), record(1, 1, &[])].concat();
        let expected = [answer(false, &[1, 2]), answer(true, &[])];
        assert_eq!(read_all(&bytes), expected);
    }

    #[test]
    fn a_record_that_is_not_whole_is_read_later() {
        let bytes = record(1, 0, &[1, 2]);
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), None);
        }
        let mut other = bytes.clone();
        other[0] = b'x';
        assert_eq!(parse(&other), None);
        // A number of addresses that no thread writes.
        other = record(1, 0, &[0; 257]);
        assert_eq!(parse(&other), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
            let mut bytes = bytes;
            read_all(&bytes);
            if bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
                read_all(&bytes);
            }
        }
    }
}
