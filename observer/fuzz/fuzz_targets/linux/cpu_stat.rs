//! Fuzzes the parser of a cgroup's `cpu.stat`, and the parser of other files with keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::cgroup::cpu_stat::parse;
use linux::cgroup::flat_keyed::value;

fuzz_target!(|data: &[u8]| {
    let _ = (parse(data), value(data, b"oom_kill"));
});
