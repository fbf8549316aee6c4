//! Fuzzes the parser of `/proc/net/dev`, the file with the counters of network interfaces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::net_dev::interfaces;

fuzz_target!(|data: &[u8]| {
    let _ = interfaces(data).count();
});
