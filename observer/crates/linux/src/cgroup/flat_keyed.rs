//! Files in which each line has a key and a number: `cpu.stat`, `memory.stat`, `memory.events` and
//! `memory.oom_control`.

use crate::proc::words::{lines, number, words};

/// Returns the number of a key. `None` if no line has the key with a number.
///
/// ```
/// use linux::cgroup::flat_keyed::value;
/// assert_eq!(value(b"oom 2\noom_kill 1\n", b"oom_kill"), Some(1));
/// ```
pub fn value(text: &[u8], key: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| {
        let mut words = words(line);
        (words.next()? == key).then_some(())?;
        number(words.next()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_events_of_both_versions_are_parsed() {
        // Version 2, after the kernel killed a process at a limit of 512 MiB.
        let events = b"low 0\nhigh 0\nmax 35\noom 1\noom_kill 1\noom_group_kill 0\n";
        for (key, expected) in [("high", 0), ("max", 35), ("oom", 1), ("oom_kill", 1)] {
            assert_eq!(value(events, key.as_bytes()), Some(expected), "{key}");
        }
        // Version 1, Linux 6.18.
        let control = b"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n";
        assert_eq!(value(control, b"oom_kill"), Some(4));
        assert_eq!(value(control, b"oom"), None);
    }

    #[test]
    fn the_value_of_a_key_without_a_number_is_none() {
        assert_eq!(value(b"oom\n", b"oom"), None);
        assert_eq!(value(b"oom -1\n", b"oom"), None);
        assert_eq!(value(b"", b"oom"), None);
    }
}
