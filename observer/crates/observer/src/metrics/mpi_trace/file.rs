//! Reads a file of the recorder. Its format is that of `table` in observer/mpi/table.h: a
//! header, 64 communicators, and the rows. The recorder writes two copies in turns.

use linux::read_at::ReadAt;

use crate::tools::words::Words;

/// The beginning of each copy; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"RLMPI\0\0\x03";
const MAX_COMMUNICATORS: usize = 64;
const MAX_ROWS: usize = 1024;
/// The number of blocks of a communicator.
pub const BLOCKS: usize = 256;
const TEXT: usize = 128;
const NAME: usize = 32;
const TEXTS_AT: usize = 144;
/// The bytes of a copy before its communicators.
pub const HEADER: usize = TEXTS_AT + 2 * TEXT;
const COMMUNICATOR: usize = 56 + 8 * BLOCKS;
const ROW: usize = 48 + NAME;
/// The offset of the rows in a copy.
pub const ROWS_AT: usize = HEADER + MAX_COMMUNICATORS * COMMUNICATOR;
/// The distance between the two copies.
const COPY: usize = (ROWS_AT + MAX_ROWS * ROW).next_multiple_of(4096);
/// The bytes at the beginning of a copy that its checksum does not cover.
const UNCHECKED: usize = 16;
/// The maximum number of the recorder for a peer that has no row of its own.
const OTHER_PEER: i32 = -2;

/// What a process has recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The number of times that the process has written the file.
    pub saves: u64,
    /// The process id, as the process sees it.
    pub pid: u32,
    /// The number of its PID namespace; 0 if not known.
    pub namespace: u32,
    /// The rank in `MPI_COMM_WORLD`. In `MPI_Init`, that of the launcher, or `u32::MAX`.
    pub rank: u32,
    /// The number of processes of `MPI_COMM_WORLD`. In `MPI_Init`, that of the launcher, or 0.
    pub size: u32,
    /// How far the process is.
    pub state: State,
    /// Whether the recorder knows the MPI library. Otherwise there are no calls.
    pub has_known_library: bool,
    /// The version of the MPI library.
    pub library: String,
    /// The identifier of the job, or an empty text.
    pub job: String,
    /// When `MPI_Init` had ended, or began if it has not ended, in nanoseconds since boot.
    pub began: u64,
    /// The nanoseconds from `MPI_Init` until the file was written.
    pub elapsed: u64,
    /// The calls.
    pub calls: u64,
    /// The nanoseconds in calls.
    pub time: u64,
    /// The bytes that the calls have sent, put or written.
    pub bytes: u64,
    /// The calls that may have sent bytes that are not counted.
    pub uncounted: u32,
    /// How long its threads waited for a processor; `None` if not known.
    pub waits: Option<Waits>,
    /// The nanoseconds that the calls would have taken if all with the same function, communicator
    /// and peer had been as fast as the fastest sixteenth of them.
    pub fast_time: u64,
    /// The communicators, in the order of their creation.
    pub communicators: Vec<Communicator>,
    /// The calls by communicator and peer.
    pub rows: Vec<Row>,
}

/// The nanoseconds in which threads could run and waited for a processor, since `MPI_Init`, and in
/// which they slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Outside of calls.
    pub outside: u64,
    /// In calls.
    pub in_calls: u64,
    /// The nanoseconds outside of calls in which they neither ran nor waited for a processor.
    pub asleep_outside: u64,
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In `MPI_Init`.
    Starting,
    /// After `MPI_Session_init`, without `MPI_Init`. None of its calls are recorded.
    Sessions,
    /// After `MPI_Init`.
    Running,
    /// After `MPI_Finalize`.
    Finalized,
    /// It has exited without `MPI_Finalize`.
    Exited,
    /// It has called `MPI_Abort`.
    Aborted,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// A hash of the members, which is the same in all of them. It is odd if there are members of
    /// another job.
    pub members: u64,
    /// The number of members, of the own group in an intercommunicator.
    pub size: u32,
    /// The number of members of the other group; 0 if it is not an intercommunicator.
    pub remote_size: u32,
    /// The number of earlier communicators with the same members.
    pub ordinal: u32,
    /// The collective calls that wait for all members, and their nanoseconds.
    pub collectives: u64,
    /// The nanoseconds of these calls.
    pub time: u64,
    /// The number of these calls in a block, a power of two.
    pub width: u64,
    /// The nanoseconds of each block of these calls. Without the blocks that have not begun.
    pub blocks: Vec<u64>,
}

