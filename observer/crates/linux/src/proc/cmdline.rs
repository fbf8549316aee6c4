//! Parses `/proc/PID/cmdline`.

/// The maximum number of words that are parsed. An interpreter has fewer options before its script.
const MAX_WORDS: usize = 32;

/// Returns the first words of a command line. A zero byte ends each word. The command line of a
/// zombie is empty.
pub fn parse(text: &[u8]) -> Vec<&[u8]> {
    if text.is_empty() {
        return Vec::new();
    }
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    text.split(|byte| *byte == 0).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_with_a_zero_byte() {
        assert_eq!(parse(b"sh\0-c\0\0"), [b"sh".as_slice(), b"-c", b""]);
        assert_eq!(
            parse(b"renamed: by itself"),
            [b"renamed: by itself".as_slice()]
        );
        assert!(parse(b"").is_empty());
        assert_eq!(parse(&b"x\0".repeat(100)).len(), MAX_WORDS);
    }
}
