//! The results of an earlier attempt. The volume of the results outlives the containers of its pod:
//! when the kubelet starts the containers again, the files of the processes that it has killed are
//! still there. They belong to the log of the observer of that attempt, which ended with them.

use std::fs::File;

use encode::number::float;
use linux::clock;
use linux::proc::files::Task;
use linux::proc::stat;
use linux::read_at::ReadAt as _;

use super::results::{MAX_TARGET_START, ResultName, Results, TARGET_START};
use crate::sampling::process_table::ProcessTable;

/// The starts of containers, in ticks since boot. That of a container is the start of its first
/// process, which lives as long as the container.
#[derive(Clone, Copy, Debug)]
struct Starts {
    /// The start of the target; `None` if none of its processes is known.
    target: Option<u64>,
    /// Its last start that an observer has recorded.
    recorded: Option<u64>,
    observer: u64,
}

/// Reads the last start of the target that an observer has recorded, in ticks since boot.
pub(super) fn read_start(results: &Results) -> Option<u64> {
    let mut text = [0; MAX_TARGET_START];
    let count = results.open_named(TARGET_START)?.read_at(0, &mut text);
    std::str::from_utf8(&text[..count]).ok()?.parse().ok()
}

/// Records the last start of the target. Without it, an observer that is started after the end of
/// the target takes no results for those of the last attempt.
pub(super) fn record_start(results: &Results, start: Option<u64>) {
    if let Some(start) = start {
        results.replace(TARGET_START, &start.to_string());
    }
}

/// The files that can be of an earlier attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    /// All that were there before the observer.
    All,
    /// Those of processes that recorded before the target started.
    BeforeTarget(u64),
    None,
}

impl Starts {
    fn read(table: &mut ProcessTable, recorded: Option<u64>) -> Option<Self> {
        let own = Task::Process(i32::try_from(std::process::id()).ok()?);
        let text = table.meter.files.read(own, "stat").ok()?;
        let observer = stat::parse(text)?.start;
        Some(Self {
            target: table.containers.target_start(),
            recorded,
            observer,
        })
    }

    /// Returns which of the files that were there before the observer are of an earlier attempt.
    /// `comes_first` says that the pod starts the observer before the target. If the target has run
    /// longer than the observer nevertheless, only the observer was started again, and files can be
    /// of the same attempt. Without a target, it has ended before the observer started, or has not
    /// started again: the files of its last attempt are those since its recorded start. An observer
    /// that comes second may miss all of a short program.
    fn earlier(self, comes_first: bool) -> Earlier {
        match self.target {
            Some(target) if target >= self.observer => Earlier::All,
            Some(target) => Earlier::BeforeTarget(target),
            None if comes_first => self.recorded.map_or(Earlier::All, Earlier::BeforeTarget),
            None => Earlier::None,
        }
    }
}

/// Returns which of the files that were there before the observer are of an earlier attempt.
/// `recorded` is the last start of the target that an observer has recorded, in ticks since boot,
/// and `recorded_at` reads when the process of a file recorded, in nanoseconds since boot.
pub(super) fn find(
    results: &Results,
    (before, recorded): (Vec<ResultName>, Option<u64>),
    table: &mut ProcessTable,
    comes_first: bool,
    recorded_at: impl Fn(&File) -> Option<u64>,
) -> Vec<ResultName> {
    let starts = Starts::read(table, recorded);
    let earlier = starts.map_or(Earlier::None, |starts| starts.earlier(comes_first));
    let start = match earlier {
        Earlier::All => return before,
        Earlier::None => return Vec::new(),
        Earlier::BeforeTarget(start) => float(start) / table.meter.machine.ticks,
    };
    let is_earlier = |name: &ResultName| {
        let file = results.open_result(*name);
        file.is_some_and(|file| is_before(start, recorded_at(&file), &file))
    };
    before.into_iter().filter(is_earlier).collect()
}

/// Whether the process of a file recorded before the target started, at `start` in seconds since
/// boot. A time in the future is of an earlier boot of the node. Only a file that does not say when
/// its process recorded is judged by when it was last written: this time is wrong after the clock
/// of the node was set.
fn is_before(start: f64, recorded_at: Option<u64>, file: &File) -> bool {
    let now = clock::since_boot();
    if let Some(at) = recorded_at {
        let at = float(at) / 1e9;
        return at < start || at > now;
    }
    last_change(file).is_some_and(|at| float(at) / 1e9 < start)
}

/// Returns when a file was last written, in nanoseconds since boot, by the clock of the node.
/// `None` if that is in the future.
pub fn last_change(file: &File) -> Option<u64> {
    let written = file.metadata().and_then(|facts| facts.modified()).ok()?;
    let age = u64::try_from(written.elapsed().ok()?.as_nanos()).ok()?;
    Some(clock::boot_nanoseconds().saturating_sub(age))
}

/// Returns a count with its noun, such as `1 process` or `2 processes`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_starts_of_the_containers_tell_attempts_apart() {
        let earlier = |target, observer, comes_first| {
            let recorded = None;
            Starts {
                target,
                recorded,
                observer,
            }
            .earlier(comes_first)
        };
        for comes_first in [true, false] {
            assert_eq!(earlier(Some(500), 400, comes_first), Earlier::All);
            let target = Earlier::BeforeTarget(300);
            assert_eq!(earlier(Some(300), 400, comes_first), target);
        }
        assert_eq!(earlier(None, 400, true), Earlier::All);
        assert_eq!(earlier(None, 400, false), Earlier::None);
        let ended = Starts {
            target: None,
            recorded: Some(300),
            observer: 400,
        };
        assert_eq!(ended.earlier(true), Earlier::BeforeTarget(300));
        assert_eq!(ended.earlier(false), Earlier::None);
    }

    #[test]
    fn the_process_of_an_earlier_file_recorded_before_the_target_started() {
        let now = clock::since_boot();
        let start = now / 2.0;
        let path = std::env::temp_dir().join(format!("ridealong-earlier-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        // The clock was set since the file was written.
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        for (at, expected) in [
            (0.0, true),
            (start - 0.1, true),
            (start + 0.1, false),
            (now + 60.0, true),
        ] {
            let at = Duration::from_secs_f64(at).as_nanos();
            let at = u64::try_from(at).unwrap();
            assert_eq!(is_before(start, Some(at), &file), expected, "{at} {start}");
        }
        assert!(is_before(start, None, &file));
        file.set_modified(SystemTime::now()).unwrap();
        assert!(!is_before(start, None, &file));
        file.set_modified(SystemTime::now() + Duration::from_mins(1))
            .unwrap();
        assert!(!is_before(start, None, &file));
        std::fs::remove_file(&path).unwrap();
    }
}