/// The peer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// A rank in `MPI_COMM_WORLD`.
    Rank(u32),
    /// A process that has no rank in `MPI_COMM_WORLD`, or for which there was no room.
    Other,
    /// None or several.
    None,
}

/// The communicator of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The position in [`Trace::communicators`].
    Communicator(usize),
    /// A communicator for which there was no room.
    Other,
    /// None or several.
    None,
}

impl Peer {
    /// Parses the number of the recorder for a peer.
    pub fn parse(number: u32) -> Self {
        match number.cast_signed() {
            rank @ 0.. => Self::Rank(rank.cast_unsigned()),
            OTHER_PEER => Self::Other,
            _ => Self::None,
        }
    }
}

impl Place {
    /// Parses the number of the recorder for a communicator. `communicators` is how many there are.
    /// `None` if it is invalid.
    pub fn parse(number: u32, communicators: usize) -> Option<Self> {
        match number as usize {
            at if at < communicators => Some(Self::Communicator(at)),
            MAX_COMMUNICATORS => Some(Self::Other),
            at if at == MAX_COMMUNICATORS + 1 => Some(Self::None),
            _ => None,
        }
    }
}

/// The calls of a function with the same communicator and peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name of the function.
    pub call: String,
    /// The communicator.
    pub place: Place,
    /// The peer, or the root of a collective call.
    pub peer: Peer,
    /// The number of calls.
    pub calls: u64,
    /// Their nanoseconds.
    pub time: u64,
    /// The nanoseconds of the longest call.
    pub longest: u64,
    /// The bytes that they have sent, put or written.
    pub bytes: u64,
}

/// Reads the newer copy of a file that is valid. `None` if none is.
pub fn read<F: ReadAt + ?Sized>(file: &F) -> Option<Trace> {
    let mut copies = [0, COPY].map(|offset| (saves(file, offset), offset));
    copies.sort_unstable_by(|one, other| other.cmp(one));
    let newest_first = copies.into_iter().filter(|(saves, _)| saves.is_some());
    let mut buffer = Vec::new();
    newest_first
        .map(|(_, offset)| read_copy(file, offset, &mut buffer))
        .find_map(|trace| trace)
}

/// Returns the number of times that the file was written, of the newer copy, which may be invalid.
pub fn newest<F: ReadAt + ?Sized>(file: &F) -> Option<u64> {
    [0, COPY].into_iter().filter_map(|at| saves(file, at)).max()
}

fn saves<F: ReadAt + ?Sized>(file: &F, offset: usize) -> Option<u64> {
    let mut start = [0; 24];
    let is_whole = file.read_at(offset as u64, &mut start) == start.len();
    (is_whole && start.starts_with(MAGIC)).then(|| Words(&start).u64(16))
}

fn read_copy<F: ReadAt + ?Sized>(file: &F, offset: usize, buffer: &mut Vec<u8>) -> Option<Trace> {
    let read =
        |at: usize, bytes: &mut [u8]| file.read_at((offset + at) as u64, bytes) == bytes.len();
    buffer.clear();
    buffer.resize(HEADER, 0);
    if !read(0, buffer) || !buffer.starts_with(MAGIC) {
        return None;
    }
    let [communicators, rows] = [40, 44].map(|at| Words(buffer).u32(at) as usize);
    if communicators > MAX_COMMUNICATORS || rows > MAX_ROWS {
        return None;
    }
    let head = HEADER + communicators * COMMUNICATOR;
    buffer.resize(head + rows * ROW, 0);
    if !read(HEADER, &mut buffer[HEADER..head]) || !read(ROWS_AT, &mut buffer[head..]) {
        return None;
    }
    let words = Words(buffer);
    if words.u64(8) != checksum(&buffer[UNCHECKED..]) {
        return None;
    }
    let list: Option<Vec<Communicator>> = buffer[HEADER..head]
        .chunks_exact(COMMUNICATOR)
        .map(parse_communicator)
        .collect();
    let rows: Option<Vec<Row>> = buffer[head..]
        .chunks_exact(ROW)
        .map(|row| parse_row(row, communicators))
        .collect();
    Some(Trace {
        saves: words.u64(16),
        pid: words.u32(24),
        namespace: words.u32(52),
        rank: words.u32(28),
        size: words.u32(32),
        state: parse_state(words.u32(36))?,
        has_known_library: words.u32(48) != 0,
        library: text(&buffer[TEXTS_AT..TEXTS_AT + TEXT]),
        job: text(&buffer[TEXTS_AT + TEXT..HEADER]),
        began: words.u64(56),
        elapsed: words.u64(72).saturating_sub(words.u64(64)),
        calls: words.u64(80),
        time: words.u64(88),
        bytes: words.u64(96),
        uncounted: words.u32(140),
        waits: waits(&words),
        fast_time: words.u64(128),
        communicators: list?,
        rows: rows?,
    })
}

