//! Fuzzes the search for the cgroups of a process. The first empty line separates
//! `/proc/PID/cgroup` from `/proc/PID/mountinfo`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::cgroup::location::locate;

fuzz_target!(|data: &[u8]| {
    let at = data.windows(2).position(|pair| pair == b"\n\n");
    let (cgroup, mountinfo) = data.split_at(at.unwrap_or(data.len()));
    let location = locate(cgroup, mountinfo);
    for found in [&location.cpu, &location.memory, &location.unified] {
        assert!(
            found
                .as_ref()
                .is_none_or(|found| !found.path.starts_with(b"/"))
        );
    }
});
