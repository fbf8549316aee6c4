//! The folder in which the processes of the target write the results of a tool, and the loader its
//! reports. Any process of the target can put anything there.

use std::ffi::CString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use linux::read_at::ReadAt;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, ftruncate, symlinkat, unlinkat};

/// The maximum entries of the folder that are looked at.
const MAX_ENTRIES: usize = 16_384;
/// The file in which the loader reports why it has not loaded the profiler. The loader writes at
/// most 64 KiB.
const REPORTS: &str = "loader.log";
const MAX_REPORTS: usize = 65_536;
/// The file in which an observer records the last start of the target, and its maximum bytes. A
/// larger file is not of an observer: any process of the target can write it.
pub const TARGET_START: &str = "target";
/// See [`TARGET_START`].
pub const MAX_TARGET_START: usize = 20;
/// The maximum bytes of a report.
const MAX_REPORT: usize = 512;
/// The bytes of a block of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// The beginning of the names of traces of `PyTorch`, and the extension of their copies in the log,
/// which the programs expect that show them.
const TRACE: &str = "trace_";
const TRACE_EXTENSION: &str = ".json";
/// The beginnings of the names of results: profiles, the files of the recorder of MPI calls, and
/// traces.
const PREFIXES: [&str; 3] = ["cpu_", "mpi_", TRACE];

/// A file of results: the id of its process, and the number of earlier processes with this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResultName {
    /// The process id, in the process namespace of the process that wrote the file.
    pub pid: i32,
    /// 0 for the first file of a process with this id.
    pub number: u32,
    prefix: &'static str,
}

impl ResultName {
    /// Parses the name of a file: `cpu_PID`, or `cpu_PID.NUMBER`; `mpi_` instead of `cpu_` for the
    /// recorder of MPI calls, and `trace_` for traces of `PyTorch`.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let prefix = PREFIXES
            .into_iter()
            .find(|prefix| name.starts_with(prefix))?;
        let name = &name[prefix.len()..];
        let (pid, number) = name.split_once('.').unwrap_or((name, "0"));
        let parsed = Self {
            pid: pid.parse().ok().filter(|pid| *pid > 0)?,
            number: number.parse().ok()?,
            prefix,
        };
        (parsed.file_name().as_bytes()[prefix.len()..] == *name.as_bytes()).then_some(parsed)
    }

    /// Returns the name of a trace of `PyTorch`.
    pub fn of_trace(pid: i32, number: u32) -> Self {
        Self {
            pid,
            number,
            prefix: TRACE,
        }
    }

    /// Returns the name of the copy of the file in the log.
    pub fn copy_name(self) -> String {
        let extension = if self.prefix == TRACE {
            TRACE_EXTENSION
        } else {
            ""
        };
        self.file_name() + extension
    }

    /// Parses the name of the copy of a file.
    pub fn parse_copy(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(TRACE_EXTENSION).unwrap_or(name);
        Self::parse(stem.as_bytes()).filter(|parsed| parsed.copy_name() == name)
    }

    /// Returns the name of the file.
    pub fn file_name(self) -> String {
        let Self { pid, prefix, .. } = self;
        match self.number {
            0 => format!("{prefix}{pid}"),
            number => format!("{prefix}{pid}.{number}"),
        }
    }
}

/// The folder of the results.
pub struct Results {
    directory: OwnedFd,
    /// The bytes that the files may use before they are emptied; 0 for no limit.
    limit: u64,
    /// The bytes of the loader's reports that were already read.
    reports_read: usize,
}

/// The results of the folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names of the results, sorted.
    pub names: Vec<ResultName>,
    /// Bytes on the disk that the files of the folder use.
    pub used: u64,
    /// Whether the folder has more entries than were looked at.
    pub is_cut: bool,
}

