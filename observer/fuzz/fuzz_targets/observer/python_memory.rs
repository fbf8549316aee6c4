//! Fuzzes the reader of the memory of the sampler, and the sums of its samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ridealong_observer::metrics::python_profile::memory::read;
use ridealong_observer::metrics::python_profile::rows::ProfileRows;

fuzz_target!(|data: &[u8]| {
    // Without a valid beginning, nothing else is read.
    let file = [b"RLPYT\0\0\x01".as_slice(), data].concat();
    let Some(profile) = read(&file) else { return };
    let rows = ProfileRows {
        time: "T",
        pid: 1,
        tail: b"}",
        has_ended: true,
        profile: &profile,
    };
    let _ = (rows.process(), rows.now(0));
    let _ = (rows.functions(1 << 20), rows.stacks(1 << 20));
});
