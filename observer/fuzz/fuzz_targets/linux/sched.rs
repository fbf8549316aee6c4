//! Fuzzes the parser of `/proc/PID/sched`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::sched::parse_migrations;

fuzz_target!(|data: &[u8]| {
    let _ = parse_migrations(data);
});
