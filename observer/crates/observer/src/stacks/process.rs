//! A process whose stacks are requested: its rank, and whether it has the profiler.

use encode::json::clean;
use linux::proc::files::Task;
use linux::proc::timers;
use nix::errno::Errno;

use super::asking::Asking;
use super::python::PythonStacks;
use super::thread::{SIGNAL, Thread};
use crate::metrics::cpu_profile::maps::{self, Mapping};
use crate::metrics::world_rank::WorldRank;
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::{Meter, is_denial};
use crate::sampling::process::{Access, Process};
use crate::sampling::process_table::ProcessTable;

/// The maximum threads of a process that are looked at.
const MAX_THREADS: usize = 256;

/// A process.
pub struct AskedProcess {
    /// The process id in the pod.
    pub pid: i32,
    /// The process id as the process sees it.
    pub inner_pid: i32,
    /// The process id of the parent, if the parent is in the pod.
    pub parent: Option<i32>,
    /// The name of the program.
    pub program: String,
    /// The container, if it is known.
    pub container: Option<ContainerId>,
    /// The rank that a launcher has given to the process.
    pub rank: WorldRank,
    /// The value of the profiler's timer; `None` without the profiler.
    pub timer: Option<u64>,
    /// The code of the process; empty if it cannot be read.
    pub mappings: Vec<Mapping>,
    /// Why the process cannot be asked.
    pub why: Option<String>,
    /// The Python stacks, once they were read.
    pub python: PythonStacks,
    /// The requested threads.
    pub threads: Vec<Thread>,
    /// Threads that were left out, because there are too many.
    pub threads_left_out: usize,
    /// How its files are read.
    pub asking: Asking,
}

impl AskedProcess {
    /// Finds out whether a process can be asked. `None` if it has ended.
    pub fn find(table: &mut ProcessTable, key: u64, has_threads: bool) -> Option<Self> {
        let ProcessTable { meter, all, .. } = table;
        let parent = all.get(&key)?.parent.and_then(|key| all.get(&key));
        let parent = parent.map(|parent| parent.pid);
        let process = all.get_mut(&key).filter(|process| !process.is_zombie)?;
        let pid = process.pid;
        let measured = process.measured.as_deref_mut()?;
        meter.read_status(pid, measured)?;
        let mut asking = Asking {
            pid,
            has_profiler: false,
            access: Access::Unknown,
            identity: measured.identity,
        };
        let state = meter.files.read_status(Task::Process(pid)).ok()?;
        let inner_pid = linux::proc::status::parse_inner_pid(state).unwrap_or(pid);
        let rank = read_rank(meter, &mut asking);
        let timer = read_timer(meter, &mut asking);
        let mappings = read_mappings(meter, &mut asking);
        let why = match (timer, mappings.as_ref().map_err(|error| *error)) {
            (Ok(Some(_)), _) => None,
            (Err(error), _) | (_, Err(error)) => Some(why_hidden(error)),
            (Ok(None), Ok(mappings)) => Some(why_not_profiled(mappings).to_owned()),
        };
        asking.has_profiler = why.is_none();
        let (threads, threads_left_out) = list_threads(meter, process, has_threads);
        Some(Self {
            pid,
            inner_pid,
            parent,
            program: process.program.clone().unwrap_or_default(),
            container: process.container,
            rank,
            timer: timer.ok().flatten(),
            mappings: mappings.unwrap_or_default(),
            why,
            python: PythonStacks::NoSampler,
            threads,
            threads_left_out,
            asking,
        })
    }
}

/// The library of the sampler of python-profile.
const SAMPLER: &[u8] = b"/libridealong-python.so";

/// Whether a process has loaded the sampler of python-profile.
pub fn has_sampler(process: &AskedProcess) -> bool {
    let mut mappings = process.mappings.iter();
    mappings.any(|mapping| mapping.path.ends_with(SAMPLER))
}

fn list_threads(meter: &mut Meter, process: &Process, has_threads: bool) -> (Vec<Thread>, usize) {
    let now = linux::clock::since_boot();
    let mut ids = vec![process.pid];
    if has_threads {
        // An error means that the process has ended, which a look at its first thread shows.
        let _ = meter.files.list_threads(process.pid, usize::MAX, &mut ids);
    }
    let left_out = ids.len().saturating_sub(MAX_THREADS);
    ids.truncate(MAX_THREADS);
    let threads = ids.into_iter().map(|id| Thread::new(id, now));
    (threads.collect(), left_out)
}

