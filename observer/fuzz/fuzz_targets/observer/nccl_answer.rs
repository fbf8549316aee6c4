//! Fuzzes the parsers of the answers of NCCL's RAS service. Any process of the pod can listen in
//! its place.

use ridealong_observer::metrics::nccl_ras::answer::{Answer, Format, MAX_RANKS};
use ridealong_observer::metrics::nccl_ras::exchange::Receiver;
use ridealong_observer::metrics::nccl_ras::{json, text};

fn check(answer: &Answer) {
    let ranks = answer.communicators.iter().map(|it| it.ranks.len());
    assert!(ranks.sum::<usize>() <= MAX_RANKS);
    for communicator in &answer.communicators {
        let _ = communicator.main_operation();
        for rank in &communicator.ranks {
            assert_eq!(
                rank.behind(&communicator.most).is_some(),
                rank.counts.is_some()
            );
        }
    }
}

pub fn run(data: &[u8]) {
    if let Ok(answer) = json::parse(data) {
        check(&answer);
    }
    // These lines are too long to be found by chance.
    for lines in [
        "",
        "Communicators... (0.00s)\n",
        "Communicators... (0.00s)\n#0-0 (1) MISMATCH\n  Communicator ranks have different \
         AllReduce operation counts\n  ",
        "Communicators... (0.00s)\n#0-0 (1) INCOMPLETE\n  The missing ranks: ",
    ] {
        if let Ok(answer) = text::parse(&[lines.as_bytes(), data].concat()) {
            check(&answer);
        }
    }
    for format in [Format::Json, Format::Text] {
        let mut receiver = Receiver::new(format);
        if receiver.take(data).is_ok() {
            let _ = receiver.finish();
        }
    }
}
