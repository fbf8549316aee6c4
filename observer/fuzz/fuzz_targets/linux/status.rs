//! Fuzzes the parsers of `/proc/PID/status`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::status::{allowed_processors, effective_capabilities, has_memory, parse};

fuzz_target!(|data: &[u8]| {
    let _ = (parse(data), has_memory(data), effective_capabilities(data));
    let _ = allowed_processors(data);
});
