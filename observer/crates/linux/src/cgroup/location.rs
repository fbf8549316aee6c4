//! Finds the directories with the files of a container's cgroups. They are below the root directory
//! of each process of the container.

use crate::proc::cgroup::{Membership, memberships};
use crate::proc::mountinfo::{CgroupMount, cgroup_mounts};

/// A version of cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Controllers have separate hierarchies.
    One,
    /// All controllers share one hierarchy.
    Two,
}

/// The directory of a cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The version of the files in it.
    pub version: Version,
    /// The path of the directory, relative to the root directory of the process.
    pub path: Vec<u8>,
    /// Whether it may be the root of the hierarchy, which describes the whole node. This is so if
    /// neither the mount nor the path of the process contains the name of a cgroup.
    pub may_be_root: bool,
}

/// The directories of a container's cgroups. A directory is `None` if no mount in the container
/// contains the cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The controller of processor time.
    pub cpu: Option<Directory>,
    /// The controller that counts processor time. In version 2, this is the same directory as
    /// `cpu`.
    pub cpuacct: Option<Directory>,
    /// The controller of memory.
    pub memory: Option<Directory>,
    /// The controller of processes.
    pub pids: Option<Directory>,
    /// The hierarchy of version 2, which has pressure stall information.
    pub unified: Option<Directory>,
}

/// Locates the cgroups of a container, from the files `cgroup` and `mountinfo` of a process of this
/// container.
///
/// In both files, the kernel shows paths relative to the root of the *reader's* cgroup namespace
/// (kernel/cgroup/cgroup.c, `proc_cgroup_show` and `cgroup_show_path`). Therefore the paths of the
/// two files can be compared, even if the observer and the container have different namespaces.
pub fn locate(cgroup: &[u8], mountinfo: &[u8]) -> Location {
    let memberships: Vec<_> = memberships(cgroup).collect();
    let mounts = cgroup_mounts(mountinfo);
    let unified = in_version_2(&memberships, &mounts);
    let find = |controller: &[u8]| {
        if is_in_version_1(controller, &memberships) {
            in_version_1(controller, &memberships, &mounts)
        } else {
            unified.clone()
        }
    };
    Location {
        cpu: find(b"cpu"),
        cpuacct: find(b"cpuacct"),
        memory: find(b"memory"),
        pids: find(b"pids"),
        unified: unified.clone(),
    }
}

