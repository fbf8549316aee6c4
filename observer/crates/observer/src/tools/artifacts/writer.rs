//! Writes raw files at the end of a run, after all rows, or as soon as they are complete: a file is
//! in the log as a whole or not at all, and never takes the room of a row.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use encode::number::float;
use linux::clock;

use super::compress::{Failure, Outline, Receiver, compress};
use super::line::Head;
use crate::runtime::budget::Budget;
use crate::runtime::session::Session;
use crate::tools::results::{ResultName, Results};

/// The maximum files of a run.
const MAX_FILES: usize = 1024;
/// The maximum names in a notice.
const MAX_NAMES: usize = 16;
/// The bytes that are kept free for the line of a file that is missing, and the maximum number of
/// these lines.
const MISSING: f64 = 512.0;
const MAX_MISSING: usize = 64;
/// The maximum seconds to wait for the reader of the log after each part.
const DRAIN: f64 = 1.0;
/// The maximum seconds after a signal to end that arrives while a file is written. The end of the
/// run needs the rest of the grace period of the pod.
const AFTER_SIGNAL: f64 = 5.0;

const NO_ROOM: &str = "the log has no room; see the option max-log";
const NO_TIME: &str = "there was not enough time";
const TOO_LARGE: &str = "a file of more than 256 MiB is not written";
const EMPTIED: &str = "emptied or removed before the end, to free space in the volume";
const UNREADABLE: &str = "the volume cannot be read";
const CHANGED: &str = "the file changed while it was read";
const TOO_MANY: &str = "a run has at most 1024 raw files";

/// A time in seconds since boot until which raw files are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// No file is begun later, except for the first one. Files that were not begun are kept for the
    /// next call.
    Begin(f64),
    /// Nothing is written later. A file that is not whole by then is missing.
    End(f64),
}

impl Until {
    /// Whether a file may be begun at the time `now`.
    fn allows_file(self, now: f64) -> bool {
        match self {
            Self::Begin(until) => now < until,
            Self::End(_) => true,
        }
    }

    /// Whether a file may be continued at the time `now`.
    fn allows_more(self, now: f64) -> bool {
        match self {
            Self::Begin(_) => true,
            Self::End(until) => now < until,
        }
    }

    /// Returns the limit after a signal to end that has arrived at the time `now`.
    fn after_signal(self, now: f64) -> Self {
        match self {
            Self::Begin(_) => Self::End(now + AFTER_SIGNAL),
            Self::End(until) => Self::End(until.min(now + AFTER_SIGNAL)),
        }
    }
}

/// The raw files of a run.
#[derive(Debug, Default)]
pub struct RawFiles {
    files: Vec<RawFile>,
    /// The number of files for which there was no room in the list, and the first one.
    omitted: usize,
    first_omitted: String,
}

#[derive(Debug)]
struct RawFile {
    name: String,
    /// The members that describe the process, each after a comma.
    origin: Box<[u8]>,
}

impl RawFiles {
    /// Adds a file. `origin` contains the members that describe its process, each after a comma.
    pub fn add(&mut self, name: String, origin: &[u8]) {
        if self.files.len() < MAX_FILES {
            let origin = origin.into();
            self.files.push(RawFile { name, origin });
            return;
        }
        if self.omitted == 0 {
            self.first_omitted = name;
        }
        self.omitted += 1;
    }

    /// Writes the lines of the files of a folder into the log, at most until a time. Returns the
    /// files that are to be written later, and notices about those that are not in the log.
    pub fn write_to_log(
        self,
        time: &str,
        results: &Results,
        session: &mut Session,
        until: Until,
    ) -> (Self, Vec<String>) {
        let open = |name: &str| results.open_result(ResultName::parse_copy(name)?);
        let mut output = SessionOutput {
            is_stopping: session.is_stopping(),
            keeps_files: matches!(until, Until::Begin(_)),
            session,
            until,
        };
        self.write(time, open, &mut output)
    }

