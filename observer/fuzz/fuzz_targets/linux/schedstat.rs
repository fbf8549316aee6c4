//! Fuzzes the parser of `/proc/PID/schedstat`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::schedstat::parse_wait;

fuzz_target!(|data: &[u8]| {
    let _ = parse_wait(data);
});
