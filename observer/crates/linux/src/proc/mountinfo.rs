//! Parses `/proc/PID/mountinfo`.

use super::words::{lines, words};

/// The maximum bytes of a container's name, which is a DNS label (kubernetes
/// pkg/apis/core/validation/validation.go, `validateContainerCommon`).
const MAX_NAME: usize = 63;

/// The mount of the file for the termination message of a container. The kubelet mounts it from
/// `/var/lib/kubelet/pods/UID/containers/NAME/ID` (kubernetes
/// `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `makeMounts`). The path in the container
/// depends on the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount<'a> {
    /// The number of the device of the kubelet's file system.
    pub device: &'a [u8],
    /// The path `…/pods/UID/containers` in this file system.
    pub directory: &'a [u8],
    /// The name of the container.
    pub name: &'a [u8],
    /// The name of the file, which is random. Each start of the container has another one.
    pub file: &'a [u8],
}

/// Returns the mounts that look like the kubelet's mount, in the kernel's order. Only the source of
/// a mount counts, because a process with mounts of its own chooses where it mounts a file.
pub fn container_mounts(text: &[u8]) -> impl Iterator<Item = ContainerMount<'_>> {
    lines(text).filter_map(|line| {
        let mut words = words(line).skip(2);
        let device = words.next()?;
        let (directory, name, file) = container_in_path(words.next()?)?;
        Some(ContainerMount {
            device,
            directory,
            name,
            file,
        })
    })
}

/// Returns the directory, the NAME and the ID in a path `…/pods/UID/containers/NAME/ID`.
fn container_in_path(path: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut parts = path.rsplit(|byte| *byte == b'/');
    let id = parts.next()?;
    let name = parts.next()?;
    let directory = parts.next()?;
    let uid = parts.next()?;
    let pods = parts.next()?;
    // In an absolute path, an empty part precedes the first slash.
    let is_absolute = parts.next().is_some();
    let is_mount = is_absolute && directory == b"containers" && pods == b"pods";
    let is_name = (1..=MAX_NAME).contains(&name.len());
    let end = path.len().checked_sub(id.len() + name.len() + 2)?;
    (is_mount && is_name && !id.is_empty() && !uid.is_empty()).then_some((&path[..end], name, id))
}

/// A mount of a hierarchy of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupMount<'a> {
    /// The path of the mounted cgroup, in the same form as the paths in `/proc/PID/cgroup`.
    pub root: Vec<u8>,
    /// The path of the mount, relative to the root directory of the process.
    pub point: Vec<u8>,
    /// The options of a hierarchy of version 1, separated by commas. They include the names of its
    /// controllers. `None` for version 2.
    pub controllers: Option<&'a [u8]>,
}

/// Returns the mounts of cgroups, in the kernel's order. Of two mounts with the same path, the
/// later is in use. A mount is left out if a later mount of another file system is at the same
/// path, above it or below it: reading there may block, for example if a server of files is gone.
pub fn cgroup_mounts(text: &[u8]) -> Vec<CgroupMount<'_>> {
    let mut mounts: Vec<CgroupMount<'_>> = Vec::new();
    for line in lines(text) {
        let Some((root, point, controllers)) = parse_mount(line) else {
            continue;
        };
        match controllers {
            Some(controllers) => mounts.push(CgroupMount {
                root,
                point,
                controllers,
            }),
            None => mounts.retain(|mount| {
                !is_within(&mount.point, &point) && !is_within(&point, &mount.point)
            }),
        }
    }
    mounts
}

/// Parses a mount: its root, its path and, for a hierarchy of cgroups, the controllers as in
/// [`CgroupMount`].
#[expect(clippy::type_complexity)]
fn parse_mount(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Option<Option<&[u8]>>)> {
    let mut words = words(line).skip(3);
    let root = unescape(words.next()?);
    let point = unescape(words.next()?);
    // A dash follows the optional fields (proc_pid_mountinfo(5)).
    words.find(|word| *word == b"-")?;
    let controllers = match words.next()? {
        b"cgroup" => Some(Some(words.nth(1)?)),
        b"cgroup2" => Some(None),
        _ => None,
    };
    Some((root, point, controllers))
}

