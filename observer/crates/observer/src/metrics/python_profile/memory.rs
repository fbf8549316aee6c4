//! Reads the memory that the sampler in a process shares with the observer. Its format is that of
//! `struct shared` in observer/python/shared.h. A process can write anything into this memory, and
//! at any time.

use std::collections::BTreeMap;

use encode::json::clean;
use linux::read_at::ReadAt;

use crate::tools::words::Words;

/// The text of the link to the memory in `/proc/PID/fd` (`memfd_create(2)`).
pub const LINK: &[u8] = b"/memfd:ridealong-python (deleted)";

/// The beginning of the memory; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"RLPYT\0\0\x01";
const HEADER: usize = 192;
const THREADS: usize = 64;
const THREAD: usize = 32;
const FRAMES: usize = 16_384;
const FRAME: usize = 8;
const NODES: usize = 32_768;
const NODE: usize = 40;
const TEXTS: usize = 1 << 20;
/// The offsets of the frames, of the nodes and of the texts.
pub const FRAMES_AT: usize = HEADER + THREADS * THREAD;
/// See `FRAMES_AT`.
pub const NODES_AT: usize = FRAMES_AT + FRAMES * FRAME;
/// See `FRAMES_AT`.
pub const TEXTS_AT: usize = NODES_AT + NODES * NODE;
/// The maximum bytes of the name of a function, and of the path of its file (`MAX_NAME` and
/// `MAX_FILE` in observer/python/text.h, in UTF-8).
const MAX_NAME: usize = 480;
const MAX_FILE: usize = 800;
/// The maximum bytes of the names of all frames: 256 for each.
const MAX_NAMES: usize = 4 << 20;
/// The maximum frames of a stack (`MAX_DEPTH` in observer/python/stack.h).
pub const MAX_DEPTH: u32 = 128;

/// The maximum age of a stack in nanoseconds. The sampler looks at least once in two seconds,
/// unless it gets no processor.
const MAX_AGE: u64 = 5_000_000_000;

/// The name of rows that sum up other rows, and of frames that have no name.
pub const OTHER: &str = "(other)";

/// The number of the root of the main thread. The root of all other threads follows.
pub const MAIN: u32 = 0;
/// The number of roots.
pub const ROOTS: u32 = 2;

/// What the sampler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The interpreter does not run yet.
    Starting,
    /// It samples.
    Sampling,
    /// The threads of the interpreter run without a GIL.
    FreeThreaded,
    /// The version of `CPython` is not known.
    UnknownVersion,
    /// The memory of the interpreter is not as expected.
    Unreadable,
    /// The sampler has no thread.
    NoThread,
}

impl State {
    fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Starting,
            1 => Self::Sampling,
            2 => Self::FreeThreaded,
            3 => Self::UnknownVersion,
            5 => Self::NoThread,
            _ => Self::Unreadable,
        }
    }
}

/// Samples, and the time for which they stand, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// All samples.
    pub samples: u64,
    /// The time of all samples.
    pub time: u64,
    /// The time of the samples in which the thread was running, or waited for a processor.
    pub running: u64,
}

impl Sum {
    /// Adds other samples.
    pub fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.time = self.time.saturating_add(other.time);
        self.running = self.running.saturating_add(other.running);
    }
}

/// A node of the tree of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node of the caller, which has a smaller number.
    pub parent: u32,
    /// The root: that of the main thread, or of the others.
    pub root: u32,
    /// The number of the frame.
    pub frame: u32,
    /// The samples whose innermost frame this is.
    pub own: Sum,
}

/// A thread of the interpreter, as it was when the sampler last looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The id of the thread, as the process sees it.
    pub tid: u32,
    /// The node of its stack.
    pub node: u32,
    /// Since when its stack has been the same, in nanoseconds since boot.
    pub since: u64,
    /// Whether it was running or waited for a processor; `None` if that is not known.
    pub is_running: Option<bool>,
    /// Whether it is the main thread.
    pub is_main: bool,
}

