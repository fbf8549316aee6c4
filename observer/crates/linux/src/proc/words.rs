//! Splits the bytes of a file into lines and words, and parses decimal numbers.

/// Returns the words of a text, which are separated by blanks, tabs and newlines.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
        .filter(|word| !word.is_empty())
}

/// Returns the lines of a text, without their newlines.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// Parses a decimal number. `None` if the word has characters other than digits, or if the number
/// does not fit in 64 bits.
///
/// ```
/// use linux::proc::words::number;
/// assert_eq!(number(b"4096"), Some(4096));
/// assert_eq!(number(b"-1"), None);
/// ```
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Returns the first number after a label, such as the 132 of `VmStk:\t 132 kB`.
pub fn number_after(line: &[u8], label: &[u8]) -> Option<u64> {
    number(words(line.strip_prefix(label)?).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_none() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b""), None);
        assert_eq!(number(b"1x"), None);
    }

    #[test]
    fn a_label_must_come_first() {
        assert_eq!(number_after(b"VmRSS:\t    1740 kB", b"VmRSS:"), Some(1740));
        assert_eq!(number_after(b"Name:\tVmRSS: 7", b"VmRSS:"), None);
        assert_eq!(number_after(b"VmRSS:", b"VmRSS:"), None);
    }
}
