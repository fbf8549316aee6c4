//! The files of a container's cgroups, of both versions (cgroups(7), and in Linux's documentation
//! admin-guide/cgroup-v1 and admin-guide/cgroup-v2): a parser for each format, the directory in
//! which the files are, and a reader.
//!
//! As in [`crate::proc`], no parser panics on any input, and each has a fuzz target.

pub mod cpu_limit;
pub mod cpu_stat;
pub mod flat_keyed;
pub mod limit;
pub mod location;
pub mod reader;
pub mod stall;
