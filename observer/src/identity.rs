//! Reading as another user: the kernel compares the reader's filesystem user and group with those
//! of the process that is read (kernel/ptrace.c, `__ptrace_may_access`), and root that has the
//! capabilities SETUID and SETGID may take them for a moment.

use nix::unistd::{Gid, Uid, setfsgid, setfsuid};

use crate::proc::status::Status;
use crate::proc::words::{lines, words};

const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;

/// A user and a group, as one process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    user: u32,
    group: u32,
}

impl Identity {
    /// Who a process is, if it is one user and one group: while it changes between two, none of
    /// them may read it.
    #[must_use]
    pub fn of(status: &Status) -> Option<Self> {
        let [user, users @ ..] = status.uids;
        let [group, groups @ ..] = status.gids;
        let is_one = users[..2] == [user, user] && groups[..2] == [group, group];
        is_one.then_some(Self { user, group })
    }
}

/// Who the observer is, and whether it may read as somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    identity: Identity,
    may_change: bool,
}

impl Own {
    /// From the observer's own status.
    #[must_use]
    pub fn from_status(text: &[u8], status: &Status) -> Self {
        let identity = Identity {
            user: status.uids[3],
            group: status.gids[3],
        };
        Self {
            identity,
            may_change: has_capabilities(text, (1 << CAP_SETGID) | (1 << CAP_SETUID)),
        }
    }

    /// Whether taking this identity could let the observer read more than it can now.
    #[must_use]
    pub fn may_become(&self, other: Identity) -> bool {
        self.may_change && other != self.identity
    }

    /// Takes another identity until what is returned is dropped.
    pub fn become_for_now(&self, other: Identity) -> Guard {
        setfsgid(Gid::from_raw(other.group));
        setfsuid(Uid::from_raw(other.user));
        Guard(self.identity)
    }
}

/// While it lives, files are read as another user. It brings the observer's own identity back.
#[must_use]
pub struct Guard(Identity);

impl Drop for Guard {
    fn drop(&mut self) {
        setfsuid(Uid::from_raw(self.0.user));
        setfsgid(Gid::from_raw(self.0.group));
    }
}

/// Whether all of these capabilities are effective, from the text of a status.
fn has_capabilities(text: &[u8], wanted: u64) -> bool {
    let effective = lines(text)
        .find_map(|line| line.strip_prefix(b"CapEff:"))
        .and_then(|rest| words(rest).next())
        .and_then(|word| std::str::from_utf8(word).ok())
        .and_then(|word| u64::from_str_radix(word, 16).ok());
    effective.is_some_and(|effective| effective & wanted == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(uids: [u32; 4], gids: [u32; 4]) -> Status {
        Status {
            uids,
            gids,
            ..Status::default()
        }
    }

    #[test]
    fn a_process_between_two_users_is_nobody() {
        let expected = Identity {
            user: 1234,
            group: 5678,
        };
        assert_eq!(Identity::of(&status([1234; 4], [5678; 4])), Some(expected));
        assert_eq!(Identity::of(&status([1234, 0, 0, 0], [5678; 4])), None);
        assert_eq!(
            Identity::of(&status([1234, 1234, 0, 1234], [5678; 4])),
            None
        );
        assert_eq!(
            Identity::of(&status([1234; 4], [0, 5678, 5678, 5678])),
            None
        );
    }

    #[test]
    fn only_who_may_change_its_user_and_group_does() {
        let root = status([0; 4], [0; 4]);
        let other = Identity {
            user: 1234,
            group: 5678,
        };
        // A container's default capabilities, and none.
        let own = Own::from_status(b"CapEff:\t00000000a80425fb\n", &root);
        assert!(own.may_become(other));
        assert!(!own.may_become(own.identity));
        assert!(!Own::from_status(b"CapEff:\t0000000000000000\n", &root).may_become(other));
        assert!(!Own::from_status(b"CapEff:\t0000000000000040\n", &root).may_become(other));
        assert!(!Own::from_status(b"", &root).may_become(other));
    }
}
