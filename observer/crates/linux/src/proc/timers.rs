//! Parses `/proc/PID/timers`, the POSIX timers of a process.

use super::words::lines;

/// Returns the value (`sigev_value` of sigevent(3type)) of the first timer that sends a signal.
/// `None` if no timer sends it.
pub fn value_of_signal(text: &[u8], signal: u32) -> Option<u64> {
    let label = format!("signal: {signal}/");
    lines(text).find_map(|line| {
        let value = std::str::from_utf8(line.strip_prefix(label.as_bytes())?).ok()?;
        u64::from_str_radix(value, 16).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_with_the_signal_is_found() {
        let text = b"ID: 0\nsignal: 14/0000000000000001\nnotify: signal/pid.9\nClockID: 1\n\
            ID: 1\nsignal: 23/00007f30116e9300\nnotify: signal/pid.9\nClockID: -6\n";
        assert_eq!(value_of_signal(text, 23), Some(0x7f30_116e_9300));
        assert_eq!(value_of_signal(text, 14), Some(1));
        assert_eq!(value_of_signal(text, 2), None);
        assert_eq!(value_of_signal(b"signal: 23/x\n", 23), None);
        assert_eq!(value_of_signal(b"", 23), None);
    }
}
