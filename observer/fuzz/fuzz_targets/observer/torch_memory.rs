//! Fuzzes the reader of the memory of the recorder of `PyTorch`'s collectives, and its rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::read_at::ReadAt;
use ridealong_observer::metrics::torch_collectives::dump::parse;
use ridealong_observer::metrics::torch_collectives::memory::{HEADER, MAGIC, SLOT, read};
use ridealong_observer::metrics::torch_collectives::rows::TorchRows;

/// The memory, of which most is 0: the header, and the beginnings of both copies.
struct Memory<'a>([(usize, &'a [u8]); 4]);

impl ReadAt for Memory<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let from = usize::try_from(offset).unwrap();
        buffer.fill(0);
        for (at, bytes) in self.0 {
            let begin = at.max(from);
            let end = (at + bytes.len()).min(from + buffer.len());
            if begin < end {
                buffer[begin - from..end - from].copy_from_slice(&bytes[begin - at..end - at]);
            }
        }
        buffer.len()
    }
}

fuzz_target!(|data: &[u8]| {
    let (header, text) = data.split_at(data.len().min(HEADER - MAGIC.len()));
    let memory = Memory([
        (MAGIC.len(), header),
        (0, MAGIC),
        (HEADER, text),
        (HEADER + SLOT, text),
    ]);
    let Some((head, copy)) = read(&memory) else {
        return;
    };
    // The zeros after the text are no JSON, so it is also parsed alone.
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
        let _ = dump.collectives.iter().map(|call| rows.collective(call)).count();
    }
});
