//! Fuzzes the parser of `/proc/net/sockstat` and `/proc/net/sockstat6`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::sockstat::tcp_in_use;

fuzz_target!(|data: &[u8]| {
    let _ = tcp_in_use(data);
});
