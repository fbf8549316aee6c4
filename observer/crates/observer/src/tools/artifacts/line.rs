//! The lines of raw files: JSON objects whose only key besides the time is `artifact`. They are not
//! rows of a section, so the rows of a metric need no description of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encode::json::{push_key, push_known, push_string, push_text};

use super::compress::Outline;

/// The maximum bytes of the members that describe the process of a file.
const MAX_ORIGIN: usize = 2048;
/// The maximum bytes of a line. The container runtime splits lines of more than 16 KiB.
pub const MAX_LINE: usize = 16_384;
/// The maximum bytes of the members of a part without its data: three numbers, and the keys.
const MAX_MEMBERS: usize = 3 * 20 + 64;

/// The file that a line is about.
pub struct Head {
    /// The beginning of each line, until the members that differ.
    text: Vec<u8>,
}

impl Head {
    /// `file` is the name of the file, without a folder. `origin` contains the members that
    /// describe its process, each after a comma. Members that are too long are left out.
    pub fn new(time: &str, file: &str, origin: &[u8]) -> Self {
        let mut text = b"{\"time\":\"".to_vec();
        text.extend_from_slice(time.as_bytes());
        text.extend_from_slice(b"\",\"artifact\":{\"file\":");
        push_string(&mut text, file);
        if origin.len() <= MAX_ORIGIN {
            text.extend_from_slice(origin);
        }
        Self { text }
    }

    /// Appends the line of a part; `number` begins at 1.
    pub fn push_part(&self, out: &mut Vec<u8>, outline: &Outline, number: u64, part: &[u8]) {
        out.extend_from_slice(&self.text);
        push_known(out, "part", Some(number));
        push_known(out, "parts", Some(outline.parts()));
        push_known(out, "bytes", Some(outline.bytes));
        push_key(out, "crc32");
        out.extend_from_slice(format!("\"{:08x}\"", outline.crc32).as_bytes());
        push_text(out, "data", Some(&STANDARD.encode(part)));
        out.extend_from_slice(b"}}");
    }

    /// Appends the line of a file that is not in the log.
    pub fn push_missing(&self, out: &mut Vec<u8>, reason: &str) {
        out.extend_from_slice(&self.text);
        push_text(out, "missing", Some(reason));
        out.extend_from_slice(b"}}");
    }

    /// The maximum bytes of the line of a part of `bytes` bytes, without the escapes of keywords,
    /// which are rare.
    pub fn longest(&self, bytes: usize) -> usize {
        self.text.len() + MAX_MEMBERS + bytes.div_ceil(3) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::artifacts::compress::PART;
    use proptest::prelude::*;

    #[test]
    fn a_part_is_one_object() {
        let outline = Outline {
            bytes: 12,
            crc32: 0xab,
            compressed: 30,
        };
        let mut line = Vec::new();
        let head = Head::new("T", "cpu_7", b",\"program\":\"lmp\"");
        head.push_part(&mut line, &outline, 1, b"abc");
        let expected = r#"{"time":"T","artifact":{"file":"cpu_7","program":"lmp","part":1,"parts":1,"bytes":12,"crc32":"000000ab","data":"YWJj"}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected);
        let mut line = Vec::new();
        head.push_missing(&mut line, "no room");
        let expected =
            r#"{"time":"T","artifact":{"file":"cpu_7","program":"lmp","missing":"no room"}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn keywords_of_a_parser_do_not_appear_in_data() {
        let outline = Outline::default();
        let part = STANDARD.decode("POLICYTABLES").unwrap();
        let mut line = Vec::new();
        Head::new("T", "f", b"").push_part(&mut line, &outline, 1, &part);
        let text = String::from_utf8(line).unwrap();
        assert!(
            !text.contains("POLICY") && !text.contains("TABLES"),
            "{text}"
        );
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["artifact"]["data"], "POLICYTABLES");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_line_fits_into_one_piece_of_the_container_runtime(
            part in prop::collection::vec(any::<u8>(), 1..=PART),
            bytes in any::<u64>(),
            compressed in any::<u64>(),
            origin in 0..4096_usize,
        ) {
            let outline = Outline { bytes, crc32: 1, compressed };
            let origin = format!(",\"program\":\"{}\"", "x".repeat(origin));
            let head = Head::new("2026-11-23T00:00:00.000Z", "mpi_2147483647.4294967295", origin.as_bytes());
            let mut line = Vec::new();
            head.push_part(&mut line, &outline, outline.parts(), &part);
            prop_assert!(line.len() < MAX_LINE);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
            // Each escape of a keyword takes five more bytes.
            let text = String::from_utf8(line).unwrap();
            let escapes = text.matches("\\u00").count() * 5;
            prop_assert!(text.len() - escapes <= head.longest(part.len()));
        }
    }
}
