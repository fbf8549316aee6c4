//! install: copies a tool from the image into a volume of the pod, from which the target mounts it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use linux::stderr::warn;
use nix::fcntl::OFlag;

/// The folder of the tool in the image.
const TOOL: &str = "/tool";
/// The volume, unless the environment names another.
const VOLUME: &str = "/ridealong/volume";
/// The file of the results in which problems are reported. The loader writes there, too.
const REPORTS: &str = "loader.log";

/// The folders of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The folder of the tool.
    pub tool: PathBuf,
    /// The volume. The folder `tool` of the volume gets the files, and the processes of the target
    /// write into its folder `results`.
    pub volume: PathBuf,
}

impl Installation {
    /// Reads the settings. `variable` returns the value of an environment variable.
    pub fn read(variable: impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let path = |name: &str, otherwise: &str| {
            let value = variable(name).and_then(|value| String::from_utf8(value).ok());
            PathBuf::from(
                value
                    .filter(|value| !value.is_empty())
                    .unwrap_or(otherwise.to_owned()),
            )
        };
        Self {
            tool: path("RIDEALONG_TOOL_SOURCE", TOOL),
            volume: path("RIDEALONG_TOOL_VOLUME", VOLUME),
        }
    }

    /// Makes the folders and copies the tool. The kubelet runs an installation again if the sandbox
    /// of the pod was restarted. A problem is reported in the results and on standard error, and is
    /// no failure: the application runs without the tool.
    pub fn install(&self) {
        let results = self.volume.join("results");
        let problems = [make_folder(&results, 0o1777).err(), self.copy_tool().err()];
        for problem in problems.into_iter().flatten() {
            let sentence = format!("the tool cannot be installed: {problem}");
            warn(&sentence);
            // If this fails, the line on standard error remains.
            let _ = report(&results, &sentence);
        }
    }

    fn copy_tool(&self) -> io::Result<()> {
        let folder = self.volume.join("tool");
        make_folder(&folder, 0o755)?;
        for entry in list(&self.tool)? {
            let from = self.tool.join(&entry);
            let to = folder.join(&entry);
            let copy = || copy_file(&from, &folder, &to);
            copy().map_err(|error| in_path(&to, &error))?;
        }
        Ok(())
    }
}

/// Lists the names of the files in a folder.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| in_path(folder, &error))?;
    entries
        .map(|entry| Ok(PathBuf::from(entry?.file_name())))
        .collect()
}

/// Copies a file so that each user can read and execute it. A process that has loaded the old file
/// keeps it: the new file replaces the old one when it is complete.
fn copy_file(from: &Path, folder: &Path, to: &Path) -> io::Result<()> {
    let new = folder.join(".new");
    let mut source = File::open(from)?;
    // A file of an interrupted installation may be left.
    let _ = fs::remove_file(&new);
    let mut target = OpenOptions::new().write(true).create_new(true).open(&new)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(Permissions::from_mode(0o755))?;
    fs::rename(&new, to)
}

/// Makes a folder with these permissions, regardless of the umask.
fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    let make = || match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    };
    let set_mode = || {
        let is_set = fs::metadata(path)?.permissions().mode() & 0o7777 == mode;
        if is_set {
            Ok(())
        } else {
            fs::set_permissions(path, Permissions::from_mode(mode))
        }
    };
    make()
        .and_then(|()| set_mode())
        .map_err(|error| in_path(path, &error))
}

fn report(results: &Path, sentence: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o666);
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let mut file = options.open(results.join(REPORTS))?;
    // Every user of the target may add a line.
    file.set_permissions(Permissions::from_mode(0o666))?;
    writeln!(file, "{sentence}")
}

fn in_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(name: &str) -> (Installation, PathBuf) {
        let own = std::process::id();
        let folder = std::env::temp_dir().join(format!("ridealong-install-{own}-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("image")).unwrap();
        fs::create_dir_all(folder.join("volume")).unwrap();
        let installation = Installation {
            tool: folder.join("image"),
            volume: folder.join("volume"),
        };
        (installation, folder)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_tool_is_copied_and_a_second_installation_changes_nothing() {
        let (installation, folder) = folders("twice");
        fs::write(installation.tool.join("loader.so"), "one").unwrap();
        fs::set_permissions(
            installation.tool.join("loader.so"),
            Permissions::from_mode(0o600),
        )
        .unwrap();
        for _ in 0..2 {
            installation.install();
            let volume = &installation.volume;
            assert_eq!(fs::read(volume.join("tool/loader.so")).unwrap(), b"one");
            assert_eq!(
                list(&volume.join("tool")).unwrap(),
                [PathBuf::from("loader.so")]
            );
            assert_eq!(mode(&volume.join("tool/loader.so")), 0o755);
            assert_eq!(mode(&volume.join("tool")), 0o755);
            assert_eq!(mode(&volume.join("results")), 0o1777);
            assert_eq!(fs::read_dir(volume.join("results")).unwrap().count(), 0);
            fs::write(volume.join("tool/.new"), "half").unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_problem_is_a_line_in_the_results() {
        let (mut installation, folder) = folders("problem");
        installation.tool = folder.join("none");
        installation.install();
        let reports = installation.volume.join("results/loader.log");
        let text = fs::read_to_string(&reports).unwrap();
        assert!(text.starts_with("the tool cannot be installed: "), "{text}");
        assert!(text.contains("none: No such file"), "{text}");
        assert_eq!(mode(&reports), 0o666);
        // Without a volume, there is only the line on standard error.
        installation.volume = folder.join("none");
        installation.install();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_environment_names_the_folders() {
        let usual = Installation::read(|_| None);
        assert_eq!(usual.tool, PathBuf::from(TOOL));
        assert_eq!(usual.volume, PathBuf::from(VOLUME));
        let other =
            Installation::read(|name| (name == "RIDEALONG_TOOL_VOLUME").then(|| b"/v".to_vec()));
        assert_eq!(other.volume, PathBuf::from("/v"));
    }
}
