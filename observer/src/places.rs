//! Which container of the pod a process is in, and which of them are observers.

use std::collections::BTreeSet;

use crate::json::clean;
use crate::proc::files::{Files, Task};
use crate::proc::{cmdline, mountinfo, words};
use crate::program;

/// The built-in observers: the names of their containers, and of their programs.
const OBSERVERS: [&str; 2] = ["perf-sysstat", "io-sysstat"];

/// A container by its number; two processes of one container have the same.
pub type Place = usize;

/// The containers of the pod that were seen.
pub struct Places {
    /// Whether containers are known by the kubelet's names. Else they are told apart by cgroup.
    pub has_names: bool,
    /// Whether the process namespace is a pod's, whose process 1 is the pod's own.
    pub is_pod: bool,
    target: String,
    names: Vec<String>,
    observers: BTreeSet<String>,
}

impl Places {
    /// Finds out where the observer itself is. `observers` are the containers of the pod that are
    /// not observed.
    #[must_use]
    pub fn find(files: &mut Files, target: &str, observers: &[String]) -> Self {
        let has_names = container(files, "self").is_some();
        let mut places = Self {
            has_names,
            // In the process namespace of one container process 1 is the application; in a shared
            // one it is the pod's own.
            is_pod: has_names && container(files, "1").is_none(),
            target: target.to_owned(),
            names: Vec::new(),
            observers: OBSERVERS.map(str::to_owned).into(),
        };
        // Observers are told apart by their containers, whose names no process can change. The
        // built-in ones may have been attached later.
        places.observers.extend(observers.iter().cloned());
        places.observers.remove(target);
        places.observers.extend(places.name_of(files, "self"));
        if !has_names {
            places.observers.extend(cgroup(files, "1"));
        }
        places
    }

    /// The container of a process; `None` where its files cannot be read any more.
    pub fn of(&mut self, files: &mut Files, pid: i32) -> Option<Place> {
        let name = self.name_of(files, &pid.to_string())?;
        let known = self.names.iter().position(|known| *known == name);
        Some(known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }))
    }

    /// The name of a container.
    #[must_use]
    pub fn name(&self, place: Place) -> &str {
        self.names.get(place).map_or("", String::as_str)
    }

    /// Marks the container of an observer where names are missing: its first process has no parent
    /// in the pod.
    pub fn mark_observer(&mut self, place: Place, program: &str, parent: i32) {
        let is_observer = !self.has_names && parent == 0 && OBSERVERS.contains(&program);
        if let Some(name) = self.names.get(place).filter(|_| is_observer) {
            self.observers.insert(name.clone());
        }
    }

    /// Whether an observer runs there.
    #[must_use]
    pub fn is_observer(&self, place: Place) -> bool {
        self.observers.contains(self.name(place))
    }

    /// Whether the end of this container is the observer's: the target, or, where names are
    /// missing, any container but the observers' and the pod's own.
    #[must_use]
    pub fn is_target(&self, place: Place) -> bool {
        !self.is_observer(place) && (!self.has_names || self.name(place) == self.target)
    }

    fn name_of(&self, files: &mut Files, process: &str) -> Option<String> {
        if self.has_names {
            container(files, process)
        } else {
            cgroup(files, process)
        }
    }
}

fn container(files: &mut Files, process: &str) -> Option<String> {
    let text = files.read_whole(&format!("{process}/mountinfo")).ok()?;
    mountinfo::container(text).map(clean)
}

/// Where the kubelet's mount is missing, containers can be told apart by cgroup, without their
/// names.
fn cgroup(files: &mut Files, process: &str) -> Option<String> {
    let text = files.read_whole(&format!("{process}/cgroup")).ok()?;
    let parts: Vec<String> = words::words(text).map(clean).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The bytes of the name of a process's program.
pub fn program_name(files: &mut Files, pid: i32, comm: &[u8]) -> Vec<u8> {
    let text = files
        .read(Task::Process(pid), "cmdline")
        .unwrap_or_default();
    program::name(&cmdline::parse(text), comm).to_vec()
}