/// What the sampler has seen in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The minor version of `CPython` 3; `None` if it is not known.
    pub minor: Option<u32>,
    /// What the sampler does.
    pub state: State,
    /// Whether it is known which threads run.
    pub knows_activity: bool,
    /// When the sampler has last looked, in nanoseconds since boot.
    pub looked: u64,
    /// The time for which the samples of a thread stand, and the processor time of the sampler, in
    /// nanoseconds.
    pub time: u64,
    /// See `time`.
    pub cost: u64,
    /// The samples of threads, those that could not be read, and those without inner frames.
    pub samples: u64,
    /// See `samples`.
    pub failed: u64,
    /// See `samples`.
    pub cut: u64,
    /// The maximum interpreters at the same time, of which one is sampled.
    pub interpreters: u32,
    /// The maximum threads that were not sampled.
    pub threads_left_out: u32,
    /// The time in which the sampler has not looked, in nanoseconds, because the process was
    /// stopped or the sampler had no processor. No sample stands for it.
    pub missed: u64,
    /// Whether functions or lines have no name, because there was no room for it.
    pub lacks_names: bool,
    /// The threads; empty if the sampler does not look at them now.
    pub threads: Vec<Thread>,
    /// The nodes of the tree. The first ones are the roots. Of nodes with the same stack, the first
    /// one has all samples.
    pub nodes: Vec<Node>,
    /// The name of each frame: `function (file:line)`. A node has the first frame with its name.
    pub frames: Vec<String>,
}

impl Profile {
    /// Whether the sampler has not looked for some time at a time in nanoseconds since boot, for
    /// example because the process is stopped.
    pub fn is_old(&self, now: u64) -> bool {
        now.saturating_sub(self.looked) > MAX_AGE
    }

    /// Returns why the sampler cannot look at the threads, as a clause about the process.
    pub fn why_not_sampled(&self) -> Option<String> {
        let version = self.minor.map_or("an unknown version".to_owned(), |minor| {
            format!("version 3.{minor}")
        });
        match self.state {
            State::Sampling | State::Starting => None,
            State::FreeThreaded => Some("its CPython has no GIL".to_owned()),
            State::UnknownVersion => Some(format!(
                "its CPython has {version}, which is not one of 3.9 to 3.15"
            )),
            State::Unreadable => Some(format!(
                "the memory of its CPython ({version}) is not as expected"
            )),
            State::NoThread => Some("no thread could be made in it".to_owned()),
        }
    }
}

/// Whether this is the memory of a process.
pub fn is_of<F: ReadAt + ?Sized>(file: &F, pid: u32) -> bool {
    let mut start = [0; 12];
    let is_whole = file.read_at(0, &mut start) == start.len();
    is_whole && start.starts_with(MAGIC) && Words(&start).u32(8) == pid
}

/// Reads the memory. `None` if it is not that of the sampler.
pub fn read<F: ReadAt + ?Sized>(file: &F) -> Option<Profile> {
    let head = part(file, 0, FRAMES_AT);
    if head.len() < FRAMES_AT || !head.starts_with(MAGIC) {
        return None;
    }
    let words = Words(&head);
    let used = |at: usize, most: usize| most.min(words.u32(at) as usize);
    let texts = part(file, TEXTS_AT, used(88, TEXTS));
    let frames = part(file, FRAMES_AT, used(92, FRAMES) * FRAME);
    let (frames, has_all) = read_frames(&frames, &texts);
    let nodes = read_nodes(&part(file, NODES_AT, used(96, NODES) * NODE));
    let nodes = merge(&nodes, &frames);
    let version = words.u32(12);
    Some(Profile {
        minor: (version >> 8 == 3).then_some(version & 0xff),
        state: State::from_number(words.u32(16)),
        knows_activity: words.u32(20) == 1,
        looked: words.u64(32),
        time: words.u64(48),
        cost: words.u64(56),
        samples: words.u64(64),
        failed: words.u64(72),
        cut: words.u64(80),
        interpreters: words.u32(100),
        threads_left_out: words.u32(104),
        missed: words.u64(112),
        lacks_names: words.u32(120) == 1 || !has_all,
        threads: if words.u32(108) == 1 {
            read_threads(&head[HEADER..], nodes.len())
        } else {
            Vec::new()
        },
        nodes,
        frames,
    })
}