    /// Writes the lines of the files. Returns those that are to be written later, and notices about
    /// those that are not in the log.
    fn write<F: Read + Seek>(
        self,
        time: &str,
        open: impl Fn(&str) -> Option<F>,
        output: &mut impl Output,
    ) -> (Self, Vec<String>) {
        let mut missing = Missing::default();
        let mut done = 0;
        for (at, RawFile { name, origin }) in self.files.iter().enumerate() {
            if at > 0 && !output.allows_file() {
                break;
            }
            let head = Head::new(time, name, origin);
            let left = (self.files.len() - at).min(MAX_MISSING);
            let room = output.room() - MISSING * float(left as u64);
            let result = write_file(&head, open(name), room, output);
            if result == Err(Omission::NotBegun) && output.keeps_files() {
                break;
            }
            done = at + 1;
            if let Err(omission) = result {
                missing.add(omission.reason(), name, 1);
                write_missing(&head, omission.reason(), output);
            }
        }
        if self.omitted > 0 {
            missing.add(TOO_MANY, &self.first_omitted, self.omitted);
        }
        let notices = missing.notices();
        let later = Self {
            files: self.files.into_iter().skip(done).collect(),
            ..Self::default()
        };
        (later, notices)
    }
}

/// Writes the line of a file that is not in the log, if the log has room for it.
fn write_missing(head: &Head, reason: &str, output: &mut impl Output) {
    let mut line = Vec::new();
    head.push_missing(&mut line, reason);
    if Budget::cost(line.len()) < output.room() {
        output.write(&line);
    }
}

/// The log, as far as raw files are concerned.
trait Output {
    /// The bytes that the log has left for lines.
    fn room(&self) -> f64;
    /// Writes a line. Returns false if the line cannot be written in time.
    fn write(&mut self, line: &[u8]) -> bool;
    /// Whether there is time for more of a file.
    fn is_ready(&mut self) -> bool;
    /// Whether there is time to begin another file.
    fn allows_file(&mut self) -> bool;
    /// Whether files that were not begun are written later.
    fn keeps_files(&self) -> bool;
}

/// Why a file is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Omission {
    /// The time was over before the first line.
    NotBegun,
    /// For this reason.
    Missing(&'static str),
}

impl Omission {
    fn reason(self) -> &'static str {
        match self {
            Self::NotBegun => NO_TIME,
            Self::Missing(reason) => reason,
        }
    }
}

/// The log of a session, until a time.
struct SessionOutput<'a> {
    session: &'a mut Session,
    until: Until,
    /// Whether the time already takes account of a signal to end.
    is_stopping: bool,
    /// Whether files that were not begun are written later.
    keeps_files: bool,
}

impl Output for SessionOutput<'_> {
    fn room(&self) -> f64 {
        self.session.log.budget().rest()
    }

    fn write(&mut self, line: &[u8]) -> bool {
        let log = &mut self.session.log;
        log.line().extend_from_slice(line);
        log.end_unexported_line();
        self.session.drain(DRAIN);
        !self.session.log.is_waiting()
    }

    fn is_ready(&mut self) -> bool {
        // Files that were read count as memory of the container until the kernel frees them.
        self.session.poll();
        let now = clock::since_boot();
        if self.session.is_stopping() && !self.is_stopping {
            self.is_stopping = true;
            self.until = self.until.after_signal(now);
        }
        self.session.log.has_room(0.0) && self.until.allows_more(now)
    }

    fn allows_file(&mut self) -> bool {
        self.until.allows_file(clock::since_boot())
    }

    fn keeps_files(&self) -> bool {
        self.keeps_files
    }
}

