//! Fuzzes the parsers of `/proc/PID/mountinfo`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ridealong_observer::proc::mountinfo::{cgroup_mounts, container, hidepid};

fuzz_target!(|data: &[u8]| {
    let _ = (container(data), hidepid(data), cgroup_mounts(data).len());
});
