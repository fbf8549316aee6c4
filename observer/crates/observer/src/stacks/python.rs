//! The Python stacks of a process, as the sampler of python-profile has last seen them.

use linux::clock;

use super::thread::{Activity, Thread};
use crate::metrics::python_profile::KIND;
use crate::metrics::python_profile::memory::{self, MAX_DEPTH, Profile};
use crate::metrics::python_profile::tally;
use crate::sampling::process_table::ProcessTable;
use crate::tools::shared_memory::Search;

/// The Python stacks of a process, or why they are not known.
pub enum PythonStacks {
    /// The process does not have the sampler.
    NoSampler,
    /// Why its stacks are not known, as a sentence.
    Unknown(String),
    /// The samples, read at a time in nanoseconds since boot.
    Seen(Box<Profile>, u64),
}

impl PythonStacks {
    /// Reads the memory of the sampler in a process. `is_loaded` says whether the process has
    /// loaded the library of the sampler.
    pub fn read(table: &mut ProcessTable, pid: i32, is_loaded: bool) -> Self {
        let file = match KIND.find(table, pid) {
            Search::Found(file) => file,
            Search::Missing if is_loaded => {
                return Self::Unknown(
                    "python-profile has no samples of this program: it is not CPython".to_owned(),
                );
            }
            Search::Denied { why, help } if is_loaded => {
                return Self::Unknown(format!("the samples of Python cannot be read: {why}{help}"));
            }
            _ => return Self::NoSampler,
        };
        let Some(profile) = memory::read(&file) else {
            return Self::Unknown("the tool of python-profile is of another release".to_owned());
        };
        match profile.why_not_sampled() {
            Some(why) => Self::Unknown(format!("the process has no samples of Python: {why}")),
            None => Self::Seen(Box::new(profile), clock::boot_nanoseconds()),
        }
    }

    /// Returns the functions of the stack of a thread, from the innermost one on, and whether outer
    /// functions are missing; otherwise why there is none, unless there is no sampler.
    ///
    /// # Errors
    /// Why there is no stack; `None` without a sampler.
    pub fn stack(&self, thread: &Thread) -> Result<(Vec<&str>, bool), Option<String>> {
        let (profile, now) = match self {
            Self::NoSampler => return Err(None),
            Self::Unknown(why) => return Err(Some(why.clone())),
            Self::Seen(profile, now) => (profile, *now),
        };
        // While a process is stopped, its stacks stay the same.
        if thread.activity != Activity::Stopped && profile.is_old(now) {
            return Err(Some(
                "the sampler of Python has not looked for 5 s".to_owned(),
            ));
        }
        let id = thread.inner_id.cast_unsigned();
        let found = profile.threads.iter().find(|each| each.tid == id);
        let Some(found) = found else {
            return Err(Some("the sampler sees no Python in the thread".to_owned()));
        };
        let names: Vec<&str> = tally::functions(profile, found.node as usize).collect();
        let is_cut = names.len() >= MAX_DEPTH as usize;
        Ok((names, is_cut))
    }
}
