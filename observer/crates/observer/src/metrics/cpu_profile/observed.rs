//! The processes that were observed, and the profiles that they wrote.

use encode::number::float;

use super::maps::Mapping;
use crate::sampling::containers::ContainerId;
use crate::sampling::process::Process;

/// The seconds until the mappings of a process are read again: at first, and at most. Libraries can
/// be loaded later; the interval doubles.
const FIRST_INTERVAL: f64 = 1.0;
const MAX_INTERVAL: f64 = 60.0;

/// The library of the profiler.
const PROFILER: &[u8] = b"/libprofiler.so.0";

/// A process that was observed.
pub struct Observed {
    /// The process id in the pod.
    pub pid: i32,
    /// The process id that the process itself sees, which is another one in a PID namespace of its
    /// own (`unshare --pid`, containers in the container).
    pub inner_pid: i32,
    /// The container.
    pub container: Option<ContainerId>,
    /// The attempt of the container.
    pub attempt: u32,
    /// The program.
    pub program: String,
    /// The address of the stack, which changes when the process executes another program.
    pub stack: u64,
    /// The code of the process.
    pub mappings: Vec<Mapping>,
    /// When the mappings are read again, in seconds since boot, and the interval after that.
    pub due: f64,
    /// See `due`.
    pub interval: f64,
    /// The processor time at the last scan, in seconds.
    pub cpu: f64,
    /// When the process started, in seconds since boot.
    pub started: f64,
    /// Whether a profile of the process was found.
    pub is_profiled: bool,
}

impl Observed {
    /// Creates the state of a process that a scan has found at the time `now`, in seconds since
    /// boot. `ticks` is the number of clock ticks in a second.
    pub fn new(process: &Process, ticks: f64, now: f64) -> Self {
        Self {
            pid: process.pid,
            inner_pid: process.pid,
            container: process.container,
            attempt: process.attempt,
            program: String::new(),
            stack: process.stack,
            mappings: Vec::new(),
            due: now,
            interval: FIRST_INTERVAL,
            cpu: 0.0,
            started: float(process.start) / ticks,
            is_profiled: false,
        }
    }

    /// Updates the program. The mappings of a new program are read at once.
    pub fn update_program(&mut self, process: &Process, now: f64) {
        let program = process.program.as_deref().unwrap_or_default();
        if self.program != program || self.stack != process.stack {
            program.clone_into(&mut self.program);
            self.stack = process.stack;
            self.due = now;
            self.interval = FIRST_INTERVAL;
        }
    }

    /// Plans the next reading of the mappings.
    pub fn plan_next(&mut self, now: f64) {
        self.due = now + self.interval;
        self.interval = (self.interval * 2.0).min(MAX_INTERVAL);
    }

    /// Whether the profiler was loaded.
    pub fn has_profiler(&self) -> bool {
        self.mappings
            .iter()
            .any(|mapping| mapping.path.ends_with(PROFILER))
    }

    /// Returns the number of files that are mapped as in a profile, and the number of all. Two
    /// processes with the same id in different namespaces have their libraries at different
    /// addresses, but some mappings without a file, and some programs, are always at the same one.
    fn count_common(&self, mappings: &[Mapping]) -> (usize, usize) {
        let files = self.mappings.iter();
        let files = files.filter(|mapping| mapping.path.starts_with(b"/"));
        let is_common = |mapping: &&Mapping| {
            let at = mappings.binary_search_by_key(&mapping.start, |other| other.start);
            at.is_ok_and(|at| mappings[at].path == mapping.path)
        };
        (files.clone().filter(is_common).count(), files.count())
    }
}

/// Whether a process has this id, in the pod or in its own namespace, and most files of the process
/// are mapped as in the profile.
pub fn is_writer(process: &Observed, pid: i32, mappings: &[Mapping]) -> bool {
    let has_id = process.pid == pid || process.inner_pid == pid;
    let (common, all) = process.count_common(mappings);
    has_id && common > all / 2
}

/// Returns the position of the process that wrote a profile: the process with this id whose
/// mappings are most like those of the profile, and of several such processes the last. A process
/// that has the id only in its own namespace must be its writer for certain.
pub fn find(ended: &[Observed], pid: i32, mappings: &[Mapping]) -> Option<usize> {
    let candidates = ended.iter().enumerate().filter_map(|(at, process)| {
        let may_be = process.pid == pid || is_writer(process, pid, mappings);
        may_be.then(|| (process.count_common(mappings).0, at))
    });
    candidates.max().map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::cpu_profile::maps::parse_all;

    fn process(pid: i32, inner_pid: i32, maps: &str) -> Observed {
        Observed {
            pid,
            inner_pid,
            container: None,
            attempt: 1,
            program: String::new(),
            stack: 0,
            mappings: parse_all(maps.as_bytes()),
            due: 0.0,
            interval: 1.0,
            cpu: 0.0,
            started: 0.0,
            is_profiled: false,
        }
    }

    #[test]
    fn a_profile_belongs_to_the_process_with_its_id_and_its_mappings() {
        // The program is at the same address in both.
        let (one, two) = (
            "1-2 r-xp 0 0:0 0 /p\n10-20 r-xp 0 0:0 0 /a\n50-60 r-xp 0 0:0 0 /b\nf0-f8 --xp 0 0:0 0 [v]",
            "1-2 r-xp 0 0:0 0 /p\n30-40 r-xp 0 0:0 0 /a\n70-80 r-xp 0 0:0 0 /b\nf0-f8 --xp 0 0:0 0 [v]",
        );
        let ended = [
            process(62, 62, "50-60 r-xp 0 0:0 0 /other"),
            process(168, 62, one),
            process(169, 62, two),
            process(7, 7, one),
        ];
        let find = |pid, maps: &str| find(&ended, pid, &parse_all(maps.as_bytes()));
        assert_eq!(find(62, one), Some(1));
        assert_eq!(find(62, two), Some(2));
        assert_eq!(find(62, ""), Some(0));
        assert_eq!(find(7, two), Some(3));
        assert_eq!(find(8, one), None);
        let is_writer = |at: usize| is_writer(&ended[at], 62, &parse_all(one.as_bytes()));
        assert_eq!([0, 1, 2, 3].map(is_writer), [false, true, false, false]);
    }
}
