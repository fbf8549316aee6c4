//! The names of functions.

use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite};

use crate::json::clean;

/// The maximum bytes of a name in the rows.
const MAX_NAME: usize = 255;

/// Returns the name of a function from its symbol. A symbol of C++ becomes the name with its
/// classes, without parameters. Semicolons, which separate the functions of a stack, become colons.
#[must_use]
pub fn from_symbol(symbol: &[u8]) -> String {
    let name = demangle(symbol).unwrap_or_else(|| clean(symbol));
    shorten(&name).replace(';', ":")
}

/// Returns the beginning of a text of at most [`MAX_NAME`] bytes, which ends with `...` if the text
/// is longer.
fn shorten(text: &str) -> String {
    if text.len() <= MAX_NAME {
        return text.to_owned();
    }
    let mut end = MAX_NAME - 3;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &text[..end])
}

fn demangle(symbol: &[u8]) -> Option<String> {
    if !symbol.starts_with(b"_Z") {
        return None;
    }
    let parsed = BorrowedSymbol::new(symbol).ok()?;
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut out = Bounded(String::new());
    let result = parsed.structured_demangle(&mut out, &options);
    let is_cut = out.0.len() > MAX_NAME;
    ((result.is_ok() || is_cut) && !out.0.is_empty()).then(|| clean(out.0.as_bytes()))
}

/// A text that accepts little more than the longest name: a short symbol can have a name of any
/// length, because its parts can refer to each other.
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, part: &str) -> std::fmt::Result {
        if self.0.len() > MAX_NAME {
            return Err(std::fmt::Error);
        }
        self.0.extend(part.chars().take(MAX_NAME + 1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn symbols_become_names_without_parameters() {
        for (symbol, expected) in [
            ("main", "main"),
            (
                "_ZN9LAMMPS_NS9PairLJCut7computeEii",
                "LAMMPS_NS::PairLJCut::compute",
            ),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            (
                "_ZN4core3fmt5write17h0123456789abcdefE",
                "core::fmt::write::h0123456789abcdef",
            ),
            ("_Znonsense", "_Znonsense"),
            ("a;b\u{1b}[2J", "a:b?[2J"),
        ] {
            assert_eq!(from_symbol(symbol.as_bytes()), expected);
        }
    }

    #[test]
    fn a_symbol_whose_name_would_be_huge_is_cut() {
        let long = format!("_Z{}{}", 3000, "x".repeat(3000));
        assert_eq!(from_symbol(long.as_bytes()).len(), MAX_NAME);
        // Each argument contains the one before twice: a<int, int>, a<a<int, int>, a<int, int>>, …
        let mut symbol = "_Z1gI1aIiiE".to_owned();
        for one in ('1'..='9').chain('A'..='Z') {
            for part in ["S0_I", "S", "_S", "_E"] {
                symbol.push_str(part);
                if part.ends_with('S') {
                    symbol.push(one);
                }
            }
        }
        symbol.push_str("Evv");
        let name = from_symbol(symbol.as_bytes());
        assert!(name.starts_with("g<a<int, int>, a<a<int, int>, "), "{name}");
        assert_eq!(name.len(), MAX_NAME);
    }

    proptest! {
        #[test]
        fn any_symbol_has_a_short_name(symbol in prop::collection::vec(any::<u8>(), 0..600)) {
            for symbol in [symbol.clone(), [b"_Z".as_slice(), &symbol].concat()] {
                let name = from_symbol(&symbol);
                prop_assert!(name.len() <= MAX_NAME && !name.contains(';'));
            }
        }
    }
}