fn part<F: ReadAt + ?Sized>(file: &F, at: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let count = file.read_at(at as u64, &mut bytes);
    bytes.truncate(count);
    bytes
}

fn read_threads(bytes: &[u8], nodes: usize) -> Vec<Thread> {
    let threads = bytes.chunks_exact(THREAD).map(|bytes| {
        let words = Words(bytes);
        Thread {
            tid: words.u32(0),
            node: words.u32(4),
            since: words.u64(8),
            is_running: [Some(false), Some(true)]
                .get(words.u32(16) as usize)
                .copied()
                .flatten(),
            is_main: words.u32(20) == 1,
        }
    });
    threads
        .filter(|thread| thread.tid > 0 && (thread.node as usize) < nodes)
        .collect()
}

/// Reads the nodes. A node whose parent does not come before it belongs to the root of the others,
/// so that each path ends.
fn read_nodes(bytes: &[u8]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut depths: Vec<u32> = Vec::new();
    for (bytes, number) in bytes.chunks_exact(NODE).zip(0_u32..) {
        let words = Words(bytes);
        let is_root = number < ROOTS;
        let parent = words.u32(0);
        let depth_of = |parent: u32| {
            depths
                .get(parent as usize)
                .map_or(u32::MAX, |depth| depth + 1)
        };
        let is_valid = !is_root && depth_of(parent) <= MAX_DEPTH;
        let parent = if is_valid {
            parent
        } else {
            number.min(ROOTS - 1)
        };
        let root = nodes.get(parent as usize).map_or(number, |node| node.root);
        depths.push(if is_root { 0 } else { depth_of(parent) });
        nodes.push(Node {
            parent,
            root,
            frame: words.u32(4),
            own: Sum {
                samples: words.u64(8),
                time: words.u64(24),
                running: words.u64(32),
            },
        });
    }
    nodes
}

/// Reads the names of the frames, and returns whether there was room for all.
fn read_frames(bytes: &[u8], texts: &[u8]) -> (Vec<String>, bool) {
    let mut room = MAX_NAMES;
    let mut has_all = true;
    let frames = bytes.chunks_exact(FRAME).map(|bytes| {
        let words = Words(bytes);
        let name = read_name(texts, words.u32(0) as usize, words.u32(4));
        let name = name.unwrap_or_else(|| OTHER.to_owned());
        if name.len() > room {
            has_all = false;
            return OTHER.to_owned();
        }
        room -= name.len();
        name
    });
    let frames = frames.collect();
    (frames, has_all)
}

/// Reads the name of a frame. `None` if there is no text of the sampler at this offset.
fn read_name(texts: &[u8], at: usize, line: u32) -> Option<String> {
    let rest = texts.get(at..).filter(|_| at > 0)?;
    let name = read_text(rest, MAX_NAME).filter(|name| !name.is_empty())?;
    let file = clean(read_text(&rest[name.len() + 1..], MAX_FILE)?);
    Some(format!("{} ({}:{line})", clean(name), short_path(&file)))
}

/// Returns the text that ends with the next zero byte, of at most `most` bytes.
fn read_text(bytes: &[u8], most: usize) -> Option<&[u8]> {
    let bytes = &bytes[..bytes.len().min(most + 1)];
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(&bytes[..end])
}

