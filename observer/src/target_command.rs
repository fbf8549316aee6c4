//! The regular expression of `target-command`: a subset of POSIX extended regular expressions
//! (POSIX.1-2024, 9.4) that is matched in linear time and takes little memory.
//!
//! An expression is checked here, character by character, and written anew for the regex-lite
//! crate, whose own syntax has more and means some characters otherwise. So nothing but this
//! grammar is accepted:
//!
//! - an ordinary character; `.`; `^` and `$`; `\` before a punctuation mark
//! - `[abc]`, `[^abc]`, `[a-z]`, `[[:digit:]]` and the other classes; `\` stands for itself there
//! - `(…)`, `…|…`
//! - `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}` behind one of these

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::{Regex, RegexBuilder};

/// Characters that an expression may have, as at admission.
const MOST_CHARACTERS: usize = 256;
/// Repetitions that POSIX guarantees (limits.h, `RE_DUP_MAX`).
const MOST_REPETITIONS: u32 = 255;
/// Characters and sets that an expression may have after its repetitions are written out.
const MOST_STATES: u32 = 10_000;
/// Bytes that the compiled expression may take: two hundred for each state, and a reserve.
const MOST_BYTES: usize = 4 << 20;

/// The classes of POSIX in the C locale, as sets.
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

/// A regular expression that programs' names are compared with.
#[derive(Debug)]
pub struct TargetCommand(Regex);

impl TargetCommand {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > MOST_CHARACTERS {
            return Err(format!("it has more than {MOST_CHARACTERS} characters"));
        }
        let mut parser = Parser {
            rest: text.chars().peekable(),
            out: String::new(),
        };
        let states = parser
            .alternatives()
            .map_err(|error| format!("{error} in {text}"))?;
        if parser.rest.peek().is_some() {
            return Err(format!("Unmatched ) in {text}"));
        }
        if states > MOST_STATES {
            return Err(format!(
                "its repetitions make {states} characters of it; {MOST_STATES} are possible"
            ));
        }
        let regex = RegexBuilder::new(&parser.out)
            .dot_matches_new_line(true)
            .size_limit(MOST_BYTES)
            .nest_limit(4 * u32::try_from(MOST_CHARACTERS).unwrap_or(u32::MAX))
            .build()
            .map_err(|error| format!("{error} in {text}"))?;
        Ok(Self(regex))
    }

    /// Whether a part of a program's name matches.
    #[must_use]
    pub fn matches(&self, program: &str) -> bool {
        self.0.is_match(program)
    }
}

