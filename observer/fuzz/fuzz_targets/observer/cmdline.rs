//! Fuzzes the parser of `/proc/PID/cmdline`, and the program name that is derived from its result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::cmdline::parse;
use ridealong_observer::sampling::program::name;

fuzz_target!(|data: &[u8]| {
    let _ = name(&parse(data), b"comm", None);
});