/// Returns the value of the profiler's timer. Only the loader makes a timer with this signal, and
/// deletes it when it stops the profiler. A forked process does not inherit it.
fn read_timer(meter: &mut Meter, asking: &mut Asking) -> Result<Option<u64>, Errno> {
    let (pid, identity) = (asking.pid, asking.identity);
    let (found, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        let text = meter.files.read_whole(&format!("{pid}/timers"))?;
        Ok(timers::value_of_signal(text, SIGNAL))
    });
    found
}

fn read_mappings(meter: &mut Meter, asking: &mut Asking) -> Result<Vec<Mapping>, Errno> {
    let (pid, identity) = (asking.pid, asking.identity);
    let (found, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        let text = meter.files.read_whole(&format!("{pid}/maps"))?;
        Ok(maps::parse_all(text))
    });
    found
}

/// Returns the rank in the environment of a process; no other variable leaves this function.
fn read_rank(meter: &mut Meter, asking: &mut Asking) -> WorldRank {
    let (pid, identity) = (asking.pid, asking.identity);
    let (found, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        let text = meter.files.read_whole(&format!("{pid}/environ"))?;
        Ok(WorldRank::parse(text))
    });
    found.unwrap_or_default()
}

fn why_hidden(error: Errno) -> String {
    if error == Errno::ENOENT {
        // CONFIG_CHECKPOINT_RESTORE
        "the kernel does not list timers, so the tool of cpu-profile cannot be found".to_owned()
    } else if is_denial(error) {
        "the process has another user than the observer, or is not dumpable".to_owned()
    } else {
        format!("the process cannot be read: {}", error.desc())
    }
}

/// Returns why a process has no timer of the profiler.
fn why_not_profiled(mappings: &[Mapping]) -> &'static str {
    let has = |end: &[u8]| mappings.iter().any(|mapping| mapping.path.ends_with(end));
    let file_name = |mapping: &Mapping| {
        let path = &mapping.path;
        let start = path.iter().rposition(|byte| *byte == b'/');
        path[start.map_or(0, |at| at + 1)..].to_vec()
    };
    let has_linker = mappings.iter().any(|mapping| {
        let name = file_name(mapping);
        name.starts_with(b"ld-") || name.starts_with(b"ld.so") || name.starts_with(b"ld64.so")
    });
    if has(b"/libprofiler.so.0") {
        return "cpu-profile does not profile this program, or the process was forked without \
                executing a program";
    }
    if has(b"/cpu-profile/loader.so") {
        return "cpu-profile could not load its library; its log has the reason";
    }
    if !has_linker {
        return "the program is static, so no tool is loaded";
    }
    "neither the tool of cpu-profile nor that of python-profile is loaded"
}

/// Returns the name of a thread.
pub fn read_name(meter: &mut Meter, pid: i32, tid: i32) -> String {
    let text = meter.files.read(Task::Thread(pid, tid), "comm");
    text.map(|text| clean(text.strip_suffix(b"\n").unwrap_or(text)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::cpu_profile::maps::parse_all;

    #[test]
    fn a_process_without_the_profiler_has_a_reason() {
        let why = |paths: &[&str]| {
            let line = |(at, path): (usize, &&str)| format!("{at}0-{at}8 r-xp 0 0:0 0 {path}\n");
            let text: String = paths.iter().enumerate().map(line).collect();
            why_not_profiled(&parse_all(text.as_bytes()))
        };
        let linker = "/lib64/ld-linux-x86-64.so.2";
        let loader = "/opt/ridealong/cpu-profile/loader.so";
        let profiler = "/opt/ridealong/cpu-profile/libprofiler.so.0";
        assert!(why(&["/bin/app", "[vdso]"]).starts_with("the program is static"));
        assert!(why(&["/bin/app", linker]).ends_with("is loaded"));
        assert!(why(&["/bin/app", linker, loader]).contains("could not load"));
        assert!(
            why(&["/bin/app", linker, loader, profiler])
                .starts_with("cpu-profile does not profile")
        );
    }
}
