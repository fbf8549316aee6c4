//! The link of an open file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ridealong_observer::proc::fd::socket_inode;

fuzz_target!(|data: &[u8]| {
    let _ = socket_inode(data);
});
