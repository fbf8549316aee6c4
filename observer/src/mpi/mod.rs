//! The files of the recorder of MPI calls (observer/mpi): a reader, and their rows.
//!
//! Any process of the target can write anything there. The reader therefore has bounded memory and
//! time, and a fuzz target.

pub mod file;
pub mod rows;
