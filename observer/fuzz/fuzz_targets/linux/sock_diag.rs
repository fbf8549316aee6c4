//! Fuzzes the parsers of `sock_diag` messages about TCP sockets and of `struct tcp_info`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::sock_diag::message::messages;
use linux::sock_diag::tcp_info::TcpInfo;

fuzz_target!(|data: &[u8]| {
    let _ = (messages(data).count(), TcpInfo::parse(data));
});
