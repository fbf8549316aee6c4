//! Fuzzes the parsers of `/proc/PID/mountinfo`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::mountinfo::{cgroup_mounts, container_mounts, hidepid};

fuzz_target!(|data: &[u8]| {
    let _ = (
        container_mounts(data).count(),
        hidepid(data),
        cgroup_mounts(data).len(),
    );
});
