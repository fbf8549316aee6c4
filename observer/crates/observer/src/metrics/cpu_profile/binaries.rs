//! The programs and libraries of the observed containers. They stay readable after their container
//! has ended.
//!
//! A descriptor of the root directory of a container keeps the file system of this directory, but
//! not the file systems that are mounted below it: they disappear with the last process of the
//! container (fs/namespace.c of the kernel, `put_mnt_ns`). Files of these, such as volumes, are
//! therefore opened while a process of the container lives. A child process opens and reads the
//! files ([`crate::tools::foreign`]).

use std::collections::BTreeMap;
use std::rc::Rc;

use linux::proc::files::RootDirectory;

use super::maps::Mapping;
use crate::runtime::identity::Identity;
use crate::sampling::containers::ContainerId;
use crate::tools::foreign::client::{ForeignFile, ForeignFiles};

/// The maximum files of all containers that are kept open.
const MAX_OPEN: usize = 256;
/// The maximum paths of a container that are remembered.
const MAX_PATHS: usize = 4096;

/// The programs and libraries of all observed containers.
#[derive(Default)]
pub struct Binaries {
    containers: BTreeMap<ContainerId, Container>,
    open: usize,
}

struct Container {
    files: ForeignFiles,
    /// Each path that was looked at, with the open file if it is in another file system.
    known: BTreeMap<Rc<[u8]>, Option<Rc<ForeignFile>>>,
}

impl Binaries {
    /// Whether the root directory of a container is open.
    pub fn has_root(&self, container: ContainerId) -> bool {
        self.containers.contains_key(&container)
    }

    /// Adds a container. `identity` is that of a process of the container, if its files may be read
    /// with it.
    pub fn add(&mut self, container: ContainerId, root: RootDirectory, identity: Option<Identity>) {
        let files = ForeignFiles::new(root, identity);
        let known = BTreeMap::new();
        self.containers
            .insert(container, Container { files, known });
    }

    /// Opens the files of a living process that are not in the file system of its container's root
    /// directory.
    pub fn keep(&mut self, container: ContainerId, mappings: &[Mapping]) {
        let Some(Container { files, known }) = self.containers.get_mut(&container) else {
            return;
        };
        for Mapping { path, .. } in mappings {
            if !path.starts_with(b"/") || known.contains_key(path) || known.len() >= MAX_PATHS {
                continue;
            }
            let has_room = self.open < MAX_OPEN;
            let file = has_room.then(|| files.keep(path)).flatten().map(Rc::new);
            self.open += usize::from(file.is_some());
            known.insert(Rc::clone(path), file);
        }
    }

    /// Opens a file by its path in a container.
    pub fn open(&self, container: ContainerId, path: &[u8]) -> Option<Rc<ForeignFile>> {
        let Container { files, known } = self.containers.get(&container)?;
        match known.get(path) {
            Some(Some(file)) => Some(Rc::clone(file)),
            _ => files.open(path).map(Rc::new),
        }
    }

    /// Returns sentences about files that cannot be read, each once.
    pub fn take_problems(&self) -> impl Iterator<Item = String> {
        let containers = self.containers.values();
        containers.filter_map(|container| container.files.take_problem())
    }
}
