//! Fuzzes the reader of the memory that the recorder shares with the observer, which a process can
//! change while it is read, and its rows.

use std::cell::Cell;

use linux::read_at::ReadAt;
use ridealong_observer::metrics::mpi_trace::open_calls::{is_of, read};
use ridealong_observer::metrics::mpi_trace::open_rows::{Member, OpenRows, process_state};

/// The bytes of the memory before the names, and some names.
const SIZE: usize = 8192;

/// Memory that has other contents each time that it is read: the parts of the input, in turns.
struct Changing {
    versions: [Vec<u8>; 2],
    readings: Cell<usize>,
}

impl ReadAt for Changing {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let number = self.readings.get();
        self.readings.set(number + 1);
        // Two readings in a row have the same contents, so that threads are read.
        self.versions[number / 2 % 2]
            .as_slice()
            .read_at(offset, buffer)
    }
}

fn version(data: &[u8]) -> Vec<u8> {
    let mut memory = data.to_vec();
    memory.resize(SIZE, 0);
    memory[..8].copy_from_slice(b"RLMPO\0\0\x02");
    memory
}

pub fn run(data: &[u8]) {
    let (first, second) = data.split_at(data.len() / 2);
    let memory = Changing {
        versions: [version(first), version(second)],
        readings: Cell::new(0),
    };
    let _ = is_of(&memory, 1);
    let Some(calls) = read(&memory) else {
        return;
    };
    let member = Member {
        rank: 0,
        size: 2,
        job: String::new(),
    };
    let rows = OpenRows {
        time: "",
        calls: &calls,
        pid: 1,
        member: &member,
        elapsed: 1,
        state: process_state(data.first().copied().unwrap_or(0)),
        cpu: None,
        tail: b"}",
    };
    let lines = [rows.threads(), rows.communicators()];
    assert!(lines.iter().flatten().count() <= 40);
    assert!(lines.iter().flatten().all(|line| line.len() < 1024));
}