/// Whether a controller has a hierarchy of version 1. Otherwise it is in version 2.
fn is_in_version_1(controller: &[u8], memberships: &[Membership<'_>]) -> bool {
    memberships
        .iter()
        .any(|one| has_word(one.controllers, controller))
}

fn in_version_1(
    controller: &[u8],
    memberships: &[Membership<'_>],
    mounts: &[CgroupMount<'_>],
) -> Option<Directory> {
    let found = memberships
        .iter()
        .find(|one| has_word(one.controllers, controller))?;
    let is_wanted = |mount: &&CgroupMount<'_>| {
        let all = mount.controllers;
        all.is_some_and(|all| has_word(all, controller))
    };
    let mut mounts = mounts.iter().rev().filter(is_wanted);
    mounts.find_map(|mount| below(Version::One, mount, found.path))
}

fn in_version_2(memberships: &[Membership<'_>], mounts: &[CgroupMount<'_>]) -> Option<Directory> {
    let found = memberships.iter().find(|one| one.controllers.is_empty())?;
    let mut mounts = mounts
        .iter()
        .rev()
        .filter(|mount| mount.controllers.is_none());
    mounts.find_map(|mount| below(Version::Two, mount, found.path))
}

/// The directory of the container's cgroup in a mount; `None` if the mount does not contain it.
///
/// A container runtime mounts either the container's own cgroup, or the whole hierarchy. In the
/// first case, the mounted cgroup is the container's cgroup, even if the process is in a cgroup
/// that the application has created below it. In the second case, the cgroup of the process is
/// used.
fn below(version: Version, mount: &CgroupMount<'_>, path: &[u8]) -> Option<Directory> {
    let mut rest = names(path);
    for name in names(&mount.root) {
        (rest.next()? == name).then_some(())?;
    }
    let mut directory = mount.point.clone();
    let is_whole_hierarchy = names(&mount.root).all(|name| name == b"..");
    let mut may_be_root = is_whole_hierarchy;
    if is_whole_hierarchy {
        for name in rest {
            may_be_root = false;
            // The cgroup of the process is not below the mounted cgroup.
            (name != b"..").then_some(())?;
            directory.push(b'/');
            directory.extend_from_slice(name);
        }
    }
    let relative = directory.iter().position(|byte| *byte != b'/')?;
    Some(Directory {
        version,
        path: directory.split_off(relative),
        may_be_root,
    })
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
}

fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(location: &Location) -> Vec<String> {
        let Location {
            cpu,
            cpuacct,
            memory,
            pids,
            unified,
        } = location;
        let text = |found: &Option<Directory>| {
            found.as_ref().map_or("-".to_owned(), |found| {
                let path = String::from_utf8(found.path.clone()).unwrap();
                let suffix = if found.may_be_root { "?" } else { "" };
                format!("{:?} {path}{suffix}", found.version)
            })
        };
        [cpu, cpuacct, memory, pids, unified].map(text).to_vec()
    }

    fn located(cgroup: &str, mountinfo: &str) -> Vec<String> {
        paths(&locate(cgroup.as_bytes(), mountinfo.as_bytes()))
    }

    const ROOT: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n";

    #[test]
    fn the_containers_own_cgroups_of_version_1_are_located() {
        let cgroup = "9:pids:/kubepods/pod1/2a\n4:memory:/kubepods/pod1/2a\n1:cpu,cpuacct:/kubepods/pod1/2a\n0::/\n";
        let mount = |name: &str| {
            format!(
                "35 31 0:32 /kubepods/pod1/2a /sys/fs/cgroup/{name} ro - cgroup cgroup rw,{name}\n"
            )
        };
        let mounts = [
            ROOT.to_owned(),
            mount("memory"),
            mount("cpu,cpuacct"),
            mount("pids"),
        ];
        let expected = [
            "One sys/fs/cgroup/cpu,cpuacct",
            "One sys/fs/cgroup/cpu,cpuacct",
            "One sys/fs/cgroup/memory",
            "One sys/fs/cgroup/pids",
            "-",
        ];
        assert_eq!(located(cgroup, &mounts.concat()), expected);
    }

    #[test]
    fn a_cgroup_of_version_2_in_another_cgroup_namespace_is_located() {
        let mounts = "31 23 0:28 /../2a.scope /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let expected = ["Two sys/fs/cgroup"; 5];
        assert_eq!(located("0::/../2a.scope\n", mounts), expected);
        // The application has created a cgroup below the cgroup of the container.
        assert_eq!(located("0::/../2a.scope/init\n", mounts), expected);
    }

    #[test]
    fn if_the_whole_hierarchy_is_mounted_the_cgroup_of_the_process_is_located() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(
            located("0::/kubepods/pod1/2a\n", mounts),
            ["Two sys/fs/cgroup/kubepods/pod1/2a"; 5]
        );
        let from_within = "31 23 0:28 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(
            located("0::/../../../system.slice/app\n", from_within),
            ["Two sys/fs/cgroup/system.slice/app"; 5]
        );
        // The path does not contain the names of the cgroups above 2a.
        assert_eq!(located("0::/../2a\n", from_within), ["-"; 5]);
    }

    #[test]
    fn a_hierarchy_that_is_not_mounted_has_no_directory() {
        assert_eq!(located("4:memory:/a\n0::/\n", ROOT), ["-"; 5]);
        let other = "31 23 0:28 /../3b.scope /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(located("0::/../2a.scope\n", other), ["-"; 5]);
    }

    #[test]
    fn if_there_are_several_mounts_the_last_is_used() {
        let mounts =
            "31 23 0:28 / /old ro - cgroup2 cgroup rw\n32 23 0:28 / /new ro - cgroup2 cgroup rw\n";
        assert_eq!(located("0::/\n", mounts), ["Two new?"; 5]);
    }

    #[test]
    fn a_mount_that_does_not_contain_the_cgroup_is_skipped() {
        // A volume has the hierarchy of the node, of which the process sees only a part.
        let mounts = "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n32 23 0:28 /../../.. /host/sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(located("0::/\n", mounts), ["Two sys/fs/cgroup?"; 5]);
        let mounts = "31 23 0:28 /a /one ro - cgroup cgroup rw,cpu,memory\n32 23 0:28 /b /two ro - cgroup cgroup rw,cpu\n";
        assert_eq!(located("4:cpu,memory:/a\n", mounts)[0], "One one");
    }

    #[test]
    fn a_cgroup_without_a_name_may_be_the_root() {
        let mounts = "31 23 0:28 /.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(located("0::/..\n", mounts), ["Two sys/fs/cgroup?"; 5]);
    }
}
