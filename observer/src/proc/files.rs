//! Reading files of `/proc` into one buffer, and listing its folders.
//!
//! This is the sampling loop's own reader: no allocation for a file, and one read for a file that
//! the kernel makes at once.

use std::io::Write as _;
use std::os::fd::OwnedFd;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::read;

use super::words::number;

/// No file of one process that is read at once is longer: a page, as the kernel allots it.
const PAGE: usize = 4096;
/// Of a file of many lines no more is read: 1 MiB, which are the mounts of thousands of volumes.
const MOST_BYTES: usize = 1 << 20;

/// A process, or one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A process by its id.
    Process(i32),
    /// A thread: the process's id, and its own.
    Thread(i32, i32),
}

/// The folder `/proc`.
pub struct Files {
    folder: OwnedFd,
    listing: Dir,
    path: Vec<u8>,
    buffer: Vec<u8>,
}

impl Files {
    /// Opens `/proc`.
    ///
    /// # Errors
    /// Where it is no folder that may be read.
    pub fn open() -> Result<Self, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self {
            folder: openat(AT_FDCWD, c"/proc", flags, Mode::empty())?,
            listing: Dir::open(c"/proc", flags, Mode::empty())?,
            path: Vec::with_capacity(64),
            buffer: vec![0; PAGE],
        })
    }

    /// Reads a file of a process or thread that the kernel makes at once, such as its stat: one
    /// read, of at most a page.
    ///
    /// # Errors
    /// `ENOENT` or `ESRCH` when it is gone, `EACCES` or `EPERM` where it is hidden.
    pub fn read(&mut self, task: Task, name: &str) -> Result<&[u8], Errno> {
        self.set_path(task, name);
        let file = self.open_path()?;
        let count = retry(|| read(&file, &mut self.buffer[..PAGE]))?;
        Ok(&self.buffer[..count])
    }

    /// Reads a file of many lines to its end, with the path that it has below `/proc`.
    ///
    /// # Errors
    /// As of [`Files::read`].
    pub fn read_whole(&mut self, path: &str) -> Result<&[u8], Errno> {
        self.path.clear();
        self.path.extend_from_slice(path.as_bytes());
        let file = self.open_path()?;
        let mut length = 0;
        loop {
            if self.buffer.len() < length + PAGE {
                self.buffer.resize((length + PAGE).next_power_of_two(), 0);
            }
            let count = retry(|| read(&file, &mut self.buffer[length..]))?;
            length += count;
            if count == 0 || length >= MOST_BYTES {
                return Ok(&self.buffer[..length]);
            }
        }
    }

    /// The ids of all processes, in the kernel's order, into `ids`.
    pub fn list_processes(&mut self, ids: &mut Vec<i32>) {
        ids.clear();
        ids.extend(numbers(&mut self.listing));
    }

    /// The ids of a process's threads, in the kernel's order, no more than `most` of them, into
    /// `ids`.
    ///
    /// # Errors
    /// When it is gone.
    pub fn list_threads(&mut self, pid: i32, most: usize, ids: &mut Vec<i32>) -> Result<(), Errno> {
        ids.clear();
        let mut folder = self.open_folder(pid, "task")?;
        ids.extend(numbers(&mut folder).take(most));
        Ok(())
    }

    /// How many files a process has open, by listing them.
    ///
    /// # Errors
    /// `EACCES` where they are hidden.
    pub fn count_open_files(&mut self, pid: i32) -> Result<u64, Errno> {
        let mut folder = self.open_folder(pid, "fd")?;
        Ok(numbers(&mut folder).fold(0, |count, _| count + 1))
    }

    /// The size of a process's folder `fd`: Linux 6.2 and later say there how many files are open,
    /// to all users.
    ///
    /// # Errors
    /// When it is gone.
    pub fn size_of_fd(&mut self, pid: i32) -> Result<u64, Errno> {
        self.set_path(Task::Process(pid), "fd");
        let facts = fstatat(&self.folder, self.path.as_slice(), AtFlags::empty())?;
        Ok(u64::try_from(facts.st_size).unwrap_or(0))
    }

    /// Whether this kernel says how many files are open as the size of a folder `fd`.
    #[must_use]
    pub fn has_size_of_fd(&self) -> bool {
        fstatat(&self.folder, c"self/fd", AtFlags::empty()).is_ok_and(|facts| facts.st_size > 0)
    }

    /// Whether a process's folder `fd` may be listed.
    pub fn may_list_files(&mut self, pid: i32) -> bool {
        let Ok(mut folder) = self.open_folder(pid, "fd") else {
            return false;
        };
        folder.iter().next().is_none_or(|entry| entry.is_ok())
    }

    fn open_folder(&mut self, pid: i32, name: &str) -> Result<Dir, Errno> {
        self.set_path(Task::Process(pid), name);
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Dir::openat(&self.folder, self.path.as_slice(), flags, Mode::empty())
    }

    fn open_path(&self) -> Result<OwnedFd, Errno> {
        openat(
            &self.folder,
            self.path.as_slice(),
            OFlag::O_RDONLY | OFlag::O_CLOEXEC,
            Mode::empty(),
        )
    }

    fn set_path(&mut self, task: Task, name: &str) {
        self.path.clear();
        // Writing to a vector does not fail.
        let _ = match task {
            Task::Process(pid) => write!(self.path, "{pid}/{name}"),
            Task::Thread(pid, tid) => write!(self.path, "{pid}/task/{tid}/{name}"),
        };
    }
}

/// The names in a folder that are numbers.
fn numbers(folder: &mut Dir) -> impl Iterator<Item = i32> {
    folder.iter().map_while(Result::ok).filter_map(|entry| {
        number(entry.file_name().to_bytes()).and_then(|number| i32::try_from(number).ok())
    })
}

/// Repeats a system call that a signal interrupted.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::{mountinfo, stat, status};

    fn own_id() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn this_process_is_read_and_listed() {
        let mut files = Files::open().unwrap();
        let me = Task::Process(own_id());
        assert!(stat::parse(files.read(me, "stat").unwrap()).is_some());
        assert!(
            status::parse(files.read(me, "status").unwrap())
                .unwrap()
                .memory
                .is_some()
        );
        let mut ids = Vec::new();
        files.list_processes(&mut ids);
        assert!(ids.contains(&own_id()));
        files.list_threads(own_id(), 1000, &mut ids).unwrap();
        assert!(ids.contains(&own_id()));
        assert!(files.may_list_files(own_id()));
        assert!(files.count_open_files(own_id()).unwrap() >= 3);
    }

    #[test]
    fn a_second_listing_begins_anew() {
        let mut files = Files::open().unwrap();
        let mut ids = Vec::new();
        files.list_processes(&mut ids);
        files.list_processes(&mut ids);
        assert!(ids.contains(&own_id()));
    }

    #[test]
    fn a_file_of_many_lines_is_read_to_its_end() {
        let mut files = Files::open().unwrap();
        let read = files.read_whole("self/mountinfo").unwrap().to_vec();
        assert_eq!(read, std::fs::read("/proc/self/mountinfo").unwrap());
        assert_eq!(mountinfo::hidepid(&read), None);
    }

    #[test]
    fn what_is_gone_is_an_error() {
        let mut files = Files::open().unwrap();
        assert_eq!(
            files.read(Task::Process(i32::MAX), "stat"),
            Err(Errno::ENOENT)
        );
        assert_eq!(
            files.read(Task::Thread(own_id(), i32::MAX), "stat"),
            Err(Errno::ENOENT)
        );
    }
}
