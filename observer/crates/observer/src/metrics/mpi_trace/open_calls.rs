//! Reads the memory that the recorder shares with the observer: the calls in which the threads of a
//! process are now. Its format is that of `struct shared` in observer/mpi/shared.h. A process can
//! write anything into this memory, and at any time.

use linux::read_at::ReadAt;

use super::file::{Peer, Place, is_call_name, text};
use crate::tools::words::Words;

/// The text of the link to the memory in `/proc/PID/fd` (`memfd_create(2)`).
pub const LINK: &[u8] = b"/memfd:ridealong-mpi (deleted)";

/// The beginning of the memory; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"RLMPO\0\0\x02";
const HEADER: usize = 64;
const THREADS: usize = 63;
const THREAD: usize = 64;
/// The offset of the id of a thread in its place, and the word of a thread that is in no call.
const TID: usize = 24;
const NO_CALL: u64 = 0xffff;
const COMMUNICATORS: usize = 64;
const COMMUNICATOR: usize = 32;
const COMMUNICATORS_AT: usize = HEADER + THREADS * THREAD;
const NAMES_AT: usize = COMMUNICATORS_AT + COMMUNICATORS * COMMUNICATOR;
const NAME: usize = 32;
/// The maximum number of functions that the observer accepts.
const MAX_CALLS: u32 = 4096;
/// The number of times that the memory is read, until two readings agree about a thread.
const MAX_READINGS: usize = 4;

/// What a process is doing in MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCalls {
    /// When `MPI_Init` had ended, or began if it has not ended, in nanoseconds since boot.
    pub began: u64,
    /// The longest time between two collective calls, in nanoseconds.
    pub longest_gap: u64,
    /// Whether there are threads in MPI that are not known.
    pub is_incomplete: bool,
    /// The threads that have called MPI.
    pub threads: Vec<OpenThread>,
    /// The communicators, in the order of their creation.
    pub communicators: Vec<Begun>,
}

impl OpenCalls {
    /// Returns the call of `MPI_Init` or `MPI_Init_thread` that has not returned, and when it
    /// began, in nanoseconds since boot.
    pub fn start(&self) -> Option<(&str, u64)> {
        self.threads.iter().find_map(|thread| {
            let name = thread.call.as_ref()?.name.as_str();
            let since = self.began.saturating_add(thread.since?);
            name.starts_with("Init").then_some((name, since))
        })
    }
}

/// A thread that has called MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenThread {
    /// The id of the thread, as the process sees it.
    pub tid: u32,
    /// The call in which the thread is; `None` if it is in none.
    pub call: Option<OpenCall>,
    /// When the call began, or when the last call ended, in nanoseconds since `MPI_Init`. `None` if
    /// that changes faster than it can be read.
    pub since: Option<u64>,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The name of the function, without `MPI_`.
    pub name: String,
    /// The communicator.
    pub place: Place,
    /// The peer, or the root of a collective call.
    pub peer: Peer,
    /// Whether the call waits to send, and whether it waits to receive.
    pub transfer: (bool, bool),
    /// The number of the collective call on its communicator, from 1.
    pub number: Option<u64>,
}

/// A communicator, with the collective calls that the process has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// A hash of the members.
    pub members: u64,
    /// The number of members, of the own group in an intercommunicator.
    pub size: u32,
    /// The number of members of the other group; 0 if it is not an intercommunicator.
    pub remote_size: u32,
    /// The number of earlier communicators with the same members.
    pub ordinal: u32,
    /// Whether the process has freed the communicator.
    pub is_freed: bool,
    /// The number of calls that all members make, in the same order.
    pub collectives: u64,
}

/// Whether this is the memory of a process.
pub fn is_of<F: ReadAt + ?Sized>(file: &F, pid: u32) -> bool {
    let mut start = [0; 16];
    let is_whole = file.read_at(0, &mut start) == start.len();
    is_whole && start.starts_with(MAGIC) && Words(&start).u32(8) == pid
}

/// Reads the memory. `None` if it is not that of the recorder.
pub fn read<F: ReadAt + ?Sized>(file: &F) -> Option<OpenCalls> {
    let mut last = read_bytes(file)?;
    let mut threads: Vec<Option<[u8; THREAD]>> = vec![None; THREADS];
    for _ in 1..MAX_READINGS {
        let now = read_bytes(file)?;
        for (at, thread) in threads.iter_mut().enumerate() {
            let from = HEADER + at * THREAD;
            let [before, after] = [&last, &now].map(|bytes| &bytes[from..from + THREAD]);
            if thread.is_none() && before == after {
                *thread = after.try_into().ok();
            }
        }
        last = now;
        if threads.iter().all(Option::is_some) {
            break;
        }
    }
    let words = Words(&last);
    let count = (words.u32(40) as usize).min(COMMUNICATORS);
    let (calls, began) = (words.u32(12).min(MAX_CALLS), words.u64(24));
    let communicators = last[COMMUNICATORS_AT..].chunks_exact(COMMUNICATOR);
    let threads = threads.iter().enumerate().filter_map(|(at, thread)| {
        let moving = Words(&last).u32(HEADER + at * THREAD + TID);
        match thread {
            Some(thread) => parse_thread(file, thread, (calls, began, count)),
            None if moving == 0 => None,
            None => Some(OpenThread {
                tid: moving,
                call: None,
                since: None,
            }),
        }
    });
    Some(OpenCalls {
        began: words.u64(16),
        longest_gap: words.u64(32),
        is_incomplete: words.u32(44) > 0,
        threads: threads.collect(),
        communicators: communicators.take(count).map(parse_communicator).collect(),
    })
}

