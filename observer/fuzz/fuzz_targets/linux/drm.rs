//! Fuzzes the parser of `/proc/PID/fdinfo/N` of open GPUs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::drm::parse;

fuzz_target!(|data: &[u8]| {
    let Some(client) = parse(data) else { return };
    assert!(client.engines.len() <= 32);
    assert!(client.engines.iter().all(|engine| engine.capacity > 0));
});
