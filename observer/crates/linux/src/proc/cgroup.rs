//! Parses `/proc/PID/cgroup`.

use super::words::lines;

/// A hierarchy of cgroups, and the cgroup of a process in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership<'a> {
    /// The controllers of a hierarchy of version 1, separated by commas; empty for version 2.
    pub controllers: &'a [u8],
    /// The path of the cgroup, relative to the root of the reader's cgroup namespace. It begins
    /// with `/..` if the cgroup is not below that root (`cgroup_namespaces(7)`).
    pub path: &'a [u8],
}

/// Returns the cgroup of a process in each hierarchy, in the kernel's order. Invalid lines are
/// skipped.
pub fn memberships(text: &[u8]) -> impl Iterator<Item = Membership<'_>> {
    lines(text).filter_map(|line| {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let _hierarchy = parts.next()?;
        let controllers = parts.next()?;
        let path = parts.next()?;
        path.starts_with(b"/")
            .then_some(Membership { controllers, path })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let text_of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        memberships(text.as_bytes())
            .map(|found| (text_of(found.controllers), text_of(found.path)))
            .collect()
    }

    #[test]
    fn each_line_is_the_cgroup_of_a_hierarchy() {
        // From Linux 6.18, with hierarchies of version 1, and version 2 without controllers.
        let text = "9:name=systemd:/\n4:memory:/kubepods/pod1/2a\n1:cpu,cpuacct:/a:b\n0::/../c\n";
        let expected = [
            ("name=systemd", "/"),
            ("memory", "/kubepods/pod1/2a"),
            ("cpu,cpuacct", "/a:b"),
            ("", "/../c"),
        ]
        .map(|(controllers, path)| (controllers.to_owned(), path.to_owned()));
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn invalid_lines_are_skipped() {
        assert_eq!(pairs("0::\n0:\nx\n\n"), []);
    }
}
