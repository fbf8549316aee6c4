//! Reads parts of a file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// A file, or its bytes.
pub trait ReadAt {
    /// Reads bytes at an offset, and returns the number of bytes that were read. There are fewer
    /// than requested at the end of the file, and none after an error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize;
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut length = 0;
        while length < buffer.len() {
            match FileExt::read_at(self, &mut buffer[length..], offset + length as u64) {
                Ok(count) if count > 0 => length += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        length
    }
}

impl<T: ReadAt> ReadAt for Rc<T> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        T::read_at(self, offset, buffer)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let from = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let count = buffer.len().min(self.len() - from);
        buffer[..count].copy_from_slice(&self[from..from + count]);
        count
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
        self.as_slice().read_at(offset, buffer)
    }
}
