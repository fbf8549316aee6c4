//! Finds the process that writes a file of the recorder. The recorder knows the process only by the
//! id in its own PID namespace, which is not that of the pod if the application makes namespaces,
//! as `apptainer --pid` does.

use encode::number::float;
use linux::proc::files::{Files, Task};
use linux::proc::{stat, status};

use super::file::Trace;
use crate::runtime::machine::Machine;

/// The process that writes a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// The file was not read yet. Its name has the id of the process, as the process sees it.
    #[default]
    Unread,
    /// The process with this id in the PID namespace of the pod.
    Process(i32),
    /// A process that was not found, or that has another user than the file.
    Unknown,
}

/// What the observer needs to find a process.
pub struct Finder<'a> {
    /// The reader of `/proc`.
    pub files: &'a mut Files,
    /// The machine, which has the ticks of start times.
    pub machine: &'a Machine,
    /// The processes of the pod.
    pub ids: &'a [i32],
}

impl Finder<'_> {
    /// Returns the process that has recorded these calls. `user` is the owner of the file.
    pub fn find(&mut self, trace: &Trace, user: u32) -> Writer {
        let Ok(pid) = i32::try_from(trace.pid) else {
            return Writer::Unknown;
        };
        if own_namespace().is_some_and(|own| own == trace.namespace) {
            return match self.has_user(pid, user) {
                Some(false) => Writer::Unknown,
                // If the process has ended, its id is still that of the file.
                _ => Writer::Process(pid),
            };
        }
        let found = self.find_inner(pid, trace, user);
        found.map_or(Writer::Unknown, Writer::Process)
    }

    /// Finds the process that has this id in a namespace. If several have it in namespaces that
    /// cannot be read, none is returned.
    fn find_inner(&mut self, inner: i32, trace: &Trace, user: u32) -> Option<i32> {
        let mut possible = Vec::new();
        for at in 0..self.ids.len() {
            let pid = self.ids[at];
            if self.inner_pid(pid) != Some(inner)
                || !self.may_have_begun(pid, trace.began)
                || self.has_user(pid, user) == Some(false)
            {
                continue;
            }
            match self.namespace_of(pid) {
                Some(namespace) if namespace == trace.namespace => return Some(pid),
                Some(_) if trace.namespace != 0 => {}
                _ => possible.push(pid),
            }
        }
        possible.first().copied().filter(|_| possible.len() == 1)
    }

    fn inner_pid(&mut self, pid: i32) -> Option<i32> {
        let text = self.files.read_status(Task::Process(pid)).ok()?;
        status::parse_inner_pid(text)
    }

    /// Whether a process started before the file was begun.
    fn may_have_begun(&mut self, pid: i32, began: u64) -> bool {
        let Ok(text) = self.files.read(Task::Process(pid), "stat") else {
            return false;
        };
        stat::parse(text)
            .is_some_and(|stat| float(stat.start) / self.machine.ticks <= float(began) / 1e9)
    }

    /// Whether a process has a user: `None` if it has ended. A file of root can be of any process,
    /// because a process of root may change its user.
    fn has_user(&mut self, pid: i32, user: u32) -> Option<bool> {
        let text = self.files.read_status(Task::Process(pid)).ok()?;
        let uids = status::parse(text)?.uids;
        Some(user == 0 || uids.contains(&user))
    }

    fn namespace_of(&mut self, pid: i32) -> Option<u32> {
        parse_namespace(&self.files.read_link(pid, "ns/pid").ok()?)
    }
}

/// Returns the PID namespace of the observer, which is that of the pod.
fn own_namespace() -> Option<u32> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    parse_namespace(link.as_os_str().as_encoded_bytes())
}

/// Parses a link such as `pid:[4026531836]`.
fn parse_namespace(link: &[u8]) -> Option<u32> {
    let number = link.strip_prefix(b"pid:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::mpi_trace::file::State;

    fn trace(namespace: u32) -> Trace {
        Trace {
            saves: 1,
            pid: std::process::id(),
            namespace,
            rank: 0,
            size: 1,
            state: State::Running,
            has_known_library: true,
            library: String::new(),
            job: String::new(),
            began: u64::MAX,
            elapsed: 0,
            calls: 0,
            time: 0,
            bytes: 0,
            uncounted: 0,
            waits: None,
            fast_time: 0,
            communicators: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn find(trace: &Trace, user: u32) -> Writer {
        let ids = [i32::try_from(std::process::id()).unwrap()];
        let mut files = Files::open().unwrap();
        let machine = Machine::detect(&mut files).unwrap();
        let mut finder = Finder {
            files: &mut files,
            machine: &machine,
            ids: &ids,
        };
        finder.find(trace, user)
    }

    #[test]
    fn a_process_of_the_same_namespace_has_the_id_of_the_file() {
        let own = i32::try_from(std::process::id()).unwrap();
        let user = nix::unistd::getuid().as_raw();
        assert_eq!(
            find(&trace(own_namespace().unwrap()), user),
            Writer::Process(own)
        );
    }

    #[test]
    fn a_process_of_another_user_is_not_the_writer() {
        let user = nix::unistd::getuid().as_raw() + 1;
        assert_eq!(
            find(&trace(own_namespace().unwrap()), user),
            Writer::Unknown
        );
        assert_eq!(find(&trace(0), user), Writer::Unknown);
    }

    #[test]
    fn a_process_of_another_namespace_does_not_have_the_id_of_the_file() {
        let user = nix::unistd::getuid().as_raw();
        assert_eq!(
            find(&trace(own_namespace().unwrap() ^ 1), user),
            Writer::Unknown
        );
    }

    #[test]
    fn without_a_namespace_the_only_process_with_the_id_is_the_writer() {
        let own = i32::try_from(std::process::id()).unwrap();
        let user = nix::unistd::getuid().as_raw();
        assert_eq!(find(&trace(0), user), Writer::Process(own));
    }
}
