//! Fuzzes the parser of lists of processors, and the functions that count and compare them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::proc::cpu_list::CpuList;

fuzz_target!(|data: &[u8]| {
    let (one, other) = data.split_at(data.len() / 2);
    if let (Some(one), Some(other)) = (CpuList::parse(one), CpuList::parse(other)) {
        assert_eq!(one.overlaps(&other), other.overlaps(&one));
        assert!(one.numbers(1024).len() as u64 <= one.count());
    }
});
