//! The command line of a process, and the name of its program.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ridealong_observer::{proc::cmdline::parse, program::name};

fuzz_target!(|data: &[u8]| {
    let _ = name(&parse(data), b"comm");
});
