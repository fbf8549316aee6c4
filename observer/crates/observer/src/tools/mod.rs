//! The tools that metrics load into the processes of the target: their installation, the files that
//! they write, and the copies of these files in the log.

pub mod artifacts;
pub mod earlier;
pub mod folder;
pub mod foreign;
pub mod install;
pub mod json;
pub mod observed;
pub mod results;
pub mod shared_memory;
pub mod words;