/// Writes the lines of a file.
fn write_file<F: Read + Seek>(
    head: &Head,
    file: Option<F>,
    room: f64,
    output: &mut impl Output,
) -> Result<(), Omission> {
    let mut file = file.ok_or(Omission::Missing(EMPTIED))?;
    let mut measuring = Measuring {
        head,
        room,
        taken: 0.0,
        output,
    };
    let outline = compress(&mut file, &mut measuring).map_err(|failure| match failure {
        Failure::Stopped if measuring.taken >= room => Omission::Missing(NO_ROOM),
        Failure::Stopped => Omission::NotBegun,
        other => Omission::Missing(reason_of(other)),
    })?;
    if outline.bytes == 0 {
        return Err(Omission::Missing(EMPTIED));
    }
    file.rewind().map_err(|_| Omission::Missing(UNREADABLE))?;
    let mut writing = Writing {
        head,
        outline,
        number: 0,
        output,
    };
    match compress(&mut file, &mut writing) {
        Ok(now) if now == outline => Ok(()),
        Ok(_) => Err(Omission::Missing(CHANGED)),
        Err(_) if writing.number >= outline.parts() => Err(Omission::Missing(CHANGED)),
        Err(Failure::Stopped) if writing.number == 0 => Err(Omission::NotBegun),
        // The log has a part of the file, so it cannot have the whole one later.
        Err(failure) => Err(Omission::Missing(reason_of(failure))),
    }
}

fn reason_of(failure: Failure) -> &'static str {
    match failure {
        Failure::TooLarge => TOO_LARGE,
        Failure::Unreadable => UNREADABLE,
        Failure::Stopped => NO_TIME,
    }
}

/// Counts the bytes of the lines of a file, until there are too many.
struct Measuring<'a, O: Output> {
    head: &'a Head,
    room: f64,
    taken: f64,
    output: &'a mut O,
}

impl<O: Output> Receiver for Measuring<'_, O> {
    fn take(&mut self, part: &[u8]) -> bool {
        self.taken += Budget::cost(self.head.longest(part.len()));
        self.taken < self.room
    }

    fn is_ready(&mut self) -> bool {
        self.output.is_ready()
    }
}

/// Writes the lines of a file.
struct Writing<'a, O: Output> {
    head: &'a Head,
    outline: Outline,
    /// The number of parts that were written.
    number: u64,
    output: &'a mut O,
}

impl<O: Output> Receiver for Writing<'_, O> {
    fn take(&mut self, part: &[u8]) -> bool {
        if self.number >= self.outline.parts() {
            return false;
        }
        self.number += 1;
        let mut line = Vec::new();
        self.head
            .push_part(&mut line, &self.outline, self.number, part);
        Budget::cost(line.len()) < self.output.room() && self.output.write(&line)
    }

    fn is_ready(&mut self) -> bool {
        self.output.is_ready()
    }
}

