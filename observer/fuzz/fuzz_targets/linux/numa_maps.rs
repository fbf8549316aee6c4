//! Fuzzes the parser of `/proc/PID/numa_maps`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::numa_maps::parse;

fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
});
