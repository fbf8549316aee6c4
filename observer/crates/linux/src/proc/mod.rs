//! Files of `/proc`: a reader, and a parser for each kind of file.
//!
//! Every parser takes the bytes of one file, or of one line. For bytes the kernel never writes,
//! the parser returns `None` or skips the line. No parser panics on any input, and each parser has
//! a fuzz target.

pub mod cgroup;
pub mod cmdline;
pub mod cpu_list;
pub mod diskstats;
pub mod drm;
pub mod fd;
pub mod files;
pub mod io;
pub mod maps;
pub mod meminfo;
pub mod mountinfo;
pub mod net_dev;
pub mod net_snmp;
pub mod numa_maps;
pub mod sched;
pub mod schedstat;
pub mod smaps_rollup;
pub mod sockstat;
pub mod stat;
pub mod status;
pub mod syscall;
pub mod task_state;
pub mod timers;
pub mod words;