/// The files that are not in the log, by reason.
#[derive(Default)]
struct Missing<'a>(BTreeMap<&'static str, (Vec<&'a str>, usize)>);

impl<'a> Missing<'a> {
    /// Adds `count` files, of which one has this name.
    fn add(&mut self, reason: &'static str, name: &'a str, count: usize) {
        let (names, total) = self.0.entry(reason).or_default();
        *total += count;
        if names.len() < MAX_NAMES {
            names.push(name);
        }
    }

    fn notices(&self) -> Vec<String> {
        let notice = |(reason, (names, total)): (&&str, &(Vec<&str>, usize))| {
            let others = match total - names.len() {
                0 => String::new(),
                1 => " and 1 other".to_owned(),
                count => format!(" and {count} others"),
            };
            let names = names.join(", ");
            format!("raw files that are not in the log: {names}{others}: {reason}")
        };
        self.0.iter().map(notice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::artifacts::line::MAX_LINE;
    use crate::tools::artifacts::noise::noise;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::io::Cursor;

    struct TestLog {
        budget: Budget,
        lines: Vec<Vec<u8>>,
        /// The number of reads until the time is over.
        reads: usize,
        /// The number of files that may be begun after the first one, if the others are kept.
        files: Option<usize>,
    }

    impl Output for TestLog {
        fn room(&self) -> f64 {
            self.budget.rest()
        }

        fn write(&mut self, line: &[u8]) -> bool {
            self.budget.count_line(line.len());
            self.lines.push(line.to_vec());
            true
        }

        fn is_ready(&mut self) -> bool {
            self.reads = self.reads.saturating_sub(1);
            self.reads > 0
        }

        fn allows_file(&mut self) -> bool {
            let Some(files) = &mut self.files else {
                return true;
            };
            let is_allowed = *files > 0;
            *files = files.saturating_sub(1);
            is_allowed
        }

        fn keeps_files(&self) -> bool {
            self.files.is_some()
        }
    }

    fn log(mebibytes: f64) -> TestLog {
        TestLog {
            budget: Budget::new(mebibytes),
            lines: Vec::new(),
            reads: usize::MAX,
            files: None,
        }
    }

    fn list(count: usize) -> RawFiles {
        let mut files = RawFiles::default();
        for number in 0..count {
            files.add(format!("cpu_{number}"), b",\"pid\":7");
        }
        files
    }

    /// Returns each file that the lines contain, or the reason why it is missing.
    fn read(lines: &[Vec<u8>]) -> BTreeMap<String, Result<Vec<u8>, String>> {
        let mut found: BTreeMap<String, Result<Vec<u8>, String>> = BTreeMap::new();
        for line in lines {
            let line: Value = serde_json::from_slice(line).unwrap();
            let artifact = &line["artifact"];
            let name = artifact["file"].as_str().unwrap().to_owned();
            if let Some(reason) = artifact["missing"].as_str() {
                found.insert(name, Err(reason.to_owned()));
                continue;
            }
            let data = STANDARD.decode(artifact["data"].as_str().unwrap()).unwrap();
            let whole = found.entry(name).or_insert(Ok(Vec::new()));
            whole.as_mut().unwrap().extend(data);
        }
        let unpack = |bytes: Vec<u8>| {
            let mut text = Vec::new();
            let result = GzDecoder::new(bytes.as_slice()).read_to_end(&mut text);
            result.map_or(Err("cut".to_owned()), |_| Ok(text))
        };
        let entries = found.into_iter();
        entries
            .map(|(name, file)| (name, file.and_then(unpack)))
            .collect()
    }

    #[test]
    fn a_file_without_room_is_missing_as_a_whole_and_a_smaller_one_follows() {
        let sizes = [200_000, 900_000, 100_000];
        let mut log = log(0.6);
        let open = |name: &str| {
            let at: usize = name[4..].parse().unwrap();
            Some(Cursor::new(noise(sizes[at], 1)))
        };
        let (_, notices) = list(3).write("T", open, &mut log);
        let found = read(&log.lines);
        assert!(found["cpu_0"] == Ok(noise(200_000, 1)) && found["cpu_2"] == Ok(noise(100_000, 1)));
        assert_eq!(found["cpu_1"], Err(NO_ROOM.to_owned()));
        assert_eq!(
            notices,
            [format!(
                "raw files that are not in the log: cpu_1: {NO_ROOM}"
            )]
        );
    }

    #[test]
    fn files_that_are_gone_empty_or_too_late_have_their_reasons() {
        let open = |name: &str| (name != "cpu_0").then(|| Cursor::new(Vec::new()));
        let mut log = log(1.0);
        list(2).write("T", open, &mut log);
        log.reads = 0;
        list(1).write("T", |_| Some(Cursor::new(vec![1])), &mut log);
        let reasons: Vec<Value> = log
            .lines
            .iter()
            .map(|line| {
                serde_json::from_slice::<Value>(line).unwrap()["artifact"]["missing"].take()
            })
            .collect();
        assert_eq!(reasons, [EMPTIED, EMPTIED, NO_TIME]);
    }

    #[test]
    fn files_that_were_not_begun_in_time_are_written_later() {
        let open = |_: &str| Some(Cursor::new(noise(50_000, 1)));
        let mut log = log(10.0);
        let mut files = list(4);
        let mut counts = Vec::new();
        // The time for a call is over after the second file, the first one, and before the first.
        for (allowed, reads) in [(1, usize::MAX), (0, usize::MAX), (9, 0), (9, usize::MAX)] {
            (log.files, log.reads) = (Some(allowed), reads);
            let (later, notices) = files.write("T", open, &mut log);
            assert_eq!(notices, Vec::<String>::new());
            counts.push(later.files.len());
            files = later;
        }
        assert_eq!(counts, [2, 1, 1, 0]);
        let found = read(&log.lines);
        assert_eq!(found.len(), 4);
        assert!(found.values().all(|file| *file == Ok(noise(50_000, 1))));
    }

    #[test]
    fn a_file_of_which_the_log_has_a_part_is_not_written_again() {
        let bytes = 3_000_000_usize;
        let mut log = log(10.0);
        log.files = Some(9);
        // The time is over while the file is read for the second time.
        log.reads = bytes.div_ceil(65_536) + 30;
        let open = |_: &str| Some(Cursor::new(noise(bytes, 1)));
        let (later, notices) = list(1).write("T", open, &mut log);
        assert!(log.lines.len() > 2);
        assert_eq!(read(&log.lines)["cpu_0"], Err(NO_TIME.to_owned()));
        assert_eq!((later.files.len(), notices.len()), (0, 1));
    }

    #[test]
    fn the_time_limits_the_files_that_are_begun_or_all_that_is_written() {
        let (begin, end) = (Until::Begin(60.0), Until::End(60.0));
        assert!(begin.allows_file(59.0) && !begin.allows_file(60.0));
        assert!(begin.allows_more(61.0) && end.allows_file(61.0));
        assert!(end.allows_more(59.0) && !end.allows_more(60.0));
        assert_eq!(end.after_signal(10.0), Until::End(15.0));
        assert_eq!(end.after_signal(58.0), end);
        assert_eq!(begin.after_signal(10.0), Until::End(15.0));
    }

    /// A file that has another byte at each reading.
    struct Changing(Cursor<Vec<u8>>);

    impl Read for Changing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Seek for Changing {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.get_mut()[0] += 1;
            self.0.seek(to)
        }
    }

    #[test]
    fn a_file_that_changes_is_reported() {
        let mut log = log(1.0);
        let open = |_: &str| Some(Changing(Cursor::new(noise(50_000, 1))));
        let (_, notices) = list(1).write("T", open, &mut log);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].ends_with(CHANGED), "{notices:?}");
    }

    #[test]
    fn a_notice_has_a_bounded_number_of_names() {
        let mut log = log(0.2);
        let (_, notices) = list(5000).write("T", |_| None::<Cursor<Vec<u8>>>, &mut log);
        assert!(
            notices[1].contains("cpu_15 and 1008 others: emptied"),
            "{notices:?}"
        );
        assert!(
            notices[0].contains("cpu_1024 and 3975 others: a run has"),
            "{notices:?}"
        );
        assert!(notices.iter().all(|notice| notice.len() < 1000));
        assert!(log.budget.rest() > 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_log_keeps_within_its_budget_and_has_only_whole_files(
            sizes in prop::collection::vec(0..200_000_usize, 1..8),
            used in 300_000..950_000_usize,
        ) {
            let mut log = log(1.0);
            log.budget.count_line(used);
            let file = |name: &str| {
                let at: usize = name[4..].parse().unwrap();
                noise(sizes[at], 1)
            };
            let before = log.budget.rest();
            let open = |name: &str| Some(Cursor::new(file(name)));
            let (_, notices) = list(sizes.len()).write("T", open, &mut log);
            prop_assert!(log.budget.rest() > 0.0 || log.lines.is_empty(), "{}", before);
            prop_assert!(log.lines.iter().all(|line| line.len() < MAX_LINE));
            let found = read(&log.lines);
            let whole = found.iter().filter(|(_, found)| found.is_ok());
            for (name, found) in whole {
                prop_assert!(*found == Ok(file(name)), "{}", name);
            }
            let missing: usize = found.values().filter(|found| found.is_err()).count();
            prop_assert_eq!(missing == 0 && found.len() == sizes.len(), notices.is_empty());
        }
    }
}
