//! Fuzzes the parser of `/proc/PID/smaps_rollup`, the file with the memory of a process.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::smaps_rollup::parse;

fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
});
