//! Parses `/proc/PID/task/TID/syscall`, the system call in which a thread sleeps.

use nix::libc;

use super::words::words;

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Its number on this architecture.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// It runs, or waits for a processor.
    Running,
    /// It sleeps in a system call.
    Sleeping(SystemCall),
    /// It sleeps for another reason, for example to read a page of a file.
    Elsewhere,
}

/// Parses a syscall file. `None` if the text is not valid.
pub fn parse(text: &[u8]) -> Option<Position> {
    let mut words = words(text);
    let first = std::str::from_utf8(words.next()?).ok()?;
    if first == "running" {
        return Some(Position::Running);
    }
    let number = first.parse().ok()?;
    if number < 0 {
        return Some(Position::Elsewhere);
    }
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        let word = std::str::from_utf8(words.next()?).ok()?;
        *argument = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
    }
    Some(Position::Sleeping(SystemCall { number, arguments }))
}

/// The operation of futex(2) without its flags, and the operations that wait.
const FUTEX_COMMAND: u64 = 127;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;

/// Whether the kernel continues a call after a signal whose handler has `SA_RESTART`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It does, or the call has no effect yet and is made again (signal(7)).
    Always,
    /// Only if the file with this number is a pipe: a read of a socket ends if the socket has a
    /// timeout, and that of an inotify file always ends.
    IfPipe(u64),
    /// The call ends with EINTR, or it is not known what happens.
    Never,
}

impl SystemCall {
    /// Returns whether the kernel continues the call after a signal. Calls that are not listed
    /// count as calls that end.
    pub fn restart(&self) -> Restart {
        let [file, operation, _, timeout, ..] = self.arguments;
        match self.number {
            libc::SYS_wait4 | libc::SYS_waitid => Restart::Always,
            libc::SYS_futex => {
                let waits = matches!(operation & FUTEX_COMMAND, FUTEX_WAIT | FUTEX_WAIT_BITSET);
                if waits && timeout == 0 {
                    Restart::Always
                } else {
                    Restart::Never
                }
            }
            libc::SYS_read | libc::SYS_readv => Restart::IfPipe(file),
            _ => Restart::Never,
        }
    }

    /// Returns the name of the call; `None` for a call in which threads rarely sleep.
    pub fn name(&self) -> Option<&'static str> {
        let all = NAMES.iter().chain(&OLD_NAMES);
        all.clone()
            .find(|(number, _)| *number == self.number)
            .map(|(_, name)| *name)
    }
}

/// The calls in which threads sleep.
const NAMES: [(i64, &str); 40] = [
    (libc::SYS_read, "read"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_pread64, "pread"),
    (libc::SYS_write, "write"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pwrite64, "pwrite"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_openat, "open"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_ioctl, "ioctl"),
    (libc::SYS_ppoll, "poll"),
    (libc::SYS_pselect6, "select"),
    (libc::SYS_epoll_pwait, "epoll_wait"),
    (libc::SYS_epoll_pwait2, "epoll_wait"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "nanosleep"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_wait4, "wait"),
    (libc::SYS_waitid, "wait"),
    (libc::SYS_recvfrom, "recv"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_recvmmsg, "recvmmsg"),
    (libc::SYS_sendto, "send"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_semop, "semop"),
    (libc::SYS_semtimedop, "semop"),
    (libc::SYS_msgrcv, "msgrcv"),
    (libc::SYS_msgsnd, "msgsnd"),
    (libc::SYS_rt_sigtimedwait, "sigtimedwait"),
    (libc::SYS_rt_sigsuspend, "sigsuspend"),
    (libc::SYS_io_getevents, "io_getevents"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
    (libc::SYS_mq_timedreceive, "mq_receive"),
    (libc::SYS_sched_yield, "sched_yield"),
    (libc::SYS_restart_syscall, "a call that is continued"),
];

/// The calls that only old architectures have.
#[cfg(target_arch = "x86_64")]
const OLD_NAMES: [(i64, &str); 5] = [
    (libc::SYS_open, "open"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_select, "select"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_pause, "pause"),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_NAMES: [(i64, &str); 0] = [];

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, arguments: [u64; 6]) -> SystemCall {
        SystemCall { number, arguments }
    }

    #[test]
    fn the_call_and_its_arguments_are_parsed() {
        let text = b"0 0x3 0x7fff92dbbebf 0x1 0x0 0x0 0x64 0x7fff92dbbea8 0x7f30115de2ad\n";
        let expected = call(0, [3, 0x7fff_92db_bebf, 1, 0, 0, 0x64]);
        assert_eq!(parse(text), Some(Position::Sleeping(expected)));
        assert_eq!(parse(b"running\n"), Some(Position::Running));
        assert_eq!(
            parse(b"-1 0x7fff92dbbea8 0x7f30115de2ad\n"),
            Some(Position::Elsewhere)
        );
        for text in [&b""[..], b"read", b"0 0x3", b"0 3 4 5 6 7 8"] {
            assert_eq!(parse(text), None);
        }
    }

    #[test]
    fn only_calls_that_continue_may_get_a_signal() {
        let none = [0; 6];
        assert_eq!(call(libc::SYS_wait4, none).restart(), Restart::Always);
        assert_eq!(
            call(libc::SYS_read, [5, 0, 0, 0, 0, 0]).restart(),
            Restart::IfPipe(5)
        );
        // Private and with the clock of the system, with and without a timeout.
        let flags = 128 | 256;
        for operation in [0, 9] {
            let without = call(libc::SYS_futex, [1, operation | flags, 2, 0, 0, 0]);
            assert_eq!(without.restart(), Restart::Always);
            let with = call(libc::SYS_futex, [1, operation | flags, 2, 3, 0, 0]);
            assert_eq!(with.restart(), Restart::Never);
        }
        // FUTEX_WAIT_REQUEUE_PI.
        let other = call(libc::SYS_futex, [1, 11, 2, 0, 0, 0]);
        assert_eq!(other.restart(), Restart::Never);
        for number in [libc::SYS_ppoll, libc::SYS_semop, libc::SYS_recvfrom, 9999] {
            assert_eq!(call(number, none).restart(), Restart::Never);
        }
    }

    #[test]
    fn calls_have_the_names_of_their_functions() {
        assert_eq!(
            call(libc::SYS_clock_nanosleep, [0; 6]).name(),
            Some("nanosleep")
        );
        assert_eq!(call(9999, [0; 6]).name(), None);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(call(7, [0; 6]).name(), Some("poll"));
    }
}