impl Results {
    /// Opens the folder. If its files use more than half of `size_limit` bytes, they are emptied.
    /// The kubelet evicts a pod whose volume uses more than its limit.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn open(path: &str, size_limit: u64) -> Result<Self, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self {
            directory: openat(AT_FDCWD, path, flags, Mode::empty())?,
            limit: size_limit / 2,
            reports_read: 0,
        })
    }

    /// Lists the results.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn list(&self) -> Result<Listing, Errno> {
        let mut listing = Listing::default();
        listing.is_cut = self.visit(|name, facts| {
            listing.names.extend(ResultName::parse(name));
            listing.used += u64::try_from(facts.st_blocks).unwrap_or(0) * BLOCK;
        })?;
        listing.names.sort_unstable();
        Ok(listing)
    }

    /// Whether the files use too much of the volume.
    pub fn is_too_full(&self, listing: &Listing) -> bool {
        self.limit > 0 && listing.used > self.limit
    }

    /// Empties the files of the folder that `may_empty` selects, and returns their number. Removing
    /// a file would not free its space while a process has it open.
    pub fn empty(&self, mut may_empty: impl FnMut(Option<ResultName>) -> bool) -> usize {
        let mut count = 0;
        // An error means that the folder is gone.
        let _ = self.visit(|name, facts| {
            let is_small = usize::try_from(facts.st_size).is_ok_and(|it| it <= MAX_TARGET_START);
            let is_record = name == TARGET_START.as_bytes() && is_small;
            if facts.st_blocks == 0 || is_record || !may_empty(ResultName::parse(name)) {
                return;
            }
            let file = self.open_file(name, OFlag::O_WRONLY);
            count += usize::from(file.is_some_and(|file| ftruncate(&file, 0).is_ok()));
        });
        count
    }

    /// Removes a file of a process that has ended. Returns false if the file stays, because the
    /// permission is missing.
    pub fn remove(&self, name: ResultName) -> bool {
        self.remove_entry(&name.file_name())
    }

    /// Removes an entry of the folder, unless it is a folder. Returns false if it stays, because
    /// the permission is missing.
    pub fn remove_entry(&self, name: &str) -> bool {
        unlinkat(&self.directory, name, UnlinkatFlags::NoRemoveDir).is_ok()
    }

    /// Writes a small file with a fixed name in place of the entry with this name. Returns whether
    /// it could be written.
    pub fn replace(&self, name: &'static str, text: &str) -> bool {
        self.remove_entry(name);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let file = openat(
            &self.directory,
            name,
            flags,
            Mode::from_bits_truncate(0o644),
        );
        file.is_ok_and(|file| File::from(file).write_all(text.as_bytes()).is_ok())
    }

    /// Whether the folder has an entry with this name.
    pub fn has_entry(&self, name: &str) -> bool {
        fstatat(&self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a link in the folder that leads to the folder itself, unless it exists already.
    ///
    /// # Errors
    /// If the link cannot be made.
    pub fn link_to_itself(&self, name: &str) -> Result<(), Errno> {
        let is_there = readlinkat(&self.directory, name).is_ok_and(|target| target == ".");
        if is_there {
            return Ok(());
        }
        self.remove_entry(name);
        symlinkat(".", &self.directory, name)
    }

    /// Opens a result. `None` if it is not an ordinary file, or cannot be read.
    pub fn open_result(&self, name: ResultName) -> Option<File> {
        self.open_file(name.file_name().as_bytes(), OFlag::O_RDONLY)
    }

    /// Opens a file with a fixed name. `None` if it is not an ordinary file, or cannot be read.
    pub fn open_named(&self, name: &'static str) -> Option<File> {
        self.open_file(name.as_bytes(), OFlag::O_RDONLY)
    }

    /// Returns the lines that the loader has added to its reports since the last call.
    pub fn new_reports(&mut self) -> Vec<Vec<u8>> {
        let Some(file) = self.open_file(REPORTS.as_bytes(), OFlag::O_RDONLY) else {
            return Vec::new();
        };
        let mut text = vec![0; MAX_REPORTS - self.reports_read.min(MAX_REPORTS)];
        let count = ReadAt::read_at(&file, self.reports_read as u64, &mut text);
        let whole = text[..count].iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        self.reports_read += whole;
        let lines = text[..whole].split(|byte| *byte == b'\n');
        let line = |line: &[u8]| line[..line.len().min(MAX_REPORT)].to_vec();
        lines.filter(|text| !text.is_empty()).map(line).collect()
    }

    /// Calls `take` for each ordinary file of the folder, and returns whether there are more.
    fn visit(&self, mut take: impl FnMut(&[u8], &FileStat)) -> Result<bool, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut listing = Dir::openat(&self.directory, ".", flags, Mode::empty())?;
        for (at, entry) in listing.iter().map_while(Result::ok).enumerate() {
            if at >= MAX_ENTRIES {
                return Ok(true);
            }
            let name = entry.file_name();
            let facts = fstatat(&self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW);
            if let Ok(facts) = facts
                && is_ordinary(&facts)
            {
                take(name.to_bytes(), &facts);
            }
        }
        Ok(false)
    }

    /// Opens an ordinary file, without waiting for a pipe or following a link.
    fn open_file(&self, name: &[u8], access: OFlag) -> Option<File> {
        let name = CString::new(name).ok()?;
        let flags =
            access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = openat(&self.directory, name.as_c_str(), flags, Mode::empty()).ok()?;
        let facts = fstat(&file).ok()?;
        is_ordinary(&facts).then(|| File::from(file))
    }
}

fn is_ordinary(facts: &FileStat) -> bool {
    SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}
