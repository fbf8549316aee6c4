//! The containers of the pod. This module finds the container of a process, and recognizes
//! observers.

use std::collections::{BTreeMap, BTreeSet};

use encode::json::clean;
use linux::proc::files::{Files, Task};
use linux::proc::{cmdline, mountinfo, words};

use crate::sampling::program;

/// The number of a container, in the order in which the observer finds containers.
pub type ContainerId = usize;

/// The maximum number of containers. A pod has fewer, but if their names are unknown, the
/// application can make cgroups. All further processes belong to the last container.
const MAX_CONTAINERS: usize = 1024;

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
    /// The names of the built-in observers. The container and the program of an observer have the
    /// same name.
    built_in: Vec<&'static str>,
    /// The kubelet's directory of the containers of this pod.
    home: Option<Home>,
    /// The containers in which processes with these cgroups were found.
    cgroups: BTreeMap<String, BTreeSet<ContainerId>>,
    /// The last attempt of each container.
    attempts: BTreeMap<ContainerId, Attempt>,
}

/// A start of a container. The kubelet starts a container again only after its end, so the attempts
/// of a container follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attempt {
    /// The file that the kubelet has made for this start; empty if it is not known.
    file: Vec<u8>,
    /// The start of its first known process, in ticks since boot.
    start: u64,
    /// The number of starts that were observed, with this one.
    number: u32,
}

impl Attempt {
    /// Takes a process of the container, which started at `start`. Returns the number of the
    /// attempt to which it belongs.
    fn take(&mut self, file: &[u8], start: u64) -> u32 {
        if self.file.is_empty() {
            self.file = file.to_vec();
        }
        let is_last = file == self.file || (file.is_empty() && start >= self.start);
        if is_last {
            self.start = self.start.min(start);
        } else if start >= self.start {
            *self = Self {
                file: file.to_vec(),
                start,
                number: self.number.saturating_add(1),
            };
        } else {
            // A process of the attempt before that was found late.
            return self.number.saturating_sub(1).max(1);
        }
        self.number
    }
}

/// The directory from which the kubelet mounts a file into each container of the pod. A process can
/// make other mounts, and so it can mount any path of its own file systems, but none of this
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Home {
    device: Vec<u8>,
    directory: Vec<u8>,
}

