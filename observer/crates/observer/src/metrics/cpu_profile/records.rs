//! The records of a profile of gperftools (docs/cpuprofile-fileformat.html of gperftools).
//!
//! A profile consists of words of 64 bits, and then the text of `/proc/PID/maps`. A header of five
//! words is followed by records: the number of samples, the depth of the stack, and that many
//! addresses, of which the first is the interrupted instruction and the others are return
//! addresses. The last record has no samples, one address, and the address 0. Records with the same
//! stack can occur several times. Only the byte order of x86-64 and arm64 is read.

use linux::read_at::ReadAt;

/// The maximum depth of a stack (gperftools src/profiledata.h, `kMaxStackDepth` is 254).
pub const MAX_DEPTH: usize = 256;
/// The maximum samples of a record. At the highest frequency, 4,000, this is more than a week on
/// one processor.
const MAX_SAMPLES: u64 = 1 << 32;
/// The maximum bytes of a profile that are read. gperftools merges equal stacks, so that profiles
/// of days are smaller.
const MAX_BYTES: u64 = 64 << 20;
/// Bytes that are read at once.
const PIECE: usize = 65_536;
const WORD: usize = 8;

/// The frequency with which samples were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The time between two samples, in microseconds of processor time; at least 1.
    pub period: u64,
}

/// The part of a profile that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The header.
    pub header: Header,
    /// The sum of the samples of all records.
    pub samples: u64,
    /// The position of the text of `/proc/PID/maps`. `None` if the end of the profile is missing or
    /// not valid.
    pub maps: Option<u64>,
}

/// Reads a header. `None` if the file does not begin with a valid header.
pub fn header(file: &(impl ReadAt + ?Sized)) -> Option<Header> {
    let mut bytes = [0; 5 * WORD];
    let count = file.read_at(0, &mut bytes);
    let mut words = bytes[..count].chunks_exact(WORD).map(word);
    let header: [Option<u64>; 5] = std::array::from_fn(|_| words.next());
    match header {
        [Some(0), Some(3), Some(0), Some(period), Some(0)] if (1..=1_000_000).contains(&period) => {
            Some(Header { period })
        }
        _ => None,
    }
}

/// Reads all records, and calls `visit` with the samples and the stack of each. Returns `None` if
/// there is no valid header.
pub fn read(file: &(impl ReadAt + ?Sized), mut visit: impl FnMut(u64, &[u64])) -> Option<Outline> {
    let mut outline = Outline {
        header: header(file)?,
        samples: 0,
        maps: None,
    };
    let mut piece = vec![0; PIECE];
    let mut stack = Vec::with_capacity(MAX_DEPTH);
    // The position of the first byte of `piece` in the file, the number of its bytes, and the
    // number of those that are already read.
    let (mut start, mut length, mut at) = (5 * WORD as u64, 0, 0);
    while start + (at as u64) < MAX_BYTES {
        if length - at < (2 + MAX_DEPTH) * WORD {
            start += at as u64;
            at = 0;
            length = file.read_at(start, &mut piece);
        }
        let mut words = piece[at..length].chunks_exact(WORD).map(word);
        let (Some(samples), Some(depth)) = (words.next(), words.next()) else {
            break;
        };
        let Some(depth) = usize::try_from(depth)
            .ok()
            .filter(|depth| (1..=MAX_DEPTH).contains(depth))
        else {
            break;
        };
        stack.clear();
        stack.extend(words.take(depth));
        if stack.len() < depth {
            break;
        }
        at += (2 + depth) * WORD;
        if samples == 0 && stack == [0] {
            outline.maps = Some(start + at as u64);
            break;
        }
        if !(1..MAX_SAMPLES).contains(&samples) {
            break;
        }
        outline.samples = outline.samples.saturating_add(samples);
        visit(samples, &stack);
    }
    Some(outline)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the bytes of a profile with a period of 10 ms.
    fn profile(records: &[(u64, Vec<u64>)], ending: &str) -> Vec<u8> {
        let mut words = vec![0, 3, 0, 10_000, 0];
        for (samples, stack) in records {
            words.extend([*samples, stack.len() as u64]);
            words.extend(stack);
        }
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        if !ending.is_empty() {
            bytes.extend([0_u64, 1, 0].into_iter().flat_map(u64::to_le_bytes));
            bytes.extend(ending.as_bytes());
        }
        bytes
    }

    fn read_all(bytes: &[u8]) -> (Option<Outline>, Vec<(u64, Vec<u64>)>) {
        let mut records = Vec::new();
        let outline = read(bytes, |samples, stack| {
            records.push((samples, stack.to_vec()));
        });
        (outline, records)
    }

    #[test]
    fn a_cut_profile_has_its_first_records_but_no_maps() {
        let records = vec![(2, vec![1, 2, 3]), (5, vec![4])];
        let bytes = profile(&records, "maps");
        let (outline, found) = read_all(&bytes);
        let outline = outline.unwrap();
        assert_eq!((outline.samples, &found), (7, &records));
        assert_eq!(outline.maps, Some(bytes.len() as u64 - 4));
        let (outline, found) = read_all(&bytes[..bytes.len() - 40]);
        assert_eq!(
            outline.map(|outline| (outline.samples, outline.maps)),
            Some((2, None))
        );
        assert_eq!(found, records[..1]);
    }

    #[test]
    fn other_files_are_not_profiles() {
        for bytes in [b"".as_slice(), b"text", &[0; 100], &[255; 100]] {
            assert_eq!(read_all(bytes), (None, Vec::new()));
        }
        let mut big_endian = profile(&[], "maps");
        big_endian.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        assert_eq!(read_all(&big_endian).0, None);
    }

    #[test]
    fn a_record_that_is_not_valid_ends_the_profile() {
        for (samples, depth) in [(0, 2), (1, 0), (1, 257), (1 << 32, 1), (u64::MAX, u64::MAX)] {
            let mut bytes = profile(&[(3, vec![7])], "");
            bytes.extend(
                [samples, depth, 0, 0]
                    .into_iter()
                    .flat_map(u64::to_le_bytes),
            );
            let (outline, found) = read_all(&bytes);
            assert_eq!(
                outline.map(|outline| (outline.samples, outline.maps)),
                Some((3, None))
            );
            assert_eq!(found, [(3, vec![7])]);
        }
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(
            records in prop::collection::vec(
                (1..1000_u64, prop::collection::vec(any::<u64>(), 1..=254)),
                0..100,
            ),
        ) {
            let bytes = profile(&records, "maps");
            let (outline, found) = read_all(&bytes);
            let samples = records.iter().map(|(samples, _)| samples).sum();
            let maps = Some(bytes.len() as u64 - 4);
            prop_assert_eq!(outline, Some(Outline { header: Header { period: 10_000 }, samples, maps }));
            prop_assert_eq!(found, records);
        }

        #[test]
        fn any_bytes_after_a_header_are_read_to_some_end(rest in prop::collection::vec(any::<u8>(), 0..4000)) {
            let mut bytes = profile(&[], "");
            bytes.extend(rest);
            let (outline, found) = read_all(&bytes);
            let samples: u64 = found.iter().map(|(samples, _)| samples).sum();
            prop_assert_eq!(outline.map(|outline| outline.samples), Some(samples));
        }
    }
}
