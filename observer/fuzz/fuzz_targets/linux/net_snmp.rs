//! Fuzzes the parser of `/proc/net/snmp` and `/proc/net/netstat`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::net_snmp::value;

fuzz_target!(|data: &[u8]| {
    let _ = (value(data, b"Tcp", b"InSegs"), value(data, b"", b""));
});
