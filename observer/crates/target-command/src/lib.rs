//! Parses and matches the regular expression of `target-command`.
//!
//! `problemOfTargetCommand` in src/core/text/target-command.ts documents the grammar. It is a
//! subset of POSIX extended regular expressions (IEEE Std 1003.1, 9.4). A valid expression matches
//! the same names in gawk with `LC_ALL=C` and in this module. test/observers/target-command.test.ts
//! uses generated expressions to compare this implementation with the implementation in TypeScript.
//!
//! As in the C locale, each byte of a name is one character. The regex-lite crate matches text, so
//! each byte of an expression or a name is passed to the crate as one character. Expressions are
//! translated because the syntax of regex-lite is larger than this grammar.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::{Regex, RegexBuilder};

/// The maximum number of characters in an expression.
const MAX_CHARACTERS: usize = 256;
/// The maximum number of characters and brackets in an expression after its repetitions are
/// expanded.
const MAX_SIZE: u32 = 256;
/// The maximum nesting depth of parentheses.
const MAX_DEPTH: u32 = 32;
/// The largest number in an interval (limits.h, `RE_DUP_MAX`).
const MAX_REPETITIONS: u32 = 255;
/// The maximum size of a compiled expression in bytes. A character compiles to hundreds of bytes.
const MAX_BYTES: usize = 1 << 20;

/// The characters that `\` can escape.
const ESCAPED: &str = "\\^$.[]|()*+?{}";

/// The POSIX character classes in the C locale, with their members in the syntax of regex-lite.
const CLASSES: [(&str, &str); 12] = [
    ("alnum", "0-9A-Za-z"),
    ("alpha", "A-Za-z"),
    ("blank", "\\x20\\t"),
    ("cntrl", "\\x00-\\x1F\\x7F"),
    ("digit", "0-9"),
    ("graph", "\\x21-\\x7E"),
    ("lower", "a-z"),
    ("print", "\\x20-\\x7E"),
    ("punct", "\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E"),
    ("space", "\\x20\\t\\n\\x0B\\x0C\\r"),
    ("upper", "A-Z"),
    ("xdigit", "0-9A-Fa-f"),
];

// These messages are the same as in src/core/text/target-command.ts.
const WRONG_ESCAPE: &str = "a \\ must precede one of \\ ^ $ . [ ] | ( ) * + ? { }";
const WRONG_BRACKET: &str = "a bracket expression must look like [a-z_], [^0-9] or \
     [[:alnum:].-], with only ASCII characters and without \\ or another [; write \\[ for the \
     character";
const WRONG_INTERVAL: &str = "an interval must be {n}, {n,} or {n,m} with numbers up to 255; \
     write \\{ for the character";
const NOTHING_TO_REPEAT: &str = "a quantifier must follow an ASCII character, a bracket \
     expression or a group, and no other quantifier; put the repeated part in parentheses";
const EMPTY: &str = "an alternative or group is empty; write ( )? around an optional part";
const UNMATCHED: &str = "a ( has no matching ); write \\( for the character";
const TOO_LARGE: &str = "with its repetitions written out, the pattern exceeds 256 characters";

/// A regular expression that matches the names of programs.
#[derive(Debug)]
pub struct TargetCommand(Regex);

impl TargetCommand {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that describes the error.
    pub fn parse(pattern: &[u8]) -> Result<Self, String> {
        let printable = std::str::from_utf8(pattern).ok().filter(|text| {
            (1..=MAX_CHARACTERS).contains(&text.chars().count())
                && !text.chars().any(char::is_control)
        });
        let text = printable.ok_or(
            "the pattern must have 1 to 256 printable characters, such as \"lmp\" or \"^py.*\"",
        )?;
        let mut parser = Parser {
            rest: text.chars().peekable(),
            out: String::new(),
        };
        parser.alternatives(0)?;
        if parser.rest.peek().is_some() {
            return Err("a ) has no matching (; write \\) for the character".to_owned());
        }
        let built = RegexBuilder::new(&parser.out)
            .dot_matches_new_line(true)
            .size_limit(MAX_BYTES)
            .nest_limit(4 * MAX_DEPTH)
            .build();
        Ok(Self(built.map_err(|error| error.to_string())?))
    }

    /// Whether the expression matches any part of a program's name.
    pub fn matches(&self, program: &[u8]) -> bool {
        let name: String = program.iter().copied().map(char::from).collect();
        self.0.is_match(&name)
    }
}