/// Gives each node the first frame with its name, and the first of the nodes with the same stack
/// the samples of all. Frames have the same name, for example, if two folders have a package with
/// the same file.
fn merge(nodes: &[Node], frames: &[String]) -> Vec<Node> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let names = frames.iter().zip(0_u32..);
    let names: Vec<u32> = names
        .map(|(name, number)| *numbers.entry(name).or_insert(number))
        .collect();
    let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut first: Vec<u32> = Vec::new();
    let mut merged: Vec<Node> = Vec::with_capacity(nodes.len());
    for (node, number) in nodes.iter().zip(0_u32..) {
        let frame = names.get(node.frame as usize).copied();
        let frame = frame.unwrap_or(node.frame);
        let parent = first.get(node.parent as usize).copied();
        let parent = parent.unwrap_or(node.parent);
        let same = if number < ROOTS {
            number
        } else {
            *known.entry((parent, frame)).or_insert(number)
        };
        first.push(same);
        let own = if same == number {
            node.own
        } else {
            Sum::default()
        };
        if let Some(other) = merged.get_mut(same as usize) {
            other.own.add(node.own);
        }
        merged.push(Node {
            parent,
            frame,
            own,
            ..*node
        });
    }
    merged
}

/// Returns a path without the folder of the packages or of the standard library.
fn short_path(path: &str) -> &str {
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, rest)) = path.rsplit_once(folder) {
            return rest;
        }
    }
    let is_version = |name: &str| name.starts_with("python3.");
    match path
        .split_once("/lib/")
        .and_then(|(_, rest)| rest.split_once('/'))
    {
        Some((version, rest)) if is_version(version) => rest,
        _ => path,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The memory of a process with one thread, whose stack is `main` and below it `work`.
    pub fn example() -> Vec<u8> {
        let mut bytes = vec![0; TEXTS_AT + 256];
        bytes[..8].copy_from_slice(MAGIC);
        let texts = b"\0\0main\0/app/train.py\0work\0/usr/lib/python3.12/json/decoder.py\0";
        bytes[TEXTS_AT..TEXTS_AT + texts.len()].copy_from_slice(texts);
        for (at, word) in [
            (8, 7),
            (12, 0x030c),
            (16, 1),
            (20, 1),
            (88, 80),
            (92, 3),
            (96, 4),
            (108, 1),
        ] {
            put(&mut bytes, at, word);
        }
        for (number, text, line) in [(1, 2, 10), (2, 21, 20)] {
            put(&mut bytes, FRAMES_AT + FRAME * number, text);
            put(&mut bytes, FRAMES_AT + FRAME * number + 4, line);
        }
        put_node(&mut bytes, 1, (1, 0), [0; 4]);
        put_node(&mut bytes, 2, (0, 1), [1, 0, 10_000_000, 0]);
        put_node(&mut bytes, 3, (2, 2), [4, 1, 40_000_000, 10_000_000]);
        for (at, word) in [(0, 7), (4, 3), (8, 1_000_000), (16, 0), (20, 1)] {
            put(&mut bytes, HEADER + at, word);
        }
        bytes
    }

    fn put(bytes: &mut [u8], at: usize, word: u32) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn put_node(bytes: &mut [u8], number: usize, (parent, frame): (u32, u32), sums: [u64; 4]) {
        let at = NODES_AT + NODE * number;
        put(bytes, at, parent);
        put(bytes, at + 4, frame);
        for (index, sum) in sums.into_iter().enumerate() {
            let at = at + 8 + 8 * index;
            bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }

    #[test]
    fn the_memory_has_names_and_sums() {
        let profile = read(&example()).unwrap();
        assert!(is_of(&example(), 7) && !is_of(&example(), 8));
        assert_eq!(profile.minor, Some(12));
        assert_eq!(
            profile.frames,
            [
                "(other)",
                "main (/app/train.py:10)",
                "work (json/decoder.py:20)"
            ]
        );
        let roots: Vec<u32> = profile.nodes.iter().map(|node| node.root).collect();
        assert_eq!(roots, [0, 1, 0, 0]);
        let expected = Sum {
            samples: 4,
            time: 40_000_000,
            running: 10_000_000,
        };
        assert_eq!(profile.nodes[3].own, expected);
        assert_eq!(profile.threads.len(), 1);
    }

    #[test]
    fn a_sampler_that_has_no_thread_does_not_say_what_threads_do_now() {
        let mut bytes = example();
        put(&mut bytes, 108, 0);
        assert_eq!(read(&bytes).unwrap().threads, []);
    }

    #[test]
    fn a_node_that_is_its_own_caller_belongs_to_the_other_threads() {
        let mut bytes = example();
        put_node(&mut bytes, 2, (3, 1), [1, 0, 1, 0]);
        put_node(&mut bytes, 3, (3, 1), [1, 0, 1, 0]);
        let nodes = read(&bytes).unwrap().nodes;
        assert!(
            nodes[2..]
                .iter()
                .all(|node| node.parent == 1 && node.root == 1)
        );
    }

    #[test]
    fn numbers_beyond_the_memory_are_cut() {
        let mut bytes = example();
        for at in [88, 92, 96] {
            put(&mut bytes, at, u32::MAX);
        }
        put(&mut bytes, FRAMES_AT + FRAME, u32::MAX);
        let profile = read(&bytes).unwrap();
        assert_eq!(profile.frames[1], "(other)");
        assert!(profile.nodes.len() <= NODES);
    }

    /// Memory with these texts. That of a frame is at the offset 1 + `step` times its number.
    fn with_texts(texts: &[u8], step: usize) -> Vec<u8> {
        let mut bytes = example();
        bytes.resize(TEXTS_AT + TEXTS, 0);
        bytes[TEXTS_AT..TEXTS_AT + texts.len()].copy_from_slice(texts);
        for at in [88, 92] {
            put(&mut bytes, at, u32::MAX);
        }
        for number in 0..FRAMES {
            let text = u32::try_from(1 + step * number).unwrap();
            put(&mut bytes, FRAMES_AT + FRAME * number, text);
        }
        bytes
    }

    #[test]
    fn the_names_of_all_frames_take_a_limited_memory() {
        let text =
            [vec![b'n'; MAX_NAME], vec![b'f'; MAX_FILE]].map(|text| [text, vec![0]].concat());
        let profile = read(&with_texts(&[vec![0], text.concat()].concat(), 0)).unwrap();
        assert_eq!(profile.frames.len(), FRAMES);
        assert!(profile.frames[1].len() > MAX_NAME + MAX_FILE);
        let taken: usize = profile.frames.iter().map(String::capacity).sum();
        assert!(taken < 2 * MAX_NAMES, "{taken} bytes");
        assert_eq!(profile.frames.last().unwrap(), "(other)");
        assert!(profile.lacks_names);
    }

    #[test]
    fn the_end_of_a_text_is_looked_for_only_as_far_as_the_sampler_writes() {
        let profile = read(&with_texts(&vec![b'n'; TEXTS], 1)).unwrap();
        assert!(profile.frames.iter().all(|name| name == "(other)"));
    }

    #[test]
    fn nodes_with_the_same_stack_have_their_samples_in_the_first() {
        let mut bytes = example();
        put(&mut bytes, 92, 4);
        put(&mut bytes, 96, 6);
        // The frame 3 is the line of frame 1 once more, and below it is the line of frame 2.
        put(&mut bytes, FRAMES_AT + FRAME * 3, 2);
        put(&mut bytes, FRAMES_AT + FRAME * 3 + 4, 10);
        put_node(&mut bytes, 4, (0, 3), [2, 2, 20_000_000, 20_000_000]);
        put_node(&mut bytes, 5, (4, 2), [1, 0, 10_000_000, 0]);
        let nodes = read(&bytes).unwrap().nodes;
        let samples: Vec<u64> = nodes.iter().map(|node| node.own.samples).collect();
        assert_eq!(samples, [0, 0, 3, 5, 0, 0]);
        assert_eq!(nodes[3].own.time, 50_000_000);
        assert_eq!(nodes[2].own.running, 20_000_000);
    }

    #[test]
    fn missed_time_and_missing_names_are_read() {
        let mut bytes = example();
        assert!(!read(&bytes).unwrap().lacks_names);
        put(&mut bytes, 112, 5_000);
        put(&mut bytes, 120, 1);
        let profile = read(&bytes).unwrap();
        assert_eq!((profile.missed, profile.lacks_names), (5_000, true));
    }
}
