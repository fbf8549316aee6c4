//! The raw files of tools, in the log: `collect --output artifacts` makes files of them again. The
//! volume of the files is gone when the pod has ended, and the log is not.
//!
//! A file is compressed (gzip), encoded (base64), and split into lines. Files are read in pieces,
//! so that their size does not matter for the memory of the observer.

pub mod compress;
pub mod line;
#[cfg(test)]
mod noise;
pub mod writer;
