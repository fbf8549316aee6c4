//! The containers of the pod. This module finds the container of a process, and recognizes
//! observers.

use std::collections::BTreeSet;

use crate::json::clean;
use crate::proc::files::{Files, Task};
use crate::proc::{cmdline, mountinfo, words};
use crate::program;

/// The names of the built-in observers. The container and the program of an observer have the same
/// name.
const OBSERVERS: [&str; 6] = [
    "perf-sysstat",
    "io-sysstat",
    "pressure",
    "network",
    "cpu-profile",
    "mpi-trace",
];

/// The number of a container, in the order in which the observer finds containers.
pub type ContainerId = usize;

/// The containers of the pod in which the observer has found processes.
pub struct Containers {
    /// Whether the names of containers are known, from the kubelet's mounts. Otherwise containers
    /// are distinguished by their cgroups.
    pub has_names: bool,
    /// Whether the containers are known to share the process namespace of the pod, in which process
    /// 1 is the pause process. Always false if the names of containers are unknown.
    pub is_pod: bool,
    target: String,
    names: Vec<String>,
    observers: BTreeSet<String>,
}

impl Containers {
    /// Detects how containers can be distinguished. `observers` are the names of the containers
    /// that are not observed.
    #[must_use]
    pub fn detect(files: &mut Files, target: &str, observers: &[String]) -> Self {
        let has_names = container(files, "self").is_some();
        let mut containers = Self {
            has_names,
            // In the process namespace of a single container, process 1 is the application. In a
            // shared namespace, process 1 is the pause process of the pod, which has no mount of
            // the kubelet.
            is_pod: has_names && container(files, "1").is_none(),
            target: target.to_owned(),
            names: Vec::new(),
            observers: OBSERVERS.map(str::to_owned).into(),
        };
        // Observers are recognized by the names of their containers, which no process can change.
        // `observers` may lack built-in observers that were added to the pod later.
        containers.observers.extend(observers.iter().cloned());
        containers.observers.remove(target);
        containers
            .observers
            .extend(containers.name_of(files, "self"));
        if !has_names {
            containers.observers.extend(cgroup(files, "1"));
        }
        containers
    }

    /// Returns the container of a process; `None` if the container cannot be determined, for
    /// example because the process has ended.
    pub fn of(&mut self, files: &mut Files, pid: i32) -> Option<ContainerId> {
        let name = self.name_of(files, &pid.to_string())?;
        let known = self.names.iter().position(|known| *known == name);
        Some(known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }))
    }

    /// Returns the number of containers that were found. The id of a container is below it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns the name of a container.
    #[must_use]
    pub fn name(&self, container: ContainerId) -> &str {
        self.names.get(container).map_or("", String::as_str)
    }

    /// If the names of containers are unknown, marks a container as an observer if its first
    /// process runs a built-in observer. The first process has no parent in the pod: `parent` is 0.
    pub fn mark_observer(&mut self, container: ContainerId, program: &str, parent: i32) {
        let is_observer = !self.has_names && parent == 0 && OBSERVERS.contains(&program);
        if let Some(name) = self.names.get(container).filter(|_| is_observer) {
            self.observers.insert(name.clone());
        }
    }

    /// Whether the container is an observer.
    #[must_use]
    pub fn is_observer(&self, container: ContainerId) -> bool {
        self.observers.contains(self.name(container))
    }

    /// Whether the container is the target. If the names of containers are unknown, all containers
    /// are targets except observers and the container of process 1.
    #[must_use]
    pub fn is_target(&self, container: ContainerId) -> bool {
        !self.is_observer(container) && (!self.has_names || self.name(container) == self.target)
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

/// Returns the cgroups of a process, which distinguish containers if their names are unknown.
fn cgroup(files: &mut Files, process: &str) -> Option<String> {
    let text = files.read_whole(&format!("{process}/cgroup")).ok()?;
    let parts: Vec<String> = words::words(text).map(clean).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns the name of a process's program, in bytes.
pub fn program_name(files: &mut Files, pid: i32, comm: &[u8]) -> Vec<u8> {
    let text = files
        .read(Task::Process(pid), "cmdline")
        .unwrap_or_default()
        .to_vec();
    let argv = cmdline::parse(&text);
    // Only the user of the process may read this link. Without it, a title is recognized by its
    // form.
    let executable = argv
        .first()
        .filter(|first| program::may_be_title(first, comm))
        .and_then(|_| files.read_link(pid, "exe").ok());
    program::name(&argv, comm, executable.as_deref()).to_vec()
}
