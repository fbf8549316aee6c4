//! What the node and its kernel are, as far as numbers depend on it.

use nix::unistd::{SysconfVar, sysconf};

use crate::number::float;
use crate::proc::files::Files;
use crate::proc::meminfo;

/// What was found out once, at the start.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Clock ticks in a second.
    pub ticks: f64,
    /// Memory of the node in KiB.
    pub memory: u64,
    /// Whether the size of a folder `fd` says how many files are open (Linux 6.2 and later).
    pub has_size_of_fd: bool,
    /// Whether the kernel counts how long tasks wait for block I/O. It does not unless it is asked
    /// to (`kernel.task_delayacct`), and its counter is zero then. Kernels before 5.14 have no such
    /// question and count.
    pub has_delays: bool,
}

impl Machine {
    /// Finds it out. `None` where `/proc` cannot be read.
    pub fn find(files: &mut Files) -> Option<Self> {
        let memory = meminfo::parse_total(files.read_whole("meminfo").ok()?)?;
        let delays = files
            .read_whole("sys/kernel/task_delayacct")
            .map(|text| text.first().copied());
        Some(Self {
            ticks: sysconf(SysconfVar::CLK_TCK)
                .ok()
                .flatten()
                .and_then(|ticks| u64::try_from(ticks).ok())
                .map_or(100.0, float),
            memory,
            has_size_of_fd: files.has_size_of_fd(),
            has_delays: delays.map_or(true, |first| first.is_none_or(|digit| digit == b'1')),
        })
    }
}