impl Containers {
    /// Detects how containers can be distinguished. `observers` are the names of the containers
    /// that are not observed, and `built_in` those of the built-in observers.
    pub fn detect(
        files: &mut Files,
        target: &str,
        observers: &[String],
        built_in: &[&'static str],
    ) -> Self {
        let text = files.read_whole("self/mountinfo").unwrap_or_default();
        let home = mountinfo::container_mounts(text).next().map(|mount| Home {
            device: mount.device.to_vec(),
            directory: mount.directory.to_vec(),
        });
        let has_names = home.is_some();
        let mut containers = Self {
            has_names,
            is_pod: false,
            target: target.to_owned(),
            names: Vec::new(),
            observers: built_in.iter().map(|name| (*name).to_owned()).collect(),
            built_in: built_in.to_vec(),
            home,
            cgroups: BTreeMap::new(),
            attempts: BTreeMap::new(),
        };
        // In the process namespace of a single container, process 1 is the application. In a shared
        // namespace, process 1 is the pause process of the pod, which has no mount of the kubelet.
        containers.is_pod = has_names && containers.place_of(files, "1").is_none();
        // Observers are recognized by the names of their containers, which no process can change.
        // `observers` may lack built-in observers that were added to the pod later.
        containers.observers.extend(observers.iter().cloned());
        containers.observers.remove(target);
        let own = containers.place_of(files, "self");
        containers.observers.extend(own.map(|place| place.name));
        if has_names {
            // The observer's own cgroup belongs to its container, and to no other.
            containers.find(files, "self", false);
        } else {
            containers.observers.extend(cgroup(files, "1"));
        }
        containers
    }

    /// Returns the container of a process that started at `start`, in ticks since boot, and the
    /// number of the attempt of the container; `None` if the container cannot be determined, for
    /// example because the process has ended. A process with mounts of its own may lack the
    /// kubelet's mount. Then its cgroups decide, which only the container runtime and root can
    /// change.
    pub fn of(
        &mut self,
        files: &mut Files,
        (pid, start): (i32, u64),
        is_zombie: bool,
    ) -> Option<(ContainerId, u32)> {
        let (container, file) = self.find(files, &pid.to_string(), is_zombie)?;
        let attempt = self.attempts.entry(container).or_insert_with(|| Attempt {
            file: file.clone(),
            start,
            number: 1,
        });
        Some((container, attempt.take(&file, start)))
    }

    /// Returns the container of a process, and the file that the kubelet has made for its start,
    /// which is empty if it is not known.
    fn find(
        &mut self,
        files: &mut Files,
        process: &str,
        is_zombie: bool,
    ) -> Option<(ContainerId, Vec<u8>)> {
        let place = self.place_of(files, process);
        if !self.has_names {
            return place.map(|place| (self.id_of(place.name), Vec::new()));
        }
        let cgroup = cgroup(files, process);
        let Some(Place { name, file }) = place else {
            let container = self.in_cgroup(&cgroup?, is_zombie)?;
            return Some((container, Vec::new()));
        };
        let id = self.id_of(name);
        if let Some(cgroup) = cgroup
            && (self.cgroups.len() < MAX_CONTAINERS || self.cgroups.contains_key(&cgroup))
        {
            self.cgroups.entry(cgroup).or_default().insert(id);
        }
        Some((id, file))
    }

    /// Returns when the first known process of the target started, in its last attempt, in ticks
    /// since boot.
    pub fn target_start(&self) -> Option<u64> {
        self.targets().map(|attempt| attempt.start).min()
    }

    /// Returns the number of starts of the target that were observed, at least 1. If the names of
    /// containers are unknown, each start is another container, and the number is 1.
    pub fn target_attempt(&self) -> u32 {
        self.targets()
            .map(|attempt| attempt.number)
            .max()
            .unwrap_or(1)
    }

    fn targets(&self) -> impl Iterator<Item = &Attempt> {
        let all = self.attempts.iter();
        all.filter(|(container, _)| self.is_target(**container))
            .map(|(_, attempt)| attempt)
    }

    /// Returns the container whose processes have these cgroups, or have cgroups above them. If
    /// several containers share the cgroups and the target is one of them, returns the target,
    /// unless the process is a zombie.
    fn in_cgroup(&mut self, cgroup: &str, is_zombie: bool) -> Option<ContainerId> {
        let found = self
            .cgroups
            .iter()
            .find(|(known, _)| is_below(cgroup, known))?;
        let mut ids = found.1.iter().copied();
        let (first, rest) = (ids.next()?, ids.count());
        if rest == 0 {
            return Some(first);
        }
        let is_target = |id: &ContainerId| self.name(*id) == self.target;
        let target = found.1.iter().copied().find(is_target);
        target.filter(|_| !is_zombie)
    }

    /// Creates containers with these names, for tests.
    #[cfg(test)]
    pub fn named(names: impl Iterator<Item = String>) -> Self {
        Self {
            has_names: true,
            is_pod: true,
            target: String::new(),
            names: names.collect(),
            observers: BTreeSet::new(),
            built_in: Vec::new(),
            home: None,
            cgroups: BTreeMap::new(),
            attempts: BTreeMap::new(),
        }
    }

    fn id_of(&mut self, name: String) -> ContainerId {
        let known = self.names.iter().position(|known| *known == name);
        if let Some(id) = known {
            return id;
        }
        if self.names.len() < MAX_CONTAINERS {
            self.names.push(name);
        }
        self.names.len() - 1
    }

    /// Returns the number of containers that were found. The id of a container is below it.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns the name of a container; empty if the containers have no names.
    pub fn known_name(&self, id: ContainerId) -> &str {
        if self.has_names { self.name(id) } else { "" }
    }

    /// Returns the name of a container.
    pub fn name(&self, container: ContainerId) -> &str {
        self.names.get(container).map_or("", String::as_str)
    }

    /// If the names of containers are unknown, marks a container as an observer if its first
    /// process runs a built-in observer. The first process has no parent in the pod: `parent` is 0.
    pub fn mark_observer(&mut self, container: ContainerId, program: &str, parent: i32) {
        let is_observer = !self.has_names && parent == 0 && self.built_in.contains(&program);
        if let Some(name) = self.names.get(container).filter(|_| is_observer) {
            self.observers.insert(name.clone());
        }
    }

    /// Whether the container is an observer.
    pub fn is_observer(&self, container: ContainerId) -> bool {
        self.observers.contains(self.name(container))
    }

    /// Whether the container is the target. If the names of containers are unknown, all containers
    /// are targets except observers and the container of process 1.
    pub fn is_target(&self, container: ContainerId) -> bool {
        !self.is_observer(container) && (!self.has_names || self.name(container) == self.target)
    }

    fn place_of(&self, files: &mut Files, process: &str) -> Option<Place> {
        let Some(home) = &self.home else {
            let file = Vec::new();
            return cgroup(files, process).map(|name| Place { name, file });
        };
        let text = files.read_whole(&format!("{process}/mountinfo")).ok()?;
        let is_home = |mount: &mountinfo::ContainerMount<'_>| {
            mount.device == home.device && mount.directory == home.directory
        };
        let found = mountinfo::container_mounts(text).find(is_home);
        found.map(|mount| Place {
            name: clean(mount.name),
            file: mount.file.to_vec(),
        })
    }
}

