//! Numbers in the byte order of the machine, as the kernel writes its structures.

/// Returns the 16-bit number at a position; `None` if there are too few bytes.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the 32-bit number at a position; `None` if there are too few bytes.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the 64-bit number at a position; `None` if there are too few bytes.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_none() {
        let bytes = 7_u64.to_ne_bytes();
        assert_eq!(u64_at(&bytes, 0), Some(7));
        assert_eq!(u64_at(&bytes, 1), None);
        assert_eq!((u32_at(&bytes, 5), u16_at(&bytes, 7)), (None, None));
        assert_eq!(u16_at(&bytes, usize::MAX), None);
    }
}
