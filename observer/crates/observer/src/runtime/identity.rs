//! Assumes the identity of another user to read the files of a process in `/proc`. The kernel
//! compares the filesystem user and group of the reader with the user and group of the process
//! (kernel/ptrace.c, `__ptrace_may_access`). An observer with the capabilities SETUID and SETGID
//! can assume the user and group of the process during a read.

use linux::proc::status::{Status, effective_capabilities};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, seteuid, setfsgid, setfsuid};

const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;

/// The user and the group of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    user: u32,
    group: u32,
}

impl Identity {
    /// Returns the identity of a process. `None` if its real, effective and saved ids differ,
    /// because then only a reader with the capability `SYS_PTRACE` may read its files.
    pub fn of(status: &Status) -> Option<Self> {
        let [user, users @ ..] = status.uids;
        let [group, groups @ ..] = status.gids;
        let is_one = users[..2] == [user, user] && groups[..2] == [group, group];
        is_one.then_some(Self { user, group })
    }

    /// Whether this is the user of the identity.
    pub fn has_user(self, user: u32) -> bool {
        self.user == user
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.user, self.group)
    }
}

impl std::str::FromStr for Identity {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (user, group) = text.split_once(':').ok_or(())?;
        let (user, group) = (
            user.parse().map_err(|_| ())?,
            group.parse().map_err(|_| ())?,
        );
        Ok(Self { user, group })
    }
}

/// The observer's own identity, and whether the observer can assume other identities.
#[derive(Clone, Copy, Debug)]
pub struct ObserverIdentity {
    identity: Identity,
    may_change: bool,
}

impl ObserverIdentity {
    /// Creates the identity from the observer's own status: its text, and the parsed status.
    pub fn from_status(text: &[u8], status: &Status) -> Self {
        let needed = (1 << CAP_SETGID) | (1 << CAP_SETUID);
        let identity = Identity {
            user: status.uids[3],
            group: status.gids[3],
        };
        Self {
            identity,
            may_change: effective_capabilities(text)
                .is_some_and(|effective| effective & needed == needed),
        }
    }

    /// Whether the observer has this identity or can assume it.
    pub fn can_be(&self, other: Identity) -> bool {
        other == self.identity || self.can_assume(other)
    }

    /// Whether the observer can assume this identity and does not already have it.
    pub fn can_assume(&self, other: Identity) -> bool {
        self.may_change && other != self.identity
    }

    /// Does something as another user, such as sending a signal, for which the kernel compares the
    /// effective user (kernel/signal.c, `kill_ok_by_cred`).
    ///
    /// # Errors
    /// Those of `act`, and `EPERM` if the observer may not change its user.
    pub fn with_effective_user<T>(
        &self,
        other: Identity,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        seteuid(Uid::from_raw(other.user))?;
        let result = act();
        seteuid(Uid::from_raw(self.identity.user))?;
        result
    }

    /// Assumes another identity until the returned guard is dropped.
    pub fn assume(&self, other: Identity) -> AssumedIdentity {
        setfsgid(Gid::from_raw(other.group));
        setfsuid(Uid::from_raw(other.user));
        AssumedIdentity(self.identity)
    }
}

/// A guard. Files are read as another user until the guard is dropped, which restores the
/// observer's own identity.
pub struct AssumedIdentity(Identity);

impl Drop for AssumedIdentity {
    fn drop(&mut self) {
        setfsuid(Uid::from_raw(self.0.user));
        setfsgid(Gid::from_raw(self.0.group));
    }
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
    fn a_process_with_different_ids_has_no_identity() {
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
    fn an_identity_is_parsed_as_it_is_printed() {
        let identity = Identity::of(&status([1234; 4], [5678; 4])).unwrap();
        assert_eq!(identity.to_string(), "1234:5678");
        assert_eq!("1234:5678".parse(), Ok(identity));
        assert_eq!("1234".parse::<Identity>(), Err(()));
        assert_eq!("a:1".parse::<Identity>(), Err(()));
    }

    #[test]
    fn an_identity_can_be_assumed_only_with_both_capabilities() {
        let root = status([0; 4], [0; 4]);
        let other = Identity {
            user: 1234,
            group: 5678,
        };
        // The default capabilities of a container, then none, then only SETGID.
        let own = ObserverIdentity::from_status(b"CapEff:\t00000000a80425fb\n", &root);
        assert!(own.can_assume(other));
        assert!(!own.can_assume(own.identity));
        assert!(
            !ObserverIdentity::from_status(b"CapEff:\t0000000000000000\n", &root).can_assume(other)
        );
        assert!(
            !ObserverIdentity::from_status(b"CapEff:\t0000000000000040\n", &root).can_assume(other)
        );
        assert!(!ObserverIdentity::from_status(b"", &root).can_assume(other));
    }
}
