//! Fuzzes the reader of the memory of the sampler, and the sums of its samples.

use ridealong_observer::metrics::python_profile::memory::{
    FRAMES_AT, NODES_AT, ROOTS, TEXTS_AT, read,
};
use ridealong_observer::metrics::python_profile::rows::ProfileRows;
use ridealong_observer::metrics::python_profile::tally;

use crate::memory::Memory;

/// Without a valid beginning, nothing else is read.
const MAGIC: &[u8] = b"RLPYT\0\0\x01";

pub fn run(data: &[u8]) {
    // The lengths of the parts are part of the input.
    let (lengths, mut rest) = data.split_at(data.len().min(3));
    let mut take = |length: usize| {
        let (part, others) = rest.split_at(length.min(rest.len()));
        rest = others;
        part
    };
    let length = |at: usize| usize::from(lengths.get(at).copied().unwrap_or(0));
    let header = take(8 + 4 * length(0));
    let frames = take(8 * length(1));
    let nodes = take(40 * length(2));
    // The header with the threads, the frames, the nodes, and the texts.
    let memory = Memory([
        (
            MAGIC.len(),
            &header[..header.len().min(FRAMES_AT - MAGIC.len())],
        ),
        (0, MAGIC),
        (FRAMES_AT, frames),
        (NODES_AT, nodes),
        (TEXTS_AT, rest),
    ]);
    let Some(profile) = read(&memory) else { return };
    let rows = ProfileRows {
        time: "T",
        pid: 1,
        tail: b"}",
        has_ended: true,
        profile: &profile,
    };
    let _ = (rows.process(), rows.now(0));
    let _ = (rows.functions(1 << 20), rows.stacks(1 << 20));
    for root in 0..ROOTS {
        let _ = tally::functions(&profile, root as usize).count();
    }
}