fn read_bytes<F: ReadAt + ?Sized>(file: &F) -> Option<Vec<u8>> {
    let mut bytes = vec![0; NAMES_AT];
    let is_whole = file.read_at(0, &mut bytes) == bytes.len();
    (is_whole && bytes.starts_with(MAGIC)).then_some(bytes)
}

/// Parses a thread. `None` if no thread has the place, or if the call has no valid name.
fn parse_thread<F: ReadAt + ?Sized>(
    file: &F,
    bytes: &[u8],
    (calls, began, communicators): (u32, u64, usize),
) -> Option<OpenThread> {
    let words = Words(bytes);
    let (tid, call) = (words.u32(TID), words.u32(0));
    if tid == 0 {
        return None;
    }
    let call = if words.u64(0) == NO_CALL {
        None
    } else {
        // The parts of the word are those of describe_call in observer/mpi/shared.h.
        let function = Some(call & 0xffff).filter(|function| *function < calls)?;
        let has = |bit: u32| call >> bit & 1 != 0;
        Some(OpenCall {
            name: read_name(file, function)?,
            place: Place::parse(call >> 16 & 0xff, communicators).unwrap_or(Place::Other),
            peer: Peer::parse(words.u32(4)),
            transfer: (has(24), has(25)),
            number: Some(words.u64(16)).filter(|number| has(26) && *number > 0),
        })
    };
    Some(OpenThread {
        tid,
        call,
        since: Some(words.u64(8).saturating_sub(began)),
    })
}

fn read_name<F: ReadAt + ?Sized>(file: &F, call: u32) -> Option<String> {
    let mut bytes = [0; NAME];
    let at = NAMES_AT + call as usize * NAME;
    let is_whole = file.read_at(at as u64, &mut bytes) == bytes.len();
    Some(text(&bytes)).filter(|name| is_whole && is_call_name(name))
}

fn parse_communicator(bytes: &[u8]) -> Begun {
    let words = Words(bytes);
    Begun {
        members: words.u64(0),
        size: words.u32(8),
        remote_size: words.u32(12),
        ordinal: words.u32(16),
        is_freed: words.u32(20) != 0,
        collectives: words.u64(24),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;

    /// The memory of a process with the functions Send and Barrier, in Barrier since 1 s.
    pub fn example() -> Vec<u8> {
        let mut file = vec![0; NAMES_AT + 2 * NAME];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, MAGIC);
        for (at, number) in [(8, 77u32), (12, 2), (40, 1)] {
            put(at, &number.to_le_bytes());
        }
        put(24, &2_000_000_000u64.to_le_bytes());
        put(32, &500_000_000u64.to_le_bytes());
        for (at, number) in [(0, 1 | 1 << 26), (4, u32::MAX), (TID, 78)] {
            put(HEADER + at, &number.to_le_bytes());
        }
        for (at, number) in [(8, 3_000_000_000u64), (16, 9)] {
            put(HEADER + at, &number.to_le_bytes());
        }
        put(COMMUNICATORS_AT + 8, &8u32.to_le_bytes());
        put(COMMUNICATORS_AT + 24, &9u64.to_le_bytes());
        put(NAMES_AT, b"Send");
        put(NAMES_AT + NAME, b"Barrier");
        file
    }

    fn barrier() -> OpenThread {
        OpenThread {
            tid: 78,
            call: Some(OpenCall {
                name: "Barrier".to_owned(),
                place: Place::Communicator(0),
                peer: Peer::None,
                transfer: (false, false),
                number: Some(9),
            }),
            since: Some(1_000_000_000),
        }
    }

    #[test]
    fn the_open_call_of_a_thread_is_read() {
        let file = example();
        assert!(is_of(file.as_slice(), 77));
        assert!(!is_of(file.as_slice(), 78));
        let read = read(file.as_slice()).unwrap();
        assert_eq!(read.threads, [barrier()]);
        assert_eq!((read.longest_gap, read.is_incomplete), (500_000_000, false));
        let begun = read.communicators[0];
        assert_eq!((begun.size, begun.collectives), (8, 9));
    }

    #[test]
    fn a_thread_outside_of_mpi_has_no_call() {
        let mut file = example();
        file[HEADER..HEADER + 8].copy_from_slice(&NO_CALL.to_le_bytes());
        let thread = OpenThread {
            call: None,
            ..barrier()
        };
        assert_eq!(read(file.as_slice()).unwrap().threads, [thread]);
    }

    /// Memory that changes each time that it is read.
    struct Changing(RefCell<Vec<u8>>);

    impl ReadAt for Changing {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> usize {
            self.0.borrow_mut()[HEADER + 8] += 2;
            self.0.borrow().as_slice().read_at(offset, buffer)
        }
    }

    #[test]
    fn a_thread_that_moves_is_in_no_call() {
        let read = read(&Changing(RefCell::new(example()))).unwrap();
        let moving = OpenThread {
            tid: 78,
            call: None,
            since: None,
        };
        assert_eq!(read.threads, [moving]);
    }

    #[test]
    fn memory_of_another_version_is_rejected() {
        let mut file = example();
        file[7] = 1;
        assert!(read(file.as_slice()).is_none());
        assert!(!is_of(file.as_slice(), 77));
    }

    proptest! {
        #[test]
        fn any_bytes_are_bounded(changes in prop::collection::vec((8..NAMES_AT, any::<u8>()), 0..64)) {
            let mut file = example();
            for (at, byte) in changes {
                file[at] = byte;
            }
            let read = read(file.as_slice()).unwrap();
            prop_assert!(read.threads.len() <= THREADS);
            prop_assert!(read.communicators.len() <= COMMUNICATORS);
            for call in read.threads.iter().filter_map(|thread| thread.call.as_ref()) {
                prop_assert!(is_call_name(&call.name));
            }
        }
    }
}
