//! Fuzzes the parser of `/proc/PID/io`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::io::parse;

fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
});
