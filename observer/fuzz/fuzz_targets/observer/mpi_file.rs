//! Fuzzes the reader of the recorder's files, and their rows.

use ridealong_observer::metrics::mpi_trace::file::{HEADER, ROWS_AT, read, seal};
use ridealong_observer::metrics::mpi_trace::rows::ProcessRows;

/// More than the bytes of the file's header and communicators.
const SIZE: usize = 140_000;

pub fn run(data: &[u8]) {
    let mut file = data.to_vec();
    file.resize(SIZE, 0);
    // The bytes after the header of the input are the first rows.
    if let Some(rows) = data.get(HEADER..) {
        let end = SIZE.min(ROWS_AT + rows.len());
        file[ROWS_AT..end].copy_from_slice(&rows[..end - ROWS_AT]);
    }
    seal(&mut file);
    if let Some(trace) = read(file.as_slice()) {
        let rows = ProcessRows {
            time: "",
            trace: &trace,
            pid: Some(1),
            has_ended: true,
            tail: b"}",
        };
        let _ = rows.rank();
        let lines = [rows.calls(), rows.communicators(), rows.blocks()];
        assert!(lines.iter().all(|lines| lines.len() <= 1024));
    }
}
