//! Fuzzes the reader of ELF files, and the names of their functions.

use ridealong_observer::metrics::cpu_profile::elf::{Segments, find_symbols};
use ridealong_observer::metrics::cpu_profile::names::Names;

pub fn run(data: &[u8]) {
    // Without the bytes that identify an ELF file of 64 bits, nothing else is read.
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend_from_slice(data);
    let segments = Segments::read(file.as_slice());
    let mut addresses: Vec<u64> = (0..64).filter_map(|at| segments.address(at * 64)).collect();
    addresses.extend([0, 0x1000, u64::MAX]);
    addresses.sort_unstable();
    find_symbols(file.as_slice(), &addresses, |at, symbol| {
        assert!(at < addresses.len());
        assert!(Names::default().from_symbol(symbol).len() <= 255);
    });
}
