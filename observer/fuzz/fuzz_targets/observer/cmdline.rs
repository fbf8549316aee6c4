//! Fuzzes the parser of `/proc/PID/cmdline`, and the program name that is derived from its result.

use linux::proc::cmdline::parse;
use ridealong_observer::sampling::program::name;

pub fn run(data: &[u8]) {
    let _ = name(&parse(data), b"comm", None);
}
