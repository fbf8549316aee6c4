//! The properties of the node and its kernel that are needed to compute rows.

use encode::number::float;
use linux::proc::files::Files;
use linux::proc::meminfo;
use nix::unistd::{SysconfVar, sysconf};

/// The properties, detected once at the start.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Clock ticks per second.
    pub ticks: f64,
    /// Memory of the node in KiB.
    pub memory: u64,
    /// Whether the size of a directory `fd` is the number of open files (Linux 6.2 and later).
    pub has_size_of_fd: bool,
    /// Whether the kernel measures the time that tasks wait for block I/O. Since Linux 5.14, the
    /// kernel measures this time only with `kernel.task_delayacct=1`, and otherwise reports 0.
    /// Earlier kernels always measure it.
    pub has_delays: bool,
}

impl Machine {
    /// Detects the properties. `None` if `/proc/meminfo` cannot be read.
    pub fn detect(files: &mut Files) -> Option<Self> {
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
