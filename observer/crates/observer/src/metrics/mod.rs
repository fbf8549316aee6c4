//! The metrics of the program. Each has a folder.

pub mod cpu_profile;
pub mod io_sysstat;
pub mod mpi_trace;
pub mod network;
pub mod perf_sysstat;
pub mod pressure;