/// Whether a path is another path or below it.
fn is_within(path: &[u8], other: &[u8]) -> bool {
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| other.ends_with(b"/") || rest.first().is_none_or(|byte| *byte == b'/'))
}

/// Replaces the octal escapes of blanks, tabs, newlines and backslashes.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, tail @ ..] = rest {
        let byte;
        (byte, rest) = match (first, tail) {
            (b'\\', [b'0', b'4', b'0', tail @ ..]) => (&b' ', tail),
            (b'\\', [b'0', b'1', b'1', tail @ ..]) => (&b'\t', tail),
            (b'\\', [b'0', b'1', b'2', tail @ ..]) => (&b'\n', tail),
            (b'\\', [b'1', b'3', b'4', tail @ ..]) => (&b'\\', tail),
            _ => (first, tail),
        };
        out.push(*byte);
    }
    out
}

/// Returns the value of the mount option `hidepid` of `/proc`, if the option hides processes
/// (proc(5)).
pub fn hidepid(text: &[u8]) -> Option<&[u8]> {
    let mounts = lines(text).filter(|line| words(line).nth(4) == Some(b"/proc"));
    let options = words(mounts.last()?).last()?;
    let value = options
        .split(|byte| *byte == b',')
        .find_map(|option| option.strip_prefix(b"hidepid="))?;
    (value != b"0" && value != b"off").then_some(value)
}

