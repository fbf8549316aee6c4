//! Throttling and use of processors, and any key of a file of keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ridealong_observer::cgroup::{cpu_stat::parse, flat_keyed::value};

fuzz_target!(|data: &[u8]| {
    let _ = (parse(data), value(data, b"oom_kill"));
});
