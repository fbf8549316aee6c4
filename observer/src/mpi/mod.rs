//! Reads the files that the recorder of MPI calls (observer/mpi) writes, and makes rows of them.
//!
//! Any process of the target can write anything into these files. The reader therefore has bounded
//! memory and time, and a fuzz target.

pub mod file;
pub mod rows;
pub mod writer;
