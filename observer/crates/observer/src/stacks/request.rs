//! A request for stacks: the symbolic link and the file in the folder of the results, through which
//! the loader in the processes learns of the request, and answers it (observer/loader/stacks.h).

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use linux::clock;

use super::answers::Answers;

const LINK: &str = "stacks";
/// The age from which a link is left over from a request whose observer was killed.
const MAX_AGE: Duration = Duration::from_secs(15);

/// A request, which ends when it is dropped.
pub struct Request {
    link: PathBuf,
    path: PathBuf,
}

impl Request {
    /// Begins a request. At any time, a folder has at most one.
    ///
    /// # Errors
    /// `AlreadyExists` if there is another request; otherwise if the folder cannot be written.
    pub fn begin(folder: &Path) -> Result<(Self, Answers), Error> {
        let link = folder.join(LINK);
        remove_old(&link);
        // No two requests have the same number, and no request has the number 0.
        let name = format!("{LINK}_{:016x}", clock::boot_nanoseconds().max(1));
        let path = folder.join(&name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let request = Self { link, path };
        // The processes of the target can have any user.
        file.set_permissions(Permissions::from_mode(0o622))?;
        if let Err(error) = symlink(&name, &request.link) {
            request.remove_file();
            // The link belongs to the other request.
            std::mem::forget(request);
            return Err(error);
        }
        Ok((request, Answers::new(file)))
    }

    fn remove_file(&self) {
        // An error means that the file is gone, or that the folder cannot be written any more.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.link);
        self.remove_file();
    }
}

/// Removes the link of a request that has not ended, and its file.
fn remove_old(link: &Path) {
    let age = fs::symlink_metadata(link)
        .and_then(|facts| facts.modified())
        .map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
    if age.is_ok_and(|age| age > MAX_AGE) {
        let file = fs::read_link(link).ok().and_then(|name| {
            let name = name.to_str()?.strip_prefix("stacks_")?.to_owned();
            let is_number = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_number.then(|| link.with_file_name(format!("stacks_{name}")))
        });
        let _ = file.map(fs::remove_file);
        let _ = fs::remove_file(link);
    }
}

/// Whether an error means that another request has not ended yet.
pub fn is_busy(error: &Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("ridealong-stacks-{id}-{name}"));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn files_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_request_leaves_no_files() {
        let folder = folder("whole");
        let (request, _answers) = Request::begin(&folder).unwrap();
        let files = files_in(&folder);
        let target = fs::read_link(folder.join(LINK)).unwrap();
        assert_eq!(files, [LINK, target.to_str().unwrap()]);
        let mode = fs::metadata(folder.join(&target)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o622);
        drop(request);
        assert!(files_in(&folder).is_empty());
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn there_is_one_request_at_a_time() {
        let folder = folder("busy");
        let first = Request::begin(&folder).unwrap();
        let error = Request::begin(&folder).err().unwrap();
        assert!(is_busy(&error));
        assert_eq!(files_in(&folder).len(), 2);
        drop(first);
        drop(Request::begin(&folder).unwrap());
        fs::remove_dir(folder).unwrap();
    }
}