/// Returns how long threads waited for a processor; `None` if the recorder could not read it.
fn waits(words: &Words<'_>) -> Option<Waits> {
    (words.u32(136) != 0).then(|| Waits {
        outside: words.u64(104),
        in_calls: words.u64(112),
        asleep_outside: words.u64(120),
    })
}

fn parse_state(number: u32) -> Option<State> {
    match number {
        0 => Some(State::Running),
        1 => Some(State::Finalized),
        2 => Some(State::Exited),
        3 => Some(State::Aborted),
        4 => Some(State::Starting),
        5 => Some(State::Sessions),
        _ => None,
    }
}

fn parse_communicator(bytes: &[u8]) -> Option<Communicator> {
    let words = Words(bytes);
    let [collectives, time, width] = [32, 40, 48].map(|at| words.u64(at));
    let used = collectives.div_ceil(width.max(1));
    if !width.is_power_of_two() || used > BLOCKS as u64 {
        return None;
    }
    let blocks = (0..BLOCKS).map(|at| words.u64(56 + 8 * at));
    Some(Communicator {
        members: words.u64(8),
        size: words.u32(16),
        ordinal: words.u32(20),
        remote_size: words.u32(28),
        collectives,
        time,
        width,
        blocks: blocks.zip(0..used).map(|(time, _)| time).collect(),
    })
}

fn parse_row(bytes: &[u8], communicators: usize) -> Option<Row> {
    let words = Words(bytes);
    let call = text(&bytes[48..]);
    if !is_call_name(&call) {
        return None;
    }
    let [calls, time, longest, bytes] = [16, 24, 32, 40].map(|at| words.u64(at));
    Some(Row {
        call,
        place: Place::parse(words.u32(4), communicators)?,
        peer: Peer::parse(words.u32(8)),
        calls,
        time,
        longest,
        bytes,
    })
}

/// Whether a text can be the name of a function, without `MPI_`.
pub fn is_call_name(text: &str) -> bool {
    let is_name = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_';
    !text.is_empty() && text.bytes().all(is_name)
}

/// Returns the text before the first zero byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    encode::json::clean(&bytes[..end.unwrap_or(bytes.len())])
}

/// Computes the same as `hash` in observer/mpi/file.h.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(8).fold(0, |sum, word| {
        let mixed = (sum ^ Words(word).u64(0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    })
}

