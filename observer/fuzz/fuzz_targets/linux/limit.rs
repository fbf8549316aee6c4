//! Fuzzes the parsers of the limits of a cgroup, such as `cpu.max` and `memory.max`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::cgroup::cpu_limit;
use linux::cgroup::limit::Limit;

fuzz_target!(|data: &[u8]| {
    let (quota, period) = data.split_at(data.len() / 2);
    let _ = (Limit::parse(data), cpu_limit::parse_max(data));
    let _ = cpu_limit::parse_quota(quota, period);
});