/// Reads an expression, and writes it for regex-lite. Each function returns how many states its
/// part has.
struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Parser<'_> {
    fn alternatives(&mut self) -> Result<u32, String> {
        let mut states = self.sequence()?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.out.push('|');
            states = states.saturating_add(self.sequence()?);
        }
        Ok(states)
    }

    fn sequence(&mut self) -> Result<u32, String> {
        let mut states = 0_u32;
        while let Some(next) = self.rest.peek()
            && !matches!(next, '|' | ')')
        {
            states = states.saturating_add(self.repeated()?);
        }
        Ok(states)
    }

    /// One character, set or group, with what repeats it.
    fn repeated(&mut self) -> Result<u32, String> {
        let start = self.out.len();
        let (mut states, is_anchor) = self.atom()?;
        while let Some(mark) = self
            .rest
            .next_if(|next| matches!(next, '*' | '+' | '?' | '{'))
        {
            if is_anchor {
                return Err(format!("Nothing to repeat before {mark}"));
            }
            self.out.insert_str(start, "(?:");
            self.out.push(')');
            let times = if mark == '{' { self.interval()? } else { 1 };
            if mark != '{' {
                self.out.push(mark);
            }
            states = states.saturating_mul(times);
        }
        Ok(states)
    }

    /// What can be repeated, and the anchors, which cannot.
    fn atom(&mut self) -> Result<(u32, bool), String> {
        let is_anchor = matches!(self.rest.peek(), Some('^' | '$'));
        let states = match self.rest.next() {
            Some('(') => {
                self.out.push_str("(?:");
                let states = self.alternatives()?;
                if self.rest.next().is_none() {
                    return Err("Unmatched (".to_owned());
                }
                self.out.push(')');
                states.max(1)
            }
            Some('[') => self.set()?,
            Some('\\') => self.escaped()?,
            Some(mark @ ('*' | '+' | '?' | '{')) => {
                return Err(format!("Nothing to repeat before {mark}"));
            }
            Some(plain @ ('.' | '^' | '$')) => {
                self.out.push(plain);
                1
            }
            Some(ordinary) => self.literal(ordinary),
            None => 0,
        };
        Ok((states, is_anchor))
    }

    fn literal(&mut self, character: char) -> u32 {
        // Writing to a string does not fail.
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(character));
        1
    }

    fn escaped(&mut self) -> Result<u32, String> {
        match self.rest.next() {
            Some(mark) if mark.is_ascii_punctuation() && mark != '<' && mark != '>' => {
                Ok(self.literal(mark))
            }
            Some(other) => Err(format!(
                "\\{other} is no part of POSIX extended regular expressions"
            )),
            None => Err("Trailing \\".to_owned()),
        }
    }

    /// The m, m, or m,n of an interval, and its closing brace; how many copies it makes.
    fn interval(&mut self) -> Result<u32, String> {
        let least = self
            .repetitions()?
            .ok_or("Invalid interval, with no number after {")?;
        let is_range = self.rest.next_if_eq(&',').is_some();
        let most = if is_range {
            self.repetitions()?
        } else {
            Some(least)
        };
        if self.rest.next() != Some('}') {
            return Err("Unmatched {".to_owned());
        }
        if most.is_some_and(|most| most < least) {
            return Err("Invalid interval, which ends before it begins,".to_owned());
        }
        let _ = match most {
            Some(most) => write!(self.out, "{{{least},{most}}}"),
            None => write!(self.out, "{{{least},}}"),
        };
        Ok(most.unwrap_or(least + 1).max(1))
    }

    fn repetitions(&mut self) -> Result<Option<u32>, String> {
        let mut number = None;
        while let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(10)) {
            self.rest.next();
            let next = number.unwrap_or(0) * 10 + digit;
            if next > MOST_REPETITIONS {
                return Err(format!(
                    "Invalid interval, of more than {MOST_REPETITIONS} repetitions,"
                ));
            }
            number = Some(next);
        }
        Ok(number)
    }

    /// A bracket expression, without the opening bracket.
    fn set(&mut self) -> Result<u32, String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            match self.rest.next() {
                Some(']') if !is_first => break,
                Some('[') if matches!(self.rest.peek(), Some(':' | '.' | '=')) => self.class()?,
                Some(first) => self.range(first)?,
                None => return Err("Unmatched [".to_owned()),
            }
            is_first = false;
        }
        self.out.push(']');
        Ok(1)
    }

    /// One character of a set, or a range.
    fn range(&mut self, first: char) -> Result<(), String> {
        self.literal(first);
        let mut ahead = self.rest.clone();
        let is_range = ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']') | None);
        if !is_range {
            return Ok(());
        }
        self.rest.next();
        let last = self.rest.next().unwrap_or(first);
        if last == '[' && matches!(self.rest.peek(), Some(':' | '.' | '=')) {
            return Err(format!(
                "Invalid range that ends with a class after {first}-"
            ));
        }
        if last < first {
            return Err(format!("Invalid range {first}-{last}"));
        }
        self.out.push('-');
        self.literal(last);
        Ok(())
    }

    /// A class such as `[:digit:]`, without the opening bracket.
    fn class(&mut self) -> Result<(), String> {
        let kind = self.rest.next().unwrap_or(':');
        let name: String =
            std::iter::from_fn(|| self.rest.next_if(|next| *next != kind && *next != ']'))
                .collect();
        let is_closed = self.rest.next() == Some(kind) && self.rest.next() == Some(']');
        if kind != ':' {
            return Err(format!(
                "[{kind}{name}{kind}] (a collating symbol) is not supported"
            ));
        }
        let class = CLASSES
            .iter()
            .find(|(known, _)| *known == name)
            .filter(|_| is_closed);
        let (_, members) = class.ok_or_else(|| format!("Unknown class [:{name}:]"))?;
        self.out.push_str(members);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, program: &str) -> bool {
        TargetCommand::parse(pattern).unwrap().matches(program)
    }

    #[test]
    fn the_grammar_means_what_posix_says() {
        for (pattern, yes, no) in [
            ("lmp", "my-lmp-2", "lm"),
            ("^(lmp|namd[0-9]*)$", "namd3", "lmp2"),
            ("^py.*", "python3", "spy"),
            ("a{2}", "baab", "aba"),
            ("^a{2,3}$", "aaa", "aaaa"),
            ("^a{2,}$", "aaaaa", "a"),
            ("^ab?c+$", "accc", "ab"),
            ("^(ab)*$", "abab", "aba"),
            ("^a**$", "aaa", "b"),
            ("^[^a-z]$", "A", "a"),
            ("^[]x]$", "]", "y"),
            ("^[a-]$", "-", "b"),
            ("^[\\.]$", "\\", "x"),
            ("^[[:digit:]_]+$", "1_2", "a"),
            ("^[&~]{2}$", "&~", "ab"),
            ("^a\\.b$", "a.b", "axb"),
            ("^.$", "\u{e9}", "ab"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (pattern, expected) in [
            ("lmp(", "Unmatched ( in lmp("),
            ("lmp)", "Unmatched ) in lmp)"),
            ("[a", "Unmatched [ in [a"),
            ("a{2", "Unmatched { in a{2"),
            ("a{,2}", "Invalid interval, with no number after { in a{,2}"),
            (
                "a{3,2}",
                "Invalid interval, which ends before it begins, in a{3,2}",
            ),
            (
                "a{256}",
                "Invalid interval, of more than 255 repetitions, in a{256}",
            ),
            ("*a", "Nothing to repeat before * in *a"),
            ("^*", "Nothing to repeat before * in ^*"),
            (
                "\\d",
                "\\d is no part of POSIX extended regular expressions in \\d",
            ),
            (
                "(a)\\1",
                "\\1 is no part of POSIX extended regular expressions in (a)\\1",
            ),
            ("a\\", "Trailing \\ in a\\"),
            ("[z-a]", "Invalid range z-a in [z-a]"),
            ("[[:word:]]", "Unknown class [:word:] in [[:word:]]"),
            (
                "[[=a=]]",
                "[=a=] (a collating symbol) is not supported in [[=a=]]",
            ),
            (
                "(((a{99}){99}){99})",
                "its repetitions make 970299 characters of it; 10000 are possible",
            ),
        ] {
            assert_eq!(TargetCommand::parse(pattern).unwrap_err(), expected);
        }
        assert!(TargetCommand::parse(&"a".repeat(257)).is_err());
    }

    #[test]
    fn a_hostile_expression_matches_in_linear_time() {
        let pattern = format!("^({}){}$", "(a*)*".repeat(20), "a?".repeat(60));
        assert!(!matches(&pattern, &format!("{}b", "a".repeat(254))));
        assert!(TargetCommand::parse("((((a{1,255}){1,255}){1,255}){1,255})").is_err());
        assert!(TargetCommand::parse(&"(".repeat(256)).is_err());
        assert!(TargetCommand::parse(&format!("{}{}", "(".repeat(128), ")".repeat(128))).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(pattern in "[a-c(){}\\[\\]|*+?.^$\\\\0-9:,-]{0,40}", program: String) {
            if let Ok(command) = TargetCommand::parse(&pattern) {
                let _ = command.matches(&program);
            }
        }

        #[test]
        fn an_expression_that_is_accepted_compiles(pattern in "([a-c.]|\\([ab|]{0,4}\\)|\\[[a-c]\\])([*+?]|\\{[0-9]{1,2}\\})?") {
            prop_assert!(TargetCommand::parse(&pattern).is_ok(), "{}", pattern);
        }
    }
}
