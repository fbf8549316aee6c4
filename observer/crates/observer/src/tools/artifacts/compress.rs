//! Compresses a file piece by piece. The memory does not depend on the size of the file.

use std::io::{Error, ErrorKind, Read, Result, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

/// The compressed bytes of a part. A multiple of three, so that the parts of a file in base64,
/// joined together, are the whole file in base64.
pub const PART: usize = 9216;
const _: () = assert!(PART.is_multiple_of(3));
/// The maximum bytes of a file. A file can be sparse, and then larger than its volume.
pub const MAX_FILE: u64 = 256 << 20;
/// The bytes that are read at once.
const PIECE: usize = 65_536;

/// A file, and the size of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The bytes of the file.
    pub bytes: u64,
    /// The CRC-32 of the file, as in gzip (RFC 1952).
    pub crc32: u32,
    /// The compressed bytes of all parts.
    pub compressed: u64,
}

impl Outline {
    /// The number of parts.
    pub fn parts(&self) -> u64 {
        self.compressed.div_ceil(PART as u64)
    }
}

/// The reasons why a file has no outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It has more than [`MAX_FILE`] bytes.
    TooLarge,
    /// It cannot be read.
    Unreadable,
    /// The receiver has stopped the compression.
    Stopped,
}

/// Receives the parts of a file.
pub trait Receiver {
    /// Takes a part of [`PART`] bytes, or the shorter last one. Returns false to stop.
    fn take(&mut self, part: &[u8]) -> bool;

    /// Called before each read. Returns false to stop.
    fn is_ready(&mut self) -> bool;
}

/// Compresses a file, and gives its parts to the receiver.
///
/// # Errors
/// If the file is too large or cannot be read, or if the receiver stops.
pub fn compress(
    file: impl Read,
    receiver: &mut impl Receiver,
) -> std::result::Result<Outline, Failure> {
    compress_at_most(MAX_FILE, file, receiver)
}

fn compress_at_most(
    limit: u64,
    mut file: impl Read,
    receiver: &mut impl Receiver,
) -> std::result::Result<Outline, Failure> {
    let parts = Parts {
        receiver,
        part: Vec::with_capacity(PART),
        compressed: 0,
        is_stopped: false,
    };
    let mut encoder = GzEncoder::new(parts, Compression::fast());
    let mut crc = Crc::new();
    let mut bytes = 0;
    let mut piece = vec![0; PIECE];
    loop {
        if !encoder.get_mut().receiver.is_ready() {
            encoder.get_mut().is_stopped = true;
            return Err(Failure::Stopped);
        }
        let count = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => {
                encoder.get_mut().is_stopped = true;
                return Err(Failure::Unreadable);
            }
        };
        bytes += count as u64;
        if bytes > limit {
            encoder.get_mut().is_stopped = true;
            return Err(Failure::TooLarge);
        }
        crc.update(&piece[..count]);
        encoder
            .write_all(&piece[..count])
            .map_err(|_| Failure::Stopped)?;
    }
    let mut parts = encoder.finish().map_err(|_| Failure::Stopped)?;
    parts.end().map_err(|_| Failure::Stopped)?;
    Ok(Outline {
        bytes,
        crc32: crc.sum(),
        compressed: parts.compressed,
    })
}

/// Splits the compressed bytes into parts.
struct Parts<'a, R: Receiver> {
    receiver: &'a mut R,
    part: Vec<u8>,
    compressed: u64,
    /// Whether the receiver gets no more parts. An encoder that is dropped writes the rest.
    is_stopped: bool,
}

impl<R: Receiver> Parts<'_, R> {
    fn end(&mut self) -> Result<()> {
        if self.part.is_empty() {
            return Ok(());
        }
        self.compressed += self.part.len() as u64;
        let is_taken = !self.is_stopped && self.receiver.take(&self.part);
        self.part.clear();
        if is_taken {
            return Ok(());
        }
        self.is_stopped = true;
        Err(Error::other("the receiver has stopped"))
    }
}

impl<R: Receiver> Write for Parts<'_, R> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = bytes.len().min(PART - self.part.len());
        self.part.extend_from_slice(&bytes[..count]);
        if self.part.len() == PART {
            self.end()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::artifacts::noise::noise;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;

    /// Keeps the parts, at most `room` of them.
    struct Kept {
        parts: Vec<Vec<u8>>,
        room: usize,
    }

    impl Receiver for Kept {
        fn take(&mut self, part: &[u8]) -> bool {
            self.parts.push(part.to_vec());
            self.parts.len() <= self.room
        }

        fn is_ready(&mut self) -> bool {
            true
        }
    }

    fn kept(room: usize) -> Kept {
        let parts = Vec::new();
        Kept { parts, room }
    }

    #[test]
    fn a_file_that_is_larger_than_the_limit_is_refused() {
        let limit = 200_000;
        for (count, expected) in [(limit, None), (limit + 1, Some(Failure::TooLarge))] {
            let zeros = std::io::repeat(0).take(count);
            let found = compress_at_most(limit, zeros, &mut kept(1000));
            assert_eq!(found.err(), expected);
        }
    }

    #[test]
    fn a_receiver_that_stops_gets_no_more_parts() {
        let mut kept = kept(2);
        let bytes = noise(1 << 20, 7);
        assert_eq!(compress(bytes.as_slice(), &mut kept), Err(Failure::Stopped));
        assert_eq!(kept.parts.len(), 3);
    }

    #[test]
    fn an_error_is_not_the_end_of_a_file() {
        let folder = std::fs::File::open("/proc/self").unwrap();
        let mut kept = kept(2);
        assert_eq!(compress(folder, &mut kept), Err(Failure::Unreadable));
        assert!(kept.parts.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_parts_are_the_file(
            blocks in prop::collection::vec((0..30_000_usize, any::<u64>(), any::<bool>()), 0..8),
        ) {
            let block = |(count, seed, is_noise): (usize, u64, bool)| {
                if is_noise { noise(count, seed) } else { vec![seed.to_be_bytes()[0]; count] }
            };
            let bytes: Vec<u8> = blocks.into_iter().flat_map(block).collect();
            let mut kept = kept(1000);
            let outline = compress(bytes.as_slice(), &mut kept).unwrap();
            prop_assert_eq!(outline.bytes, bytes.len() as u64);
            prop_assert_eq!(outline.parts(), kept.parts.len() as u64);
            let sizes: Vec<usize> = kept.parts.iter().map(Vec::len).collect();
            prop_assert!(sizes.iter().rev().skip(1).all(|size| *size == PART));
            prop_assert!(sizes.last().is_some_and(|size| (1..=PART).contains(size)));
            let mut found = Vec::new();
            GzDecoder::new(kept.parts.concat().as_slice()).read_to_end(&mut found).unwrap();
            prop_assert!(found == bytes);
            let mut crc = Crc::new();
            crc.update(&bytes);
            prop_assert_eq!(outline.crc32, crc.sum());
        }
    }
}
