//! Bytes for tests that cannot be compressed.

/// Returns pseudorandom bytes. Equal seeds give equal bytes.
pub fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..count).map(next).collect()
}
