//! Fuzzes the parser of the links in `/proc/PID/fd`, which name the open files of a process.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::fd::socket_inode;

fuzz_target!(|data: &[u8]| {
    let _ = socket_inode(data);
});
