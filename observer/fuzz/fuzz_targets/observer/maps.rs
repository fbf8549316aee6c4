//! Fuzzes the parser of `/proc/PID/maps`, which also ends a profile.

use ridealong_observer::metrics::cpu_profile::maps::{find, parse_all};

pub fn run(data: &[u8]) {
    let mappings = parse_all(data);
    for mapping in &mappings {
        assert!(mapping.start < mapping.end);
        let _ = find(&mappings, mapping.start);
    }
}