/// Parses an expression, and translates it for regex-lite. A method that parses a part of the
/// expression returns its size: the number of characters and brackets after expansion.
struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Parser<'_> {
    fn alternatives(&mut self, depth: u32) -> Result<u32, String> {
        let mut size = self.alternative(depth)?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.out.push('|');
            size = within_limit(size + self.alternative(depth)?)?;
        }
        Ok(size)
    }

    fn alternative(&mut self, depth: u32) -> Result<u32, String> {
        let start = self.out.len();
        let mut size = 0;
        while let Some(next) = self.rest.next_if(|next| !matches!(next, '|' | ')')) {
            size = within_limit(size + self.item(next, depth)?)?;
        }
        if self.out.len() == start {
            let is_cut = depth > 0 && self.rest.peek().is_none();
            return Err(if is_cut { UNMATCHED } else { EMPTY }.to_owned());
        }
        Ok(size)
    }

    /// Parses an anchor, or a character, bracket or group with its quantifier.
    fn item(&mut self, first: char, depth: u32) -> Result<u32, String> {
        let start = self.out.len();
        let size = match first {
            '^' | '$' => {
                self.out.push(first);
                return Ok(0);
            }
            '*' | '+' | '?' | '{' => return Err(NOTHING_TO_REPEAT.to_owned()),
            '(' => self.group(depth + 1)?,
            '[' => self.bracket()?,
            '\\' => self.escaped()?,
            '.' => {
                self.out.push('.');
                1
            }
            _ => {
                self.literal(first);
                1
            }
        };
        let is_quantifier = |next: &char| matches!(next, '*' | '+' | '?' | '{');
        let Some(mark) = self.rest.next_if(is_quantifier) else {
            return Ok(size);
        };
        // In the C locale, a character of several bytes is several characters, and a quantifier
        // would repeat only the last.
        if !first.is_ascii() {
            return Err(NOTHING_TO_REPEAT.to_owned());
        }
        self.out.insert_str(start, "(?:");
        self.out.push(')');
        let copies = self.quantifier(mark)?;
        if self.rest.peek().is_some_and(is_quantifier) {
            return Err(NOTHING_TO_REPEAT.to_owned());
        }
        within_limit(size * copies)
    }

    fn group(&mut self, depth: u32) -> Result<u32, String> {
        if depth > MAX_DEPTH {
            return Err(format!("groups are nested more than {MAX_DEPTH} deep"));
        }
        self.out.push_str("(?:");
        let size = self.alternatives(depth)?;
        if self.rest.next().is_none() {
            return Err(UNMATCHED.to_owned());
        }
        self.out.push(')');
        Ok(size)
    }

    /// Writes each byte of a character as an escape.
    fn literal(&mut self, character: char) {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string does not fail.
            let _ = write!(self.out, "\\x{byte:02X}");
        }
    }

    fn escaped(&mut self) -> Result<u32, String> {
        let next = self.rest.next_if(|next| ESCAPED.contains(*next));
        self.literal(next.ok_or(WRONG_ESCAPE)?);
        Ok(1)
    }

    /// Parses a quantifier, and returns the number of copies that it makes of its item (glibc
    /// posix/regcomp.c, `parse_dup_op`).
    fn quantifier(&mut self, mark: char) -> Result<u32, String> {
        if mark == '{' {
            return self.interval();
        }
        self.out.push(mark);
        Ok(if mark == '+' { 2 } else { 1 })
    }

    /// Parses the `n}`, `n,}` or `n,m}` of an interval.
    fn interval(&mut self) -> Result<u32, String> {
        let least = self.repetitions()?.ok_or(WRONG_INTERVAL)?;
        let is_range = self.rest.next_if_eq(&',').is_some();
        let most = if is_range {
            self.repetitions()?
        } else {
            Some(least)
        };
        let is_right = self.rest.next() == Some('}') && most.is_none_or(|most| least <= most);
        if !is_right {
            return Err(WRONG_INTERVAL.to_owned());
        }
        let _ = match most {
            Some(most) => write!(self.out, "{{{least},{most}}}"),
            None => write!(self.out, "{{{least},}}"),
        };
        Ok(most.map_or(least + 1, |most| most.max(1)))
    }

    /// Parses a number of at most three digits.
    fn repetitions(&mut self) -> Result<Option<u32>, String> {
        let mut number = None;
        let mut digits = 0;
        while let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(10)) {
            self.rest.next();
            number = Some(number.unwrap_or(0) * 10 + digit);
            digits += 1;
            if digits > 3 || number > Some(MAX_REPETITIONS) {
                return Err(WRONG_INTERVAL.to_owned());
            }
        }
        Ok(number)
    }

    /// Parses a bracket expression after its `[`.
    fn bracket(&mut self) -> Result<u32, String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut before = None;
        if let Some(first) = self.rest.next_if(|next| matches!(next, ']' | '-')) {
            self.literal(first);
            before = Some(first);
        }
        while let Some(next) = self
            .rest
            .next_if(|next| is_in_bracket(*next) || *next == '[')
        {
            // Other engines parse `&&` and `~~` as operators.
            if before == Some(next) && matches!(next, '&' | '~') {
                return Err(WRONG_BRACKET.to_owned());
            }
            before = Some(self.bracket_item(next)?);
        }
        if let Some(dash) = self
            .rest
            .next_if(|next| *next == '-' && before != Some('-'))
        {
            self.literal(dash);
            before = Some(dash);
        }
        if before.is_none() || self.rest.next() != Some(']') {
            return Err(WRONG_BRACKET.to_owned());
        }
        self.out.push(']');
        Ok(1)
    }

    /// Parses a class, range or character of a bracket, and returns its last character.
    fn bracket_item(&mut self, first: char) -> Result<char, String> {
        if first == '[' {
            return self.class();
        }
        self.literal(first);
        let mut ahead = self.rest.clone();
        let last = ahead
            .next_if_eq(&'-')
            .and_then(|_| ahead.next_if(|next| is_in_bracket(*next)));
        let Some(last) = last else { return Ok(first) };
        self.rest = ahead;
        if last < first {
            return Err(WRONG_BRACKET.to_owned());
        }
        self.out.push('-');
        self.literal(last);
        Ok(last)
    }

    /// Parses a class such as `[:digit:]` after its `[`, and returns its last character.
    fn class(&mut self) -> Result<char, String> {
        let text: String = self.rest.clone().collect();
        for (name, members) in CLASSES {
            let written = format!(":{name}:]");
            if text.starts_with(&written) {
                self.out.push_str(members);
                // The name of a class is ASCII, so its length in bytes is its number of characters.
                self.rest.by_ref().take(written.len()).for_each(drop);
                return Ok(']');
            }
        }
        Err(WRONG_BRACKET.to_owned())
    }
}

