//! Reads files of `/proc` into one buffer, and lists its directories.
//!
//! The sampling loop uses this reader instead of the crate procfs, because the reader reuses its
//! buffer, and needs only one read for a file that the kernel generates as a whole.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstat, fstatat};
use nix::unistd::{Whence, lseek, read};

use super::fd::socket_inode;
use super::words::number;

/// Files that the kernel generates as a whole are at most a page long.
const PAGE: usize = 4096;
/// The maximum bytes of a file of many lines. 1 MiB is enough for the mountinfo of thousands of
/// volumes.
pub const MAX_BYTES: usize = 1 << 20;

/// A process, or one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A process by its id.
    Process(i32),
    /// A thread by the id of its process and its own id.
    Thread(i32, i32),
}

/// The root directory of a process.
pub struct RootDirectory(OwnedFd);

impl From<OwnedFd> for RootDirectory {
    fn from(directory: OwnedFd) -> Self {
        Self(directory)
    }
}

impl RootDirectory {
    /// Returns another descriptor of the directory.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn try_clone(&self) -> std::io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Opens the directory at a path.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn at(path: &std::path::Path) -> Result<Self, Errno> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        openat(AT_FDCWD, path, flags, Mode::empty()).map(Self)
    }

    /// Opens an ordinary file below the directory. Links lead to files below the directory, too.
    ///
    /// # Errors
    /// If the file cannot be opened; `EINVAL` if it is not an ordinary file; `ENOSYS` before Linux
    /// 5.6.
    pub fn open(&self, path: &[u8]) -> Result<File, Errno> {
        // With O_NONBLOCK, the observer does not wait if the application has put a pipe there.
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let file = openat2(&self.0, path, how)?;
        let kind = SFlag::from_bits_truncate(fstat(&file)?.st_mode) & SFlag::S_IFMT;
        if kind == SFlag::S_IFREG {
            Ok(File::from(file))
        } else {
            Err(Errno::EINVAL)
        }
    }

    /// Returns the number of the device of the directory's file system.
    ///
    /// # Errors
    /// If the kernel does not return it.
    pub fn device(&self) -> Result<u64, Errno> {
        fstat(&self.0).map(|facts| facts.st_dev)
    }
}

/// A socket that a process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSocket {
    /// The number of the open file.
    pub file: i32,
    /// The inode of the socket.
    pub inode: u32,
}

/// Some of the sockets that a process has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenSockets {
    /// The sockets.
    pub sockets: Vec<OpenSocket>,
    /// The number of the open file at which the listing continues; `None` if it is complete.
    pub next: Option<i32>,
}

/// The directory `/proc`.
pub struct Files {
    directory: OwnedFd,
    listing: Dir,
    path: Vec<u8>,
    buffer: Vec<u8>,
}