/// Sets the checksum of each copy in the bytes of a file, for tests and fuzzing: a reader rejects
/// almost all random bytes otherwise.
pub fn seal(file: &mut [u8]) {
    for offset in [0, COPY] {
        let Some(copy) = file.get_mut(offset..).filter(|copy| copy.len() >= HEADER) else {
            return;
        };
        copy[..8].copy_from_slice(MAGIC);
        let [communicators, rows] = [40, 44].map(|at| Words(copy).u32(at) as usize);
        let head = HEADER + communicators.min(MAX_COMMUNICATORS) * COMMUNICATOR;
        let end = ROWS_AT + rows.min(MAX_ROWS) * ROW;
        let parts = [copy.get(UNCHECKED..head), copy.get(ROWS_AT..end)];
        let bytes: Vec<u8> = parts.into_iter().flatten().flatten().copied().collect();
        let sum = checksum(&bytes);
        copy[8..16].copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file whose newer copy is the second one.
    fn example() -> Vec<u8> {
        let mut file = vec![0; 2 * COPY];
        for (offset, saves) in [(0, 4u64), (COPY, 5)] {
            let copy = &mut file[offset..];
            let mut put =
                |at: usize, bytes: &[u8]| copy[at..at + bytes.len()].copy_from_slice(bytes);
            put(16, &saves.to_le_bytes());
            for (at, number) in [
                (24, 77u32),
                (28, 3),
                (32, 8),
                (36, 1),
                (40, 1),
                (44, 2),
                (48, 1),
            ] {
                put(at, &number.to_le_bytes());
            }
            put(64, &1_000u64.to_le_bytes());
            put(72, &(1_000 + saves * 100).to_le_bytes());
            put(104, &7u64.to_le_bytes());
            put(112, &8u64.to_le_bytes());
            put(120, &9u64.to_le_bytes());
            put(136, &1u32.to_le_bytes());
            put(140, &6u32.to_le_bytes());
            put(TEXTS_AT, b"Open MPI");
            put(HEADER + 16, &8u32.to_le_bytes());
            put(HEADER + 32, &300u64.to_le_bytes());
            put(HEADER + 48, &2u64.to_le_bytes());
            put(HEADER + 56, &9u64.to_le_bytes());
            put(ROWS_AT + 48, b"Send");
            put(ROWS_AT + 8, &5u32.to_le_bytes());
            put(ROWS_AT + ROW + 4, &65u32.to_le_bytes());
            put(ROWS_AT + ROW + 8, &u32::MAX.to_le_bytes());
            put(ROWS_AT + ROW + 48, b"Waitall");
        }
        seal(&mut file);
        file
    }

    #[test]
    fn the_newer_copy_is_read() {
        let trace = read(example().as_slice()).unwrap();
        let numbers = (
            trace.saves,
            trace.pid,
            trace.rank,
            trace.size,
            trace.elapsed,
        );
        assert_eq!(numbers, (5, 77, 3, 8, 500));
        assert_eq!(trace.state, State::Finalized);
        assert_eq!(trace.library, "Open MPI");
        let waits = Waits {
            outside: 7,
            in_calls: 8,
            asleep_outside: 9,
        };
        assert_eq!((trace.waits, trace.uncounted), (Some(waits), 6));
        let communicator = &trace.communicators[0];
        assert_eq!((communicator.size, communicator.collectives), (8, 300));
        assert_eq!(
            (communicator.blocks.len(), communicator.blocks[0]),
            (150, 9)
        );
        let keys = |row: &Row| (row.call.clone(), row.place, row.peer);
        let send = ("Send".to_owned(), Place::Communicator(0), Peer::Rank(5));
        let wait = ("Waitall".to_owned(), Place::None, Peer::None);
        assert_eq!([keys(&trace.rows[0]), keys(&trace.rows[1])], [send, wait]);
    }

    #[test]
    fn the_older_copy_is_read_if_the_newer_one_is_torn() {
        let mut file = example();
        file[COPY + ROWS_AT] ^= 1;
        assert_eq!(newest(file.as_slice()), Some(5));
        assert_eq!(read(file.as_slice()).map(|trace| trace.saves), Some(4));
        file[ROWS_AT] ^= 1;
        assert_eq!(read(file.as_slice()), None);
    }

    #[test]
    fn a_file_of_another_version_is_rejected() {
        let mut file = example();
        for copy in [0, COPY] {
            file[copy + 7] = 2;
        }
        assert_eq!(
            (newest(file.as_slice()), read(file.as_slice())),
            (None, None)
        );
    }

    proptest! {
        #[test]
        fn a_file_that_is_cut_has_its_older_copy_or_none(length in 0..2 * COPY) {
            let trace = read(&example()[..length]);
            let is_whole = length >= ROWS_AT + 2 * ROW;
            let saves = trace.map(|trace| trace.saves);
            let newer = length >= COPY + ROWS_AT + 2 * ROW;
            prop_assert_eq!(saves, is_whole.then_some(if newer { 5 } else { 4 }));
        }

        #[test]
        fn a_changed_bit_is_found_by_the_checksum(
            at in UNCHECKED..HEADER + COMMUNICATOR,
            bit in 0..8,
        ) {
            let mut file = example();
            file.truncate(COPY);
            file[at] ^= 1u8 << bit;
            prop_assert_eq!(read(file.as_slice()), None);
        }

        #[test]
        fn any_sealed_bytes_are_a_bounded_trace_or_none(
            changes in prop::collection::vec((0..ROWS_AT + 2 * ROW, any::<u8>()), 0..64),
        ) {
            let mut file = example();
            for (at, byte) in changes {
                file[at] = byte;
                file[(at + COPY) % (2 * COPY)] = byte;
            }
            seal(&mut file);
            if let Some(trace) = read(file.as_slice()) {
                prop_assert!(trace.communicators.len() <= MAX_COMMUNICATORS);
                prop_assert!(trace.rows.len() <= MAX_ROWS);
                for communicator in &trace.communicators {
                    prop_assert!(communicator.blocks.len() <= BLOCKS);
                }
            }
        }
    }
}
