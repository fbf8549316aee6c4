//! Splits a log that arrives in pieces into its lines.

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 1 << 20;
/// The largest capacity that the buffer of a line keeps for the next line, in bytes.
const MAX_KEPT: usize = 65_536;

/// The lines of a log.
#[derive(Default)]
pub struct Lines {
    /// The bytes of the line whose end has not arrived.
    line: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// Reads a piece of the log, and passes each line that ends in this piece to `take`, without
    /// the line break. A line of more than 1 MiB is passed as `None`.
    pub fn read(&mut self, piece: &[u8], mut take: impl FnMut(Option<&[u8]>)) {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            rest = &rest[end + 1..];
            take((!self.is_too_long).then_some(&self.line));
            self.is_too_long = false;
            self.line.clear();
            self.line.shrink_to(MAX_KEPT);
        }
        self.extend(rest);
    }

    /// Whether all lines that have begun have ended.
    pub fn is_between_lines(&self) -> bool {
        self.line.is_empty() && !self.is_too_long
    }

    fn extend(&mut self, text: &[u8]) {
        if self.line.len() + text.len() > MAX_LINE {
            self.is_too_long = true;
            self.line = Vec::new();
        }
        if !self.is_too_long {
            self.line.extend_from_slice(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, MAX_KEPT, MAX_LINE};

    /// Reads the pieces, and returns the lines.
    fn read(lines: &mut Lines, pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::new();
        for piece in pieces {
            lines.read(piece, |line| found.push(line.map(<[u8]>::to_vec)));
        }
        found
    }

    #[test]
    fn a_line_may_arrive_in_pieces() {
        let mut lines = Lines::default();
        let found = read(&mut lines, &[b"one\ntw", b"o", b"\n\nthree"]);
        let expected: [&[u8]; 3] = [b"one", b"two", b""];
        assert_eq!(found, expected.map(|line| Some(line.to_vec())));
        assert!(!lines.is_between_lines());
        assert_eq!(read(&mut lines, &[b"\n"]), [Some(b"three".to_vec())]);
        assert!(lines.is_between_lines());
    }

    #[test]
    fn only_lines_of_at_most_one_mebibyte_are_given() {
        let mut lines = Lines::default();
        let longest = vec![b'x'; MAX_LINE];
        let found = read(&mut lines, &[&longest, b"\n", &longest, b"x", b"x\nnext\n"]);
        assert_eq!(found, [Some(longest), None, Some(b"next".to_vec())]);
        assert!(lines.line.capacity() <= MAX_KEPT);
    }

    #[test]
    fn the_rest_of_a_line_that_is_too_long_is_not_a_line() {
        let mut lines = Lines::default();
        let found = read(&mut lines, &[&vec![b'x'; MAX_LINE + 1], b"the rest"]);
        assert_eq!(found, []);
        assert!(!lines.is_between_lines());
        assert_eq!(read(&mut lines, &[b" of it\n"]), [None]);
    }
}
