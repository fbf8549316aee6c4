//! Fuzzes the parser of `/proc/PID/stat`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::stat::parse;

fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
});
