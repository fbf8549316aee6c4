//! The programs and libraries of the observed containers. They stay readable after their container
//! has ended.
//!
//! A descriptor of the root directory of a container keeps the file system of this directory, but
//! not the file systems that are mounted below it: they disappear with the last process of the
//! container (fs/namespace.c of the kernel, `put_mnt_ns`). Files of these, such as volumes, are
//! therefore opened while a process of the container lives.

use std::collections::BTreeMap;
use std::fs::File;
use std::rc::Rc;

use nix::sys::stat::fstat;

use super::maps::Mapping;
use crate::containers::ContainerId;
use crate::proc::files::RootDirectory;

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
    root: RootDirectory,
    /// Each path that was looked at, with the open file if it is in another file system.
    files: BTreeMap<Rc<[u8]>, Option<File>>,
}

impl Binaries {
    /// Whether the root directory of a container is open.
    #[must_use]
    pub fn has_root(&self, container: ContainerId) -> bool {
        self.containers.contains_key(&container)
    }

    /// Adds a container.
    pub fn add(&mut self, container: ContainerId, root: RootDirectory) {
        let files = BTreeMap::new();
        self.containers.insert(container, Container { root, files });
    }

    /// Opens the files of a living process that are not in the file system of its container's root
    /// directory.
    pub fn keep(&mut self, container: ContainerId, mappings: &[Mapping]) {
        let Some(Container { root, files }) = self.containers.get_mut(&container) else {
            return;
        };
        let Ok(device) = root.device() else { return };
        for Mapping { path, .. } in mappings {
            if !path.starts_with(b"/") || files.contains_key(path) || files.len() >= MAX_PATHS {
                continue;
            }
            let file = root.open(path).ok();
            let is_elsewhere = |file: &File| fstat(file).is_ok_and(|facts| facts.st_dev != device);
            let file = file.filter(|file| self.open < MAX_OPEN && is_elsewhere(file));
            self.open += usize::from(file.is_some());
            files.insert(Rc::clone(path), file);
        }
    }

    /// Opens a file by its path in a container.
    #[must_use]
    pub fn open(&self, container: ContainerId, path: &[u8]) -> Option<File> {
        let Container { root, files } = self.containers.get(&container)?;
        match files.get(path) {
            Some(Some(file)) => file.try_clone().ok(),
            _ => root.open(path).ok(),
        }
    }
}
