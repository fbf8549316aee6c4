//! `/proc/PID/mountinfo`.

use super::words::{lines, words};

/// The maximum bytes of a container's name, which is a DNS label (kubernetes
/// pkg/apis/core/validation/validation.go, `validateContainerCommon`).
const MAX_NAME: usize = 63;

/// Returns the name of the container. The kubelet mounts the file for the termination message from
/// `/var/lib/kubelet/pods/UID/containers/NAME/ID` (kubernetes
/// `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `makeMounts`). `None` if there is no such
/// mount.
#[must_use]
pub fn container(text: &[u8]) -> Option<&[u8]> {
    words(text).find_map(container_in_path)
}

/// Returns the NAME in a path `…/pods/UID/containers/NAME/ID`.
fn container_in_path(path: &[u8]) -> Option<&[u8]> {
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
    (is_mount && is_name && !id.is_empty() && !uid.is_empty()).then_some(name)
}

/// Returns the value of the mount option `hidepid` of `/proc`, if the option hides processes
/// (proc(5)).
#[must_use]
pub fn hidepid(text: &[u8]) -> Option<&[u8]> {
    let mounts = lines(text).filter(|line| words(line).nth(4) == Some(b"/proc"));
    let options = words(mounts.last()?).last()?;
    let value = options
        .split(|byte| *byte == b',')
        .find_map(|option| option.strip_prefix(b"hidepid="))?;
    (value != b"0" && value != b"off").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n812 790 254:0 /var/lib/kubelet/pods/8d1e/containers/app/1f2e /dev/termination-log rw,relatime - ext4 /dev/vda rw\n";

    #[test]
    fn the_kubelets_mount_names_the_container() {
        assert_eq!(container(LOG), Some(b"app".as_slice()));
        assert_eq!(container(b"22 27 0:21 / /proc rw - proc proc rw\n"), None);
        assert_eq!(container(b"1 2 3 /pods/u/containers/a/b/c /x rw\n"), None);
        assert_eq!(container(b"1 2 3 /pods//containers/a/b /x rw\n"), None);
        let long = format!("1 2 3 /pods/u/containers/{}/b /x rw\n", "a".repeat(64));
        assert_eq!(container(long.as_bytes()), None);
        assert_eq!(container(b"1 2 3 pods/u/containers/a/b /x rw\n"), None);
    }

    #[test]
    fn a_hidden_proc_is_known_by_its_option() {
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
