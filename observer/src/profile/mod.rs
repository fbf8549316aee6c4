//! Profiles of gperftools' CPU profiler: a reader of their files, of the symbols of ELF files, and
//! of the folder in which the processes write their profiles.
//!
//! Any process of the target can write anything there. Every reader therefore has bounded memory
//! and time, and a fuzz target.

pub mod binaries;
pub mod elf;
pub mod functions;
pub mod maps;
pub mod names;
pub mod observed;
pub mod paths;
pub mod records;
pub mod results;
pub mod rows;
pub mod tally;
pub mod time;
pub mod totals;
