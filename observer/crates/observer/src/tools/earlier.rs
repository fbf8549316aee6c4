//! The results of an earlier attempt. The volume of the results outlives the containers of its pod:
//! when the kubelet starts the containers again, the files of the processes that it has killed are
//! still there. They belong to the log of the observer of that attempt, which ended with them.

use std::time::Duration;

use encode::number::float;
use linux::clock;
use linux::proc::files::Task;
use linux::proc::stat;

use super::results::{ResultName, Results};
use crate::sampling::process_table::ProcessTable;

/// The starts of containers, in ticks since boot. That of a container is the start of its first
/// process, which lives as long as the container.
#[derive(Clone, Copy, Debug)]
struct Starts {
    /// The start of the target; `None` if none of its processes is known.
    target: Option<u64>,
    observer: u64,
}

/// The files that can be of an earlier attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    /// All that were there before the observer.
    All,
    /// Those that were last written before the target started.
    BeforeTarget(u64),
    None,
}

impl Starts {
    fn read(table: &mut ProcessTable) -> Option<Self> {
        let own = Task::Process(i32::try_from(std::process::id()).ok()?);
        let text = table.meter.files.read(own, "stat").ok()?;
        let observer = stat::parse(text)?.start;
        Some(Self {
            target: table.target_start(),
            observer,
        })
    }

    /// Returns which of the files that were there before the observer are of an earlier attempt.
    /// `comes_first` says that the pod starts the observer before the target. If the target has run
    /// longer than the observer nevertheless, only the observer was started again, and files can be
    /// of the same attempt. An observer that comes second may miss all of a short program.
    fn earlier(self, comes_first: bool) -> Earlier {
        match self.target {
            Some(target) if target >= self.observer => Earlier::All,
            Some(target) => Earlier::BeforeTarget(target),
            None if comes_first => Earlier::All,
            None => Earlier::None,
        }
    }
}

/// Returns which of the files that were there before the observer are of an earlier attempt.
pub(super) fn find(
    results: &Results,
    before: Vec<ResultName>,
    table: &mut ProcessTable,
    comes_first: bool,
) -> Vec<ResultName> {
    let starts = Starts::read(table);
    let earlier = starts.map_or(Earlier::None, |starts| starts.earlier(comes_first));
    let oldest = match earlier {
        Earlier::All => return before,
        Earlier::None => return Vec::new(),
        Earlier::BeforeTarget(start) => {
            let age = clock::since_boot() - float(start) / table.meter.machine.ticks;
            Duration::try_from_secs_f64(age).unwrap_or_default()
        }
    };
    let is_older = |name: &ResultName| is_older(results, *name, oldest);
    before.into_iter().filter(is_older).collect()
}

/// Whether a file was last written before this time. A time in the future, because the clock was
/// set back, is not.
fn is_older(results: &Results, name: ResultName, age: Duration) -> bool {
    let file = results.open_result(name);
    let written = file.and_then(|file| file.metadata().ok()?.modified().ok());
    written
        .and_then(|at| at.elapsed().ok())
        .is_some_and(|since| since > age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starts_of_the_containers_tell_attempts_apart() {
        let earlier =
            |target, observer, comes_first| Starts { target, observer }.earlier(comes_first);
        for comes_first in [true, false] {
            assert_eq!(earlier(Some(500), 400, comes_first), Earlier::All);
            let target = Earlier::BeforeTarget(300);
            assert_eq!(earlier(Some(300), 400, comes_first), target);
        }
        assert_eq!(earlier(None, 400, true), Earlier::All);
        assert_eq!(earlier(None, 400, false), Earlier::None);
    }

    #[test]
    fn the_last_writing_of_a_file_is_compared_with_an_age() {
        let folder = std::env::temp_dir().join(format!("ridealong-earlier-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mpi_7");
        let results = Results::open(folder.to_str().unwrap(), 0).unwrap();
        let name = ResultName::parse(b"mpi_7").unwrap();
        let minute = Duration::from_mins(1);
        assert!(
            !is_older(&results, name, Duration::ZERO),
            "there is no file"
        );
        let now = std::time::SystemTime::now();
        for (written, expected) in [
            (now - 2 * minute, true),
            (now, false),
            (now + 2 * minute, false),
        ] {
            let file = std::fs::File::create(&path).unwrap();
            file.set_modified(written).unwrap();
            assert_eq!(is_older(&results, name, minute), expected, "{written:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