/// Whether a character is printable ASCII, except `-`, `[`, `\` and `]`.
fn is_in_bracket(character: char) -> bool {
    matches!(character, ' '..='~') && !matches!(character, '-' | '[' | '\\' | ']')
}

fn within_limit(size: u32) -> Result<u32, String> {
    if size <= MAX_SIZE {
        Ok(size)
    } else {
        Err(TOO_LARGE.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, program: &str) -> bool {
        let command = TargetCommand::parse(pattern.as_bytes()).unwrap();
        command.matches(program.as_bytes())
    }

    #[test]
    fn patterns_match_as_posix_defines() {
        for (pattern, yes, no) in [
            ("lmp", "my-lmp-2", "lm"),
            ("^(lmp|namd[0-9]*)$", "namd3", "lmp2"),
            ("^py.*", "python3", "spy"),
            ("a{2}", "baab", "aba"),
            ("^a{2,3}$", "aaa", "aaaa"),
            ("^a{2,}$", "aaaaa", "a"),
            ("^ab?c+$", "accc", "ab"),
            ("^(ab)*$", "abab", "aba"),
            ("^[^a-z]$", "A", "a"),
            ("^[]x]$", "]", "y"),
            ("^[a-]$", "-", "b"),
            ("^[[:digit:]_]+$", "1_2", "a"),
            ("^[&~]{2}$", "&~", "ab"),
            ("^a\\.b$", "a.b", "axb"),
            ("^..$", "\u{e9}", "abc"),
            ("gr\u{f6}\u{df}e", "gr\u{f6}\u{df}er", "grosse"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn a_hostile_expression_takes_little_memory_and_linear_time() {
        let pattern = format!("^({}){}$", "(a*)*".repeat(20), "a?".repeat(60));
        assert!(!matches(&pattern, &format!("{}b", "a".repeat(254))));
        for pattern in [
            "((((a{1,255}){1,255}){1,255}){1,255})",
            "a{255}{255}",
            "(a{255}){255}",
        ] {
            assert!(TargetCommand::parse(pattern.as_bytes()).is_err());
        }
        assert!(TargetCommand::parse("(".repeat(256).as_bytes()).is_err());
    }

    #[test]
    fn only_printable_text_of_bounded_size_is_accepted() {
        assert!(TargetCommand::parse(b"a\xff").is_err());
        assert!(TargetCommand::parse(b"a\n").is_err());
        assert!(TargetCommand::parse(b"").is_err());
        assert!(TargetCommand::parse("a".repeat(257).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            pattern in "[a-c(){}\\[\\]|*+?.^$\\\\0-9:,-]{0,40}",
            program: Vec<u8>,
        ) {
            if let Ok(command) = TargetCommand::parse(pattern.as_bytes()) {
                let _ = command.matches(&program);
            }
        }
    }
}