impl Files {
    /// Opens `/proc`.
    ///
    /// # Errors
    /// If `/proc` cannot be opened.
    pub fn open() -> Result<Self, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self {
            directory: openat(AT_FDCWD, c"/proc", flags, Mode::empty())?,
            listing: Dir::open(c"/proc", flags, Mode::empty())?,
            path: Vec::with_capacity(64),
            buffer: vec![0; PAGE],
        })
    }

    /// Reads a file that the kernel generates as a whole, such as the stat of a process or thread,
    /// with one read of at most a page.
    ///
    /// # Errors
    /// `ENOENT` or `ESRCH` if the process or thread has ended; `EACCES` or `EPERM` if the kernel
    /// denies the read.
    pub fn read(&mut self, task: Task, name: &str) -> Result<&[u8], Errno> {
        self.set_path(task, name);
        let file = self.open_path()?;
        let count = retry(|| read(&file, &mut self.buffer[..PAGE]))?;
        Ok(&self.buffer[..count])
    }

    /// Opens a file of a process or thread, to read it several times.
    ///
    /// # Errors
    /// As for [`Files::read`].
    pub fn open_file(&mut self, task: Task, name: &str) -> Result<File, Errno> {
        self.set_path(task, name);
        self.open_path().map(File::from)
    }

    /// Reads the status of a process or thread to its end, or to 1 MiB. It is longer than a page if
    /// the process has hundreds of supplementary groups.
    ///
    /// # Errors
    /// As for [`Files::read`].
    pub fn read_status(&mut self, task: Task) -> Result<&[u8], Errno> {
        self.set_path(task, "status");
        let file = self.open_path()?;
        let count = retry(|| read(&file, &mut self.buffer[..PAGE]))?;
        if count < PAGE {
            return Ok(&self.buffer[..count]);
        }
        self.read_rest(&file, count)
    }

    /// Reads a file of many lines to its end, or to 1 MiB. `path` is relative to `/proc`.
    ///
    /// # Errors
    /// As for [`Files::read`].
    pub fn read_whole(&mut self, path: &str) -> Result<&[u8], Errno> {
        self.path.clear();
        self.path.extend_from_slice(path.as_bytes());
        let file = self.open_path()?;
        self.read_rest(&file, 0)
    }

    fn read_rest(&mut self, file: &OwnedFd, mut length: usize) -> Result<&[u8], Errno> {
        loop {
            if self.buffer.len() < length + PAGE {
                self.buffer.resize((length + PAGE).next_power_of_two(), 0);
            }
            let count = retry(|| read(file, &mut self.buffer[length..]))?;
            length += count;
            if count == 0 || length >= MAX_BYTES {
                return Ok(&self.buffer[..length]);
            }
        }
    }

    /// Opens the root directory of a process. It contains the mounts of the process's container.
    ///
    /// # Errors
    /// `ENOENT` if the process has ended; `EACCES` or `EPERM` if the kernel denies access.
    pub fn open_root(&mut self, pid: i32) -> Result<RootDirectory, Errno> {
        self.set_path(Task::Process(pid), "root");
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let path = self.path.as_slice();
        openat(&self.directory, path, flags, Mode::empty()).map(RootDirectory)
    }

    /// Reads a file of at most a page below the root directory of a process. `directory` is the
    /// path of the file's directory, relative to this root directory.
    ///
    /// # Errors
    /// `ENOENT` if the file does not exist; `EACCES` or `EPERM` if the kernel denies the read;
    /// `ELOOP` if the file is a symbolic link.
    pub fn read_in(
        &mut self,
        root: &RootDirectory,
        directory: &[u8],
        name: &str,
    ) -> Result<&[u8], Errno> {
        let file = self.open_in(root, directory, name)?;
        let count = retry(|| read(&file, &mut self.buffer[..PAGE]))?;
        Ok(&self.buffer[..count])
    }

    /// Opens a file below the root directory of a process, as [`Files::read_in`] does.
    ///
    /// # Errors
    /// As for [`Files::read_in`].
    pub fn open_in(
        &mut self,
        root: &RootDirectory,
        directory: &[u8],
        name: &str,
    ) -> Result<File, Errno> {
        self.path.clear();
        self.path.extend_from_slice(directory);
        self.path.push(b'/');
        self.path.extend_from_slice(name.as_bytes());
        // With O_NONBLOCK, the observer does not wait if the application has put a pipe there.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        openat(&root.0, self.path.as_slice(), flags, Mode::empty()).map(File::from)
    }

    /// Lists the ids of all processes into `ids`, in the kernel's order. Calls `poll` after every
    /// 256 ids, and ends the list if `poll` returns false.
    pub fn list_processes(&mut self, ids: &mut Vec<i32>, mut poll: impl FnMut() -> bool) {
        ids.clear();
        for id in numbers(&mut self.listing) {
            ids.push(id);
            if ids.len().is_multiple_of(256) && !poll() {
                return;
            }
        }
    }

    /// Lists the ids of at most `most` threads of a process into `ids`, in the kernel's order.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn list_threads(&mut self, pid: i32, most: usize, ids: &mut Vec<i32>) -> Result<(), Errno> {
        ids.clear();
        let mut directory = self.open_directory(pid, "task")?;
        ids.extend(numbers(&mut directory).take(most));
        Ok(())
    }

    /// Counts the open files of a process by listing them.
    ///
    /// # Errors
    /// If the process has ended, or `EACCES` if the kernel does not allow the listing.
    pub fn count_open_files(&mut self, pid: i32) -> Result<u64, Errno> {
        let mut directory = self.open_directory(pid, "fd")?;
        Ok(numbers(&mut directory).fold(0, |count, _| count + 1))
    }

    /// Lists the sockets among some open files of a process: at most `most` files, whose numbers
    /// are at least `first`.
    ///
    /// # Errors
    /// If the process has ended; `EACCES` or `EPERM` if the kernel hides the files.
    pub fn list_sockets(
        &mut self,
        pid: i32,
        first: i32,
        most: usize,
    ) -> Result<OpenSockets, Errno> {
        let mut directory = self.open_numbered(pid, first)?;
        let mut files = numbers(&mut directory).skip_while(|file| *file < first);
        let list: Vec<i32> = files.by_ref().take(most).collect();
        let next = files.next();
        let mut sockets = Vec::new();
        for file in list {
            if let Some(inode) = self.read_socket(pid, file)? {
                sockets.push(OpenSocket { file, inode });
            }
        }
        Ok(OpenSockets { sockets, next })
    }

    /// Returns the inode of the socket that a process has open under the number `file`; `None` if
    /// this is another file, if the process has closed it, or if the process has ended.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` if the kernel denies the read.
    pub fn read_socket(&mut self, pid: i32, file: i32) -> Result<Option<u32>, Errno> {
        self.path.clear();
        // Writing to a vector does not fail.
        let _ = write!(self.path, "{pid}/fd/{file}");
        match readlinkat(&self.directory, self.path.as_slice()) {
            Ok(link) => Ok(socket_inode(link.as_encoded_bytes())),
            Err(Errno::ENOENT | Errno::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds an open file of a process by the text of its link, among at most `most` files whose
    /// numbers are at least `first`. Returns the number of the file; `None` if there is none.
    ///
    /// # Errors
    /// If the process has ended; `EACCES` or `EPERM` if the kernel hides the files.
    pub fn find_open_file(
        &mut self,
        pid: i32,
        first: i32,
        most: usize,
        link: &[u8],
    ) -> Result<Option<i32>, Errno> {
        let mut directory = self.open_numbered(pid, first)?;
        let numbers: Vec<i32> = numbers(&mut directory)
            .skip_while(|file| *file < first)
            .take(most)
            .collect();
        for file in numbers {
            match self.read_link(pid, &format!("fd/{file}")) {
                Ok(text) if text == link => return Ok(Some(file)),
                Ok(_) | Err(Errno::ENOENT | Errno::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Lists the open files of a process whose links `is_wanted` accepts, among its first `most`
    /// open files: their numbers and links.
    ///
    /// # Errors
    /// If the process has ended; `EACCES` or `EPERM` if the kernel hides the files.
    pub fn list_open_files(
        &mut self,
        pid: i32,
        most: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<(i32, Vec<u8>)>, Errno> {
        let mut directory = self.open_directory(pid, "fd")?;
        let numbers: Vec<i32> = numbers(&mut directory).take(most).collect();
        let mut wanted = Vec::new();
        for file in numbers {
            match self.read_link(pid, &format!("fd/{file}")) {
                Ok(link) if is_wanted(&link) => wanted.push((file, link)),
                Ok(_) | Err(Errno::ENOENT | Errno::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted)
    }

    /// Opens an ordinary file that a process has open under the number `file`.
    ///
    /// # Errors
    /// `ENOENT` if the process has closed it or has ended; `EACCES` or `EPERM` if the kernel denies
    /// access; `EINVAL` if it is not an ordinary file.
    pub fn open_again(&mut self, pid: i32, file: i32) -> Result<File, Errno> {
        self.set_path(Task::Process(pid), &format!("fd/{file}"));
        // With O_NONBLOCK, the observer does not wait if the file is a pipe.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let path = self.path.as_slice();
        let file = openat(&self.directory, path, flags, Mode::empty())?;
        let kind = SFlag::from_bits_truncate(fstat(&file)?.st_mode) & SFlag::S_IFMT;
        if kind == SFlag::S_IFREG {
            Ok(File::from(file))
        } else {
            Err(Errno::EINVAL)
        }
    }

    /// Reads a symbolic link of a process, such as `exe`.
    ///
    /// # Errors
    /// `ENOENT` if the process has ended; `EACCES` or `EPERM` if the kernel denies access.
    pub fn read_link(&mut self, pid: i32, name: &str) -> Result<Vec<u8>, Errno> {
        self.set_path(Task::Process(pid), name);
        let path = self.path.as_slice();
        readlinkat(&self.directory, path).map(OsStringExt::into_vec)
    }

    /// Returns the user that owns a file of a process.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn owner(&mut self, task: Task, name: &str) -> Result<u32, Errno> {
        self.set_path(task, name);
        let facts = fstatat(&self.directory, self.path.as_slice(), AtFlags::empty())?;
        Ok(facts.st_uid)
    }

    /// Returns the size of a process's directory `fd`. Every user may read this size. Since Linux
    /// 6.2, the size is the number of open files.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn size_of_fd(&mut self, pid: i32) -> Result<u64, Errno> {
        self.set_path(Task::Process(pid), "fd");
        let facts = fstatat(&self.directory, self.path.as_slice(), AtFlags::empty())?;
        Ok(u64::try_from(facts.st_size).unwrap_or(0))
    }

    /// Whether the size of a directory `fd` is the number of open files on this kernel.
    pub fn has_size_of_fd(&self) -> bool {
        fstatat(&self.directory, c"self/fd", AtFlags::empty()).is_ok_and(|facts| facts.st_size > 0)
    }

    /// Whether a process's directory `fd` may be listed.
    pub fn may_list_files(&mut self, pid: i32) -> bool {
        let Ok(mut directory) = self.open_directory(pid, "fd") else {
            return false;
        };
        directory.iter().next().is_none_or(|entry| entry.is_ok())
    }

    fn open_directory(&mut self, pid: i32, name: &str) -> Result<Dir, Errno> {
        Dir::from_fd(self.open_numbers(pid, name)?)
    }

    /// Opens the list of the open files of a process whose numbers are at least `first`. If files
    /// are closed meanwhile, a lower number is possible.
    fn open_numbered(&mut self, pid: i32, first: i32) -> Result<Dir, Errno> {
        let directory = self.open_numbers(pid, "fd")?;
        // The kernel lists them in the order of their numbers. It begins with the files `.` and
        // `..`, so the position of a file is its number plus two (fs/proc/fd.c,
        // `proc_readfd_common`).
        lseek(&directory, i64::from(first) + 2, Whence::SeekSet)?;
        Dir::from_fd(directory)
    }

    fn open_numbers(&mut self, pid: i32, name: &str) -> Result<OwnedFd, Errno> {
        self.set_path(Task::Process(pid), name);
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        openat(&self.directory, self.path.as_slice(), flags, Mode::empty())
    }

    fn open_path(&self) -> Result<OwnedFd, Errno> {
        openat(
            &self.directory,
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

/// Returns the names in a directory that are numbers.
fn numbers(directory: &mut Dir) -> impl Iterator<Item = i32> {
    directory.iter().map_while(Result::ok).filter_map(|entry| {
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
        files.list_processes(&mut ids, || true);
        assert!(ids.contains(&own_id()));
        files.list_threads(own_id(), 1000, &mut ids).unwrap();
        assert!(ids.contains(&own_id()));
        assert!(files.may_list_files(own_id()));
        assert!(files.count_open_files(own_id()).unwrap() >= 3);
    }

    #[test]
    fn the_sockets_of_a_process_are_listed_in_parts() {
        use std::os::fd::AsRawFd;
        let mut files = Files::open().unwrap();
        let sockets: Vec<_> = (0..3)
            .map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        let (mut inodes, mut next, mut parts) = (Vec::new(), Some(0), 0);
        while let Some(first) = next {
            let found = files.list_sockets(own_id(), first, 2).unwrap();
            inodes.extend(found.sockets.iter().map(|socket| socket.inode));
            next = found.next;
            parts += 1;
        }
        assert!(parts >= 3, "{parts}");
        for socket in &sockets {
            let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd()));
            let inode = socket_inode(link.unwrap().as_os_str().as_encoded_bytes()).unwrap();
            assert_eq!(inodes.iter().filter(|found| **found == inode).count(), 1);
        }
        assert_eq!(files.list_sockets(i32::MAX, 0, 2), Err(Errno::ENOENT));
    }

    #[test]
    fn an_open_file_is_found_by_its_link_and_opened_again() {
        use std::os::fd::AsRawFd;
        let mut files = Files::open().unwrap();
        let program = std::env::current_exe().unwrap();
        let open = File::open(&program).unwrap();
        let link = program.as_os_str().as_encoded_bytes();
        let found = files.find_open_file(own_id(), open.as_raw_fd(), 1, link);
        assert_eq!(found, Ok(Some(open.as_raw_fd())));
        assert_eq!(files.find_open_file(own_id(), 0, 64, b"/none"), Ok(None));
        let again = files.open_again(own_id(), open.as_raw_fd()).unwrap();
        let length = |file: &File| file.metadata().unwrap().len();
        assert_eq!(length(&again), length(&open));
        let (pipe, _other) = std::io::pipe().unwrap();
        let error = files.open_again(own_id(), pipe.as_raw_fd()).err();
        assert_eq!(error, Some(Errno::EINVAL));
    }

    #[test]
    fn open_files_are_listed_by_their_links() {
        use std::os::fd::AsRawFd;
        let mut files = Files::open().unwrap();
        let open = File::open("/dev/full").unwrap();
        let list = |files: &mut Files, most| {
            files.list_open_files(own_id(), most, |link| link == b"/dev/full")
        };
        let found = list(&mut files, 1024).unwrap();
        assert!(found.contains(&(open.as_raw_fd(), b"/dev/full".to_vec())));
        assert_eq!(list(&mut files, 0), Ok(vec![]));
        let ended = files.list_open_files(i32::MAX, 1024, |_| true);
        assert_eq!(ended, Err(Errno::ENOENT));
    }

    #[test]
    fn a_second_listing_starts_from_the_beginning() {
        let mut files = Files::open().unwrap();
        let mut ids = Vec::new();
        files.list_processes(&mut ids, || true);
        files.list_processes(&mut ids, || true);
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
    fn a_file_is_read_below_the_root_of_a_process() {
        let mut files = Files::open().unwrap();
        let root = files.open_root(own_id()).unwrap();
        let version = std::fs::read("/proc/sys/kernel/ostype").unwrap();
        assert_eq!(
            files.read_in(&root, b"proc/sys/kernel", "ostype"),
            Ok(version.as_slice())
        );
        assert_eq!(files.read_in(&root, b"proc", "none"), Err(Errno::ENOENT));
        assert_eq!(files.read_in(&root, b"proc", "self"), Err(Errno::ELOOP));
        assert_eq!(files.open_root(i32::MAX).err(), Some(Errno::ENOENT));
    }

    #[test]
    fn an_ended_process_is_an_error() {
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
