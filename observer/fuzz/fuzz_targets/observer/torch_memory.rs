//! Fuzzes the reader of the memory of the recorder of `PyTorch`'s collectives, and its rows.

use ridealong_observer::metrics::torch_collectives::dump::parse;
use ridealong_observer::metrics::torch_collectives::memory::{HEADER, MAGIC, SLOT, read};
use ridealong_observer::metrics::torch_collectives::rows::TorchRows;

use crate::memory::Memory;

pub fn run(data: &[u8]) {
    let (header, text) = data.split_at(data.len().min(HEADER - MAGIC.len()));
    // The header, and the beginnings of both copies.
    let memory = Memory([
        (MAGIC.len(), header),
        (0, MAGIC),
        (HEADER, text),
        (HEADER + SLOT, text),
    ]);
    let Some((head, copy)) = read(&memory) else {
        return;
    };
    // In the memory, zeros follow the text, which are not valid JSON. So the text without them is
    // parsed as well.
    for text in [&copy[..], text] {
        let Some(dump) = parse(text) else { continue };
        let rows = TorchRows {
            time: "T",
            pid: 1,
            tail: b"}",
            has_ended: true,
            head: &head,
        };
        let _ = (rows.process(), rows.groups(&dump));
        let _ = dump
            .collectives
            .iter()
            .map(|call| rows.collective(call))
            .count();
    }
}
