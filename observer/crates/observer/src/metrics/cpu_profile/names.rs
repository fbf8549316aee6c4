//! The names of functions.

use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite, ParseOptions};
use encode::json::clean;
use linux::clock;

/// The maximum bytes of a name in the rows.
const MAX_NAME: usize = 255;

/// The depth to which the parser of C++ symbols may call itself. The time for a symbol can double
/// with each level, because some of its parts can be read in two ways: at this depth, the worst
/// symbols take a tenth of a millisecond, and at the parser's own limit of 96, minutes.
const MAX_DEPTH: u32 = 40;
/// The depth for a symbol in which at most [`MAX_AMBIGUOUS`] parts can be read in two ways.
const MAX_CLEAR_DEPTH: u32 = 96;
const MAX_AMBIGUOUS: usize = 4;
/// The processor time for the names of a profile, in seconds. After that, names of C++ stay as they
/// are.
const MAX_SECONDS: f64 = 0.5;

/// Makes names of functions from symbols, in a limited time.
#[derive(Default)]
pub struct Names {
    /// The processor time used until now, in seconds.
    used: f64,
}

impl Names {
    /// Returns the name of a function from its symbol. A symbol of C++ becomes the name with its
    /// classes, without parameters. Semicolons, which separate the functions of a stack, become
    /// colons.
    pub fn from_symbol(&mut self, symbol: &[u8]) -> String {
        let name = self.demangle(symbol).unwrap_or_else(|| clean(symbol));
        shorten(&name).replace(';', ":")
    }

    fn demangle(&mut self, symbol: &[u8]) -> Option<String> {
        if !symbol.starts_with(b"_Z") || self.used > MAX_SECONDS {
            return None;
        }
        let before = clock::own_cpu();
        let name = demangle(symbol, MAX_DEPTH).or_else(|| {
            let is_clear = count_ambiguous(symbol) <= MAX_AMBIGUOUS;
            is_clear.then(|| demangle(symbol, MAX_CLEAR_DEPTH))?
        });
        self.used += clock::own_cpu() - before;
        name
    }
}

/// Returns the number of parts of a symbol that the parser may read twice: the template arguments
/// after a conversion operator belong to its type or to the operator (`cv`), and the literal of a
/// template argument (`L`) begins with a type, which can have template arguments itself.
fn count_ambiguous(symbol: &[u8]) -> usize {
    let parts = symbol.windows(3);
    let is_ambiguous = |part: &&[u8]| {
        part.starts_with(b"cv") || (part.starts_with(b"IL") && !part[2].is_ascii_lowercase())
    };
    parts.filter(is_ambiguous).count()
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

fn demangle(symbol: &[u8], depth: u32) -> Option<String> {
    let options = ParseOptions::default().recursion_limit(depth);
    let parsed = BorrowedSymbol::new_with_options(symbol, &options).ok()?;
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
            assert_eq!(Names::default().from_symbol(symbol.as_bytes()), expected);
        }
    }

    #[test]
    fn a_symbol_whose_name_would_be_huge_is_cut() {
        let long = format!("_Z{}{}", 3000, "x".repeat(3000));
        assert_eq!(
            Names::default().from_symbol(long.as_bytes()).len(),
            MAX_NAME
        );
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
        let name = Names::default().from_symbol(symbol.as_bytes());
        assert!(name.starts_with("g<a<int, int>, a<a<int, int>, "), "{name}");
        assert_eq!(name.len(), MAX_NAME);
    }

    /// Shapes of symbols for which the time of the parser doubles with each repetition.
    const EXPONENTIAL: [&str; 8] = [
        "cvT_I", "cvRT_I", "cvOT_I", "cvPT_I", "cvSt1aI", "cvS_I", "1aIL", "cvFvT_I",
    ];

    #[test]
    fn symbols_that_take_exponential_time_are_given_up_early() {
        // One of them takes the parser minutes if only its own limit bounds the depth.
        let before = clock::own_cpu();
        for shape in EXPONENTIAL {
            for count in 1..100 {
                for start in ["_Z", "_ZN", "_Z1fI", "_ZN1aI1bE"] {
                    let symbol = format!("{start}{}", shape.repeat(count));
                    assert!(!Names::default().from_symbol(symbol.as_bytes()).is_empty());
                }
            }
        }
        assert!(clock::own_cpu() - before < 60.0);
    }

    #[test]
    fn the_names_of_a_profile_have_a_limit_of_their_time() {
        let mut names = Names::default();
        let symbol = b"_ZN1a1bEv";
        assert_eq!(names.from_symbol(symbol), "a::b");
        names.used = MAX_SECONDS + 1.0;
        assert_eq!(names.from_symbol(symbol), "_ZN1a1bEv");
    }

    #[test]
    fn a_symbol_with_deep_templates_is_named() {
        let symbol = format!("_Z1fI{}i{}vv", "1aI".repeat(14), "E".repeat(15));
        let name = Names::default().from_symbol(symbol.as_bytes());
        assert!(name.starts_with("f<a<a<a<a<a<a<a<"), "{name}");
        // The names of OpenCV contain the letters of a conversion operator.
        let symbol = format!("_Z1fI{}i{}vv", "N2cv3MatI".repeat(4), "EE".repeat(4) + "E");
        let name = Names::default().from_symbol(symbol.as_bytes());
        assert!(name.starts_with("f<cv::Mat<cv::Mat<"), "{name}");
    }

    proptest! {
        #[test]
        fn mixtures_of_exponential_shapes_are_given_up_early(
            parts in prop::collection::vec((0..8_usize, 1..6_usize), 1..30),
        ) {
            let parts = parts.iter().map(|(shape, count)| EXPONENTIAL[*shape].repeat(*count));
            let symbol = format!("_Z{}", parts.collect::<String>());
            let before = clock::own_cpu();
            prop_assert!(Names::default().from_symbol(symbol.as_bytes()).len() <= MAX_NAME);
            prop_assert!(clock::own_cpu() - before < 10.0);
        }

        #[test]
        fn any_symbol_has_a_short_name(symbol in prop::collection::vec(any::<u8>(), 0..600)) {
            for symbol in [symbol.clone(), [b"_Z".as_slice(), &symbol].concat()] {
                let name = Names::default().from_symbol(&symbol);
                prop_assert!(name.len() <= MAX_NAME && !name.contains(';'));
            }
        }
    }
}
