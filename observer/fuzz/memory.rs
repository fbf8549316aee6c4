//! Memory that a process shares with the observer, for the targets that read it.

use linux::read_at::ReadAt;

/// The memory, of which most is 0: parts with their offsets, of which later ones cover others.
pub struct Memory<'a, const PARTS: usize>(pub [(usize, &'a [u8]); PARTS]);

impl<const PARTS: usize> ReadAt for Memory<'_, PARTS> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let from = usize::try_from(offset).unwrap();
        buffer.fill(0);
        for (at, bytes) in self.0 {
            let begin = at.max(from);
            let end = (at + bytes.len()).min(from + buffer.len());
            if begin < end {
                buffer[begin - from..end - from].copy_from_slice(&bytes[begin - at..end - at]);
            }
        }
        buffer.len()
    }
}
