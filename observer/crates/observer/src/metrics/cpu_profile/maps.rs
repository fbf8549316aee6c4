//! Parses `/proc/PID/maps`, which also ends a profile of gperftools.

use std::rc::Rc;

use linux::read_at::ReadAt;

/// The maximum mappings of code that are kept of a process.
pub const MAX_MAPPINGS: usize = 4096;
/// The maximum bytes of a path.
const MAX_PATH: usize = 4096;
/// The maximum bytes of the text that are read.
const MAX_BYTES: u64 = 4 << 20;
const PIECE: usize = 65_536;

/// A part of the memory of a process that contains code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The position of the first byte in the file.
    pub offset: u64,
    /// The path of the file, or a name such as `[vdso]`. Empty for memory without a file.
    pub path: Rc<[u8]>,
}

/// Parses a line. `None` if the line is not valid or the memory contains no code.
pub fn parse(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let from = rest.iter().position(|byte| *byte != b' ')?;
        let to = rest[from..].iter().position(|byte| *byte == b' ');
        let to = to.map_or(rest.len(), |count| from + count);
        let word = &rest[from..to];
        rest = &rest[to..];
        Some(word)
    };
    let range = word()?;
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let (start, end) = (
        hexadecimal(&range[..dash])?,
        hexadecimal(&range[dash + 1..])?,
    );
    let is_code = word()?.get(2) == Some(&b'x');
    let offset = hexadecimal(word()?)?;
    let (_device, _inode) = (word()?, word()?);
    let path = rest.trim_ascii_start();
    (is_code && start < end && path.len() <= MAX_PATH).then(|| Mapping {
        start,
        end,
        offset,
        path: path.into(),
    })
}

/// Parses the lines of a text, and returns the first [`MAX_MAPPINGS`] mappings of code, sorted by
/// their addresses.
pub fn parse_all(text: &[u8]) -> Vec<Mapping> {
    read(text, 0)
}

/// Reads the text from a position of a file to its end, as [`parse_all`] does.
pub fn read(file: &(impl ReadAt + ?Sized), from: u64) -> Vec<Mapping> {
    let mut mappings = Vec::new();
    let mut piece = vec![0; PIECE];
    let mut at = from;
    while at - from < MAX_BYTES && mappings.len() < MAX_MAPPINGS {
        let count = file.read_at(at, &mut piece);
        // The last line of a piece is read again, unless it is the last line of the file.
        let end = piece[..count].iter().rposition(|byte| *byte == b'\n');
        let length = end.map_or(count, |end| end + 1);
        if length == 0 {
            break;
        }
        let lines = piece[..length].split(|byte| *byte == b'\n');
        mappings.extend(lines.filter_map(parse));
        at += length as u64;
    }
    mappings.truncate(MAX_MAPPINGS);
    mappings.sort_by_key(|mapping| (mapping.start, mapping.end));
    mappings
}

/// Adds earlier mappings of the same process where it had none at its end, because it has unloaded
/// their libraries. Both lists must be sorted.
pub fn add_earlier(last: Vec<Mapping>, earlier: &[Mapping]) -> Vec<Mapping> {
    let is_free = |mapping: &&Mapping| {
        let after = last.partition_point(|other| other.start < mapping.end);
        last[..after]
            .last()
            .is_none_or(|other| other.end <= mapping.start)
    };
    let mut all: Vec<Mapping> = earlier.iter().filter(is_free).cloned().collect();
    all.extend(last);
    all.sort_by_key(|mapping| (mapping.start, mapping.end));
    all
}

/// Returns the mapping that contains an address. The mappings must be sorted.
pub fn find(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    mappings[..after]
        .last()
        .filter(|mapping| address < mapping.end)
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let is_number = (1..=16).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"55d0c8a00000-55d0c8a01000 r--p 00000000 fe:00 12 /usr/bin/two
55d0c8a01000-55d0c8a02000 r-xp 00001000 fe:00 12          /usr/bin/two
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7ffc1ccec000-7ffc1cd0d000 rw-p 00000000 00:00 0           [stack]
7ffc1cdf4000-7ffc1cdf6000 r-xp 00000000 00:00 0           [vdso]
7f1000000000-7f1000001000 r-xp 00002000 00:1a 7 /opt/a b/lib c.so (deleted)
garbage
";

    #[test]
    fn only_mappings_of_code_are_kept_in_the_order_of_their_addresses() {
        let found = parse_all(TEXT);
        let paths: Vec<&[u8]> = found.iter().map(|mapping| &*mapping.path).collect();
        let expected: [&[u8]; 4] = [
            b"/usr/bin/two",
            b"",
            b"/opt/a b/lib c.so (deleted)",
            b"[vdso]",
        ];
        assert_eq!(paths, expected);
        assert_eq!(found[0].offset, 0x1000);
        assert_eq!(find(&found, 0x55d0_c8a0_1fff), Some(&found[0]));
        assert_eq!(find(&found, 0x55d0_c8a0_2000), None);
        assert_eq!(find(&found, 0), None);
    }

    #[test]
    fn a_library_that_was_unloaded_is_kept() {
        let parse = |text: &str| parse_all(text.as_bytes());
        let earlier = parse("10-20 r-xp 0 0:0 0 /a\n20-30 r-xp 0 0:0 0 /b\n40-60 r-xp 0 0:0 0 /c");
        let last = parse("10-20 r-xp 0 0:0 0 /a\n58-70 r-xp 0 0:0 0 /d");
        let expected = "10-20 r-xp 0 0:0 0 /a\n20-30 r-xp 0 0:0 0 /b\n58-70 r-xp 0 0:0 0 /d";
        assert_eq!(add_earlier(last, &earlier), parse(expected));
        assert_eq!(add_earlier(Vec::new(), &earlier), earlier);
    }

    #[test]
    fn a_long_text_is_read_in_pieces() {
        let line = |at: u64| {
            format!(
                "{:x}-{:x} r-xp 0 0:0 0 /lib/{}\n",
                at * 16,
                at * 16 + 16,
                "x".repeat(100)
            )
        };
        let text: String = (0..2000).map(line).collect();
        let found = parse_all(text.as_bytes());
        assert_eq!(found.len(), 2000);
        assert!(found.iter().all(|mapping| mapping.path.len() == 105));
        let text: String = (0..5000).map(line).collect();
        assert_eq!(parse_all(text.as_bytes()).len(), MAX_MAPPINGS);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in prop::collection::vec(any::<u8>(), 0..3000)) {
            let found = parse_all(&text);
            prop_assert!(found.iter().all(|mapping| mapping.start < mapping.end));
        }
    }
}
