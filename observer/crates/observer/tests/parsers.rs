//! Properties of the parsers of the metrics: no input makes a parser panic.

use linux::proc::cmdline;
use proptest::prelude::*;
use ridealong_observer::metrics::io_sysstat::document;
use ridealong_observer::sampling::program;

/// Text that resembles a command line or the lines of /proc/diskstats.
fn like_words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "(sda|-|--|-c|-m|python3|sshd:|/usr/bin/lmp|\\(|\\[)".prop_map(String::into_bytes),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..5),
    ];
    let separator = "[ \n\t\0]?".prop_map(String::into_bytes);
    prop::collection::vec((word, separator), 0..80).prop_map(|parts| {
        let parts = parts.into_iter().map(|(word, end)| [word, end].concat());
        parts.collect::<Vec<_>>().concat()
    })
}

proptest! {
    #[test]
    fn no_parser_panics(text in like_words()) {
        let _ = program::name(&cmdline::parse(&text), b"comm", None);
        let _ = document::devices(&text);
    }
}