/// The container of a process.
struct Place {
    /// Its name; the cgroups if the names of containers are unknown.
    name: String,
    /// The file that the kubelet has made for its start; empty if it is not known.
    file: Vec<u8>,
}

/// Whether each cgroup of a process is the corresponding cgroup of `known`, or below it. Both are
/// texts as [`cgroup`] returns them: `HIERARCHY:CONTROLLERS:PATH` for each hierarchy.
fn is_below(cgroup: &str, known: &str) -> bool {
    let (mut paths, mut known) = (cgroup.split(' '), known.split(' '));
    loop {
        match (paths.next(), known.next()) {
            (None, None) => return true,
            (Some(path), Some(known)) => {
                let rest = path.strip_prefix(known);
                if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                    return false;
                }
            }
            _ => return false,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_below_that_of_a_container_belongs_to_it() {
        let known = "4:memory:/kubepods/2a 0::/../2a";
        for (cgroup, expected) in [
            (known, true),
            ("4:memory:/kubepods/2a/own 0::/../2a", true),
            ("4:memory:/kubepods/2ab 0::/../2a", false),
            ("4:memory:/kubepods 0::/../2a", false),
            ("4:memory:/kubepods/2a", false),
            ("4:memory:/kubepods/2a 0::/../2a 1::/", false),
        ] {
            assert_eq!(is_below(cgroup, known), expected, "{cgroup}");
        }
    }

    #[test]
    fn each_start_of_a_container_has_another_file() {
        let mut attempt = Attempt {
            file: b"a".to_vec(),
            start: 100,
            number: 1,
        };
        for (file, start, expected) in [
            ("a", 120, (1, 100)),
            ("a", 90, (1, 90)),
            ("", 130, (1, 90)),
            ("b", 200, (2, 200)),
            ("b", 210, (2, 200)),
            // These are of the first start, and were found late.
            ("a", 195, (1, 200)),
            ("", 195, (1, 200)),
            ("c", 300, (3, 300)),
        ] {
            let number = attempt.take(file.as_bytes(), start);
            assert_eq!((number, attempt.start), expected, "{file} {start}");
        }
    }

    #[test]
    fn the_number_of_containers_is_limited() {
        let mut containers = Containers {
            has_names: false,
            is_pod: false,
            target: "app".to_owned(),
            names: Vec::new(),
            observers: BTreeSet::new(),
            built_in: Vec::new(),
            home: None,
            cgroups: BTreeMap::new(),
            attempts: BTreeMap::new(),
        };
        for number in 0..3000 {
            let id = containers.id_of(number.to_string());
            assert_eq!(id, number.min(MAX_CONTAINERS - 1));
        }
    }

    #[test]
    fn a_shared_cgroup_belongs_to_the_target() {
        let mut containers = Containers {
            has_names: true,
            is_pod: true,
            target: "app".to_owned(),
            names: ["app", "sidecar", "other"].map(str::to_owned).to_vec(),
            observers: BTreeSet::new(),
            built_in: Vec::new(),
            home: None,
            cgroups: BTreeMap::from([
                ("0::/shared".to_owned(), BTreeSet::from([0, 1])),
                ("0::/own".to_owned(), BTreeSet::from([1])),
                ("0::/others".to_owned(), BTreeSet::from([1, 2])),
            ]),
            attempts: BTreeMap::new(),
        };
        assert_eq!(containers.in_cgroup("0::/shared", false), Some(0));
        assert_eq!(containers.in_cgroup("0::/shared", true), None);
        assert_eq!(containers.in_cgroup("0::/own/a", true), Some(1));
        assert_eq!(containers.in_cgroup("0::/others", false), None);
        assert_eq!(containers.in_cgroup("0::/unknown", false), None);
    }
}
