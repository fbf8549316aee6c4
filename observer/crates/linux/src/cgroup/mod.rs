//! Reads the files of a container's cgroups, of version 1 and version 2 (cgroups(7), and in Linux's
//! documentation admin-guide/cgroup-v1 and admin-guide/cgroup-v2): a parser for each format, a
//! search for the directories of the files, and a reader of all values.
//!
//! As in [`crate::proc`], no parser panics on any input, and each parser has a fuzz target.

pub mod cpu_limit;
pub mod cpu_stat;
pub mod flat_keyed;
pub mod headroom;
pub mod limit;
pub mod location;
pub mod reader;
pub mod stall;
pub mod usage_files;
