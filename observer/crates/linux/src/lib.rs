//! What the kernel says, and nothing of the observers: its clocks and signals, the texts of /proc
//! and of cgroups, the NUMA nodes, and the sockets of a network namespace (`sock_diag`).

pub mod cgroup;
pub mod clock;
pub mod proc;
pub mod read_at;
pub mod signals;
pub mod sock_diag;
pub mod stderr;
pub mod topology;
