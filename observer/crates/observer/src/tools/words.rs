//! Integers in memory or files that processes of the target have written.

/// Bytes. A word beyond their end is 0.
pub struct Words<'a>(pub &'a [u8]);

impl Words<'_> {
    /// Returns the four bytes at an offset, which are little-endian.
    pub fn u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|part| part.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    }

    /// Returns the eight bytes at an offset, which are little-endian.
    pub fn u64(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..at + 8).and_then(|part| part.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    }
}