/// Whether the mount at a path has the option `noexec`, so that no library below the path can be
/// mapped. Of several mounts at the path, the last is in use. `None` if there is no mount at the
/// path. The path must not have characters that the kernel escapes, such as blanks.
pub fn is_noexec(text: &[u8], path: &[u8]) -> Option<bool> {
    let mounts = lines(text).filter(|line| words(line).nth(4) == Some(path));
    let mut options = words(mounts.last()?).nth(5)?.split(|byte| *byte == b',');
    Some(options.any(|option| option == b"noexec"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n812 790 254:0 /var/lib/kubelet/pods/8d1e/containers/app/1f2e /dev/termination-log rw,relatime - ext4 /dev/vda rw\n";

    fn container(text: &[u8]) -> Option<[&[u8]; 4]> {
        let mount = container_mounts(text).next()?;
        Some([mount.device, mount.directory, mount.name, mount.file])
    }

    #[test]
    fn the_kubelets_mount_names_the_container() {
        let directory = b"/var/lib/kubelet/pods/8d1e/containers".as_slice();
        let expected = [b"254:0".as_slice(), directory, b"app", b"1f2e"];
        assert_eq!(container(LOG), Some(expected));
        assert_eq!(container(b"22 27 0:21 / /proc rw - proc proc rw\n"), None);
        assert_eq!(container(b"1 2 3 /pods/u/containers/a/b/c /x rw\n"), None);
        assert_eq!(container(b"1 2 3 /pods//containers/a/b /x rw\n"), None);
        let long = format!("1 2 3 /pods/u/containers/{}/b /x rw\n", "a".repeat(64));
        assert_eq!(container(long.as_bytes()), None);
        assert_eq!(container(b"1 2 3 pods/u/containers/a/b /x rw\n"), None);
        // The path in the container, which an application can choose.
        assert_eq!(container(b"1 2 0:3 /x /pods/u/containers/a/b rw\n"), None);
    }

    #[test]
    fn mounts_of_cgroups_are_found() {
        // From Linux 6.18, with hierarchies of version 1, and version 2 without controllers.
        let text = b"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n35 31 0:32 /kubepods/x /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let expected = [
            CgroupMount {
                root: b"/kubepods/x".to_vec(),
                point: b"/sys/fs/cgroup/memory".to_vec(),
                controllers: Some(b"rw,memory"),
            },
            CgroupMount {
                root: b"/".to_vec(),
                point: b"/sys/fs/cgroup/unified".to_vec(),
                controllers: None,
            },
        ];
        assert_eq!(cgroup_mounts(text), expected);
        assert_eq!(cgroup_mounts(LOG), []);
    }

    #[test]
    fn a_mount_of_cgroups_that_a_later_mount_may_cover_is_left_out() {
        let cgroup = "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let count = |points: &[&str]| {
            let other = |point: &&str| format!("40 31 0:40 / {point} rw - fuse fuse rw\n");
            let later: String = points.iter().map(other).collect();
            cgroup_mounts(format!("{cgroup}{later}").as_bytes()).len()
        };
        for point in ["/sys/fs/cgroup", "/sys", "/", "/sys/fs/cgroup/a/b"] {
            assert_eq!(count(&[point]), 0, "{point}");
        }
        assert_eq!(
            count(&["/sys/fs/cgroup2", "/sys/fs/c", "/proc", "/data"]),
            1
        );
        // An earlier mount is covered by the cgroups.
        let text = format!("30 23 0:27 / /sys ro - sysfs sysfs rw\n{cgroup}");
        assert_eq!(cgroup_mounts(text.as_bytes()).len(), 1);
    }

    #[test]
    fn escapes_in_paths_are_replaced() {
        assert_eq!(unescape(br"/a\134x2d\040b\011\012"), b"/a\\x2d b\t\n");
        assert_eq!(unescape(br"/a\13"), br"/a\13");
    }

    #[test]
    fn a_mount_without_executable_code_is_found_by_its_path() {
        // From a pod of Kubernetes 1.36.3 with containerd 2.4.2, with shorter options of overlay.
        // `noexec` was added to the second line.
        let text = b"1900 1879 0:173 /tool/mpi-trace /opt/ridealong/mpi-trace ro,relatime - overlay overlay rw,lowerdir=/9/fs:/8/fs,upperdir=/29/fs,workdir=/29/work,uuid=on,fsync=volatile\n1901 1879 0:173 /tool/cpu-profile /opt/ridealong/cpu-profile ro,noexec,relatime - overlay overlay rw,lowerdir=/9/fs:/8/fs,upperdir=/29/fs,workdir=/29/work,uuid=on,fsync=volatile\n";
        assert_eq!(is_noexec(text, b"/opt/ridealong/mpi-trace"), Some(false));
        assert_eq!(is_noexec(text, b"/opt/ridealong/cpu-profile"), Some(true));
        assert_eq!(is_noexec(text, b"/opt/ridealong"), None);
        assert_eq!(is_noexec(text, b"/tool/cpu-profile"), None);
        let covered = [
            text.as_slice(),
            b"9 1 0:3 / /opt/ridealong/cpu-profile rw - tmpfs t rw\n",
        ];
        let path = b"/opt/ridealong/cpu-profile";
        assert_eq!(is_noexec(&covered.concat(), path), Some(false));
        assert_eq!(is_noexec(b"1 2 0:3 / /a\n", b"/a"), None);
    }

    #[test]
    fn the_option_hidepid_of_proc_is_found_if_it_hides_processes() {
        assert_eq!(hidepid(LOG), None);
        let hidden = b"22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n";
        assert_eq!(hidepid(hidden), Some(b"invisible".as_slice()));
        assert_eq!(
            hidepid(b"22 27 0:21 / /proc rw - proc proc rw,gid=5,hidepid=2\n"),
            Some(b"2".as_slice())
        );
        assert_eq!(
            hidepid(b"22 27 0:21 / /proc rw - proc proc rw,hidepid=off\n"),
            None
        );
        assert_eq!(hidepid(b""), None);
    }
}
