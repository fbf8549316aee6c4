//! Fuzzes the parser of `/proc/diskstats`, and the document that is built from two of its results.

use ridealong_observer::metrics::io_sysstat::document::{Host, devices, document};

pub fn run(data: &[u8]) {
    let (before, now) = data.split_at(data.len() / 2);
    let host = Host {
        node: String::new(),
        system: String::new(),
        release: String::new(),
        machine: String::new(),
        processors: 1,
    };
    let _ = document(&host, "", 1.0, &devices(before), &devices(now), None);
}
