//! One program has all targets of a crate.

use std::sync::LazyLock;

/// The name of a target, and the function that is called with each input.
pub type Target = (&'static str, fn(&[u8]));

static NAME: LazyLock<String> = LazyLock::new(|| std::env::var("FUZZ_TARGET").unwrap());

/// Calls the target with the name in the variable `FUZZ_TARGET`.
pub fn run(targets: &[Target], data: &[u8]) {
    let target = targets.iter().find(|(name, _)| *name == NAME.as_str());
    target.expect("FUZZ_TARGET is the name of a target").1(data);
}
