//! Fuzzes the parser of `/proc/meminfo`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::meminfo::parse_total;

fuzz_target!(|data: &[u8]| {
    let _ = parse_total(data);
});
