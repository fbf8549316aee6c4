//! Properties of the parsers of the metrics: no input makes a parser panic.

use linux::proc::cmdline;
use proptest::prelude::*;
use ridealong_observer::metrics::io_sysstat::document;
use ridealong_observer::metrics::nccl_ras::answer::{Answer, MAX_RANKS};
use ridealong_observer::metrics::nccl_ras::{json, text};
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

/// An answer of NCCL's RAS service, in which parts are cut out, doubled or replaced.
fn like_answer(answer: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let at = 0..answer.len();
    let other = prop::collection::vec(any::<u8>(), 0..4);
    let number = any::<u64>().prop_map(|number| number.to_string().into_bytes());
    let edit = (at.clone(), at, prop_oneof![other, number]);
    prop::collection::vec(edit, 0..6).prop_map(|edits| {
        let mut bytes = answer.to_vec();
        for (from, to, new) in edits {
            let to = to.min(bytes.len());
            bytes.splice(from.min(to)..to.min(from + 20), new);
        }
        bytes
    })
}

/// Checks what is true of any answer that is read.
fn check_answer(answer: &Answer) {
    let ranks = answer.communicators.iter().map(|it| it.ranks.len());
    assert!(ranks.sum::<usize>() <= MAX_RANKS);
    for communicator in &answer.communicators {
        for rank in &communicator.ranks {
            let counts = rank.counts();
            let gap = rank.behind(&communicator.most);
            assert_eq!(gap.is_some(), rank.counts.is_some());
            assert!(counts.count() <= 16);
        }
    }
}

proptest! {
    #[test]
    fn any_answer_of_nccl_is_read_or_refused(
        json_text in like_answer(include_bytes!("nccl-answers/documented-json.txt")),
        older in like_answer(include_bytes!("nccl-answers/mismatch-2.24.txt")),
        newer in like_answer(include_bytes!("nccl-answers/mismatch-2.28.txt")),
    ) {
        let answers = [json::parse(&json_text), text::parse(&older), text::parse(&newer)];
        for answer in answers.iter().flatten() {
            check_answer(answer);
        }
    }

    #[test]
    fn no_parser_panics(text in like_words()) {
        let _ = program::name(&cmdline::parse(&text), b"comm", None);
        let _ = document::devices(&text);
    }
}
