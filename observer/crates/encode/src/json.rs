//! Writes untrusted text as JSON on one line.

use crate::number;

/// The keywords that the Metrics Operator's parser searches for anywhere in a line.
pub const KEYWORDS: [&str; 10] = [
    "METRICS OPERATOR",
    "METADATA",
    "PIDSTAT COMMAND",
    "STATISTICS",
    "POLICY",
    "PAGEFAULTS",
    "UTILIZATION",
    "THREADS",
    "TABLES",
    "SWITCHING",
];

/// Converts bytes to text. Characters that control a terminal or the direction of text, or that
/// separate lines, become question marks. If the bytes are not valid UTF-8, all bytes outside ASCII
/// also become question marks.
pub fn clean(bytes: &[u8]) -> String {
    let visible = |character| {
        if is_control(character) {
            '?'
        } else {
            character
        }
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().map(visible).collect(),
        Err(_) => bytes
            .iter()
            .map(|byte| {
                if byte.is_ascii() {
                    visible(char::from(*byte))
                } else {
                    '?'
                }
            })
            .collect(),
    }
}

/// Whether a character is a control character (C0, DEL or C1), controls bidirectional text, or
/// separates lines or paragraphs.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the position and the length of the first keyword in a text.
pub fn find_keyword(text: &str) -> Option<(usize, usize)> {
    KEYWORDS
        .iter()
        .filter_map(|mark| text.find(mark).map(|at| (at, mark.len())))
        .min()
}

/// Appends a JSON string with its quotes. The first letter of each keyword is written as an escape:
/// a JSON decoder restores the letter, but a search in the line does not find the keyword.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text;
    // Keywords may overlap, so the search continues after the first letter.
    while let Some((at, _)) = find_keyword(rest) {
        push_escaped(out, &rest[..at]);
        out.extend_from_slice(format!("\\u{:04x}", u32::from(rest.as_bytes()[at])).as_bytes());
        rest = &rest[at + 1..];
    }
    push_escaped(out, rest);
    out.push(b'"');
}

fn push_escaped(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 | 0x7f => out.push(b'?'),
            _ => out.push(byte),
        }
    }
}

/// Appends a member of an object after a comma. If the value is empty, appends nothing.
pub fn push_member(out: &mut Vec<u8>, key: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    push_key(out, key);
    push_string(out, value);
}

/// Appends a comma and the key of a member.
pub fn push_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends a member with a number, or `null`, after a comma.
pub fn push_known(out: &mut Vec<u8>, key: &str, value: Option<u64>) {
    push_key(out, key);
    push_or_null(out, value);
}

/// Appends a member with a text, or `null`, after a comma.
pub fn push_text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    push_key(out, key);
    match value {
        Some(value) => push_string(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Appends a number, or `null`.
pub fn push_or_null(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => number::push(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> String {
        let mut out = Vec::new();
        push_string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_keyword_is_escaped_and_decoded_unchanged() {
        assert_eq!(quoted("POLICY"), "\"\\u0050OLICY\"");
        assert_eq!(find_keyword(&quoted("STATISTICSWITCHING")), None);
        let text = "METRICS OPERATOR COLLECTION END, say \"no\" a\\b caf\u{e9}";
        assert_eq!(find_keyword(&quoted(text)), None);
        assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
    }

    #[test]
    fn hostile_characters_become_question_marks() {
        assert_eq!(clean(b"a\x1b[2Jb\x00\x7f"), "a?[2Jb??");
        assert_eq!(
            clean("\u{9b}31m\u{202e}gnp\u{2066}\u{61c}\u{2028}".as_bytes()),
            "?31m?gnp???"
        );
        assert_eq!(clean(b"caf\xc3\xa9"), "caf\u{e9}");
        assert_eq!(clean(b"caf\xe9 \xc3\xa9"), "caf? ??");
    }
}
