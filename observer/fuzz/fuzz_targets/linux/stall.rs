//! Fuzzes the parser of pressure stall information, such as `cpu.pressure`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::cgroup::stall::parse;

fuzz_target!(|data: &[u8]| {
    let _ = parse(data);
});
