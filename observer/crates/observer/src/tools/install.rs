//! install: copies the tools of the image into a volume of the pod, from which the target mounts
//! them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use linux::stderr::warn;
use nix::fcntl::OFlag;

/// The folder of the tools in the image.
const TOOLS: &str = "/tool";
/// The volume, unless the environment names another.
const VOLUME: &str = "/ridealong/volume";
/// The file of the results in which problems are reported. The loader writes there, too.
const REPORTS: &str = "loader.log";

/// The folders of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The folder of the tools. It has a folder for each tool, or the files of a single tool.
    pub tools: PathBuf,
    /// The volume. The files of the tool NAME are copied into its folder `NAME-tool`, and the
    /// processes of the target write into its folder `NAME-results`. For a single tool without a
    /// folder of its own, these are `tool` and `results`.
    pub volume: PathBuf,
}

/// A tool, and its folders in the volume.
struct Part {
    source: PathBuf,
    tool: PathBuf,
    results: PathBuf,
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
            tools: path("RIDEALONG_TOOL_SOURCE", TOOLS),
            volume: path("RIDEALONG_TOOL_VOLUME", VOLUME),
        }
    }

    /// Makes the folders and copies the tools. The kubelet runs an installation again if the
    /// sandbox of the pod was restarted. A problem is reported in the results of the tool and on
    /// standard error, and is no failure: the application runs without the tool.
    pub fn install(&self) {
        self.parts().iter().for_each(Part::install);
    }

    fn parts(&self) -> Vec<Part> {
        let entries = list(&self.tools).unwrap_or_default();
        let folders = entries
            .into_iter()
            .filter(|entry| self.tools.join(entry).is_dir());
        let parts: Vec<_> = folders.map(|name| self.part(&name)).collect();
        if parts.is_empty() {
            return vec![self.single()];
        }
        parts
    }

    fn part(&self, name: &Path) -> Part {
        let folder = |kind: &str| {
            let mut folder = name.as_os_str().to_owned();
            folder.push(kind);
            self.volume.join(folder)
        };
        Part {
            source: self.tools.join(name),
            tool: folder("-tool"),
            results: folder("-results"),
        }
    }

    /// Returns the tool whose files are directly in the folder of the tools.
    fn single(&self) -> Part {
        Part {
            source: self.tools.clone(),
            tool: self.volume.join("tool"),
            results: self.volume.join("results"),
        }
    }
}

impl Part {
    fn install(&self) {
        let problems = [make_folder(&self.results, 0o1777).err(), self.copy().err()];
        for problem in problems.into_iter().flatten() {
            let sentence = format!("the tool cannot be installed: {problem}");
            warn(&sentence);
            // If this fails, the line on standard error remains.
            let _ = report(&self.results, &sentence);
        }
    }

    fn copy(&self) -> io::Result<()> {
        let folder = &self.tool;
        make_folder(folder, 0o755)?;
        for entry in list(&self.source)? {
            let from = self.source.join(&entry);
            let to = folder.join(&entry);
            let copy = || copy_file(&from, folder, &to);
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
            tools: folder.join("image"),
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
        fs::write(installation.tools.join("loader.so"), "one").unwrap();
        fs::set_permissions(
            installation.tools.join("loader.so"),
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
    fn each_tool_has_its_own_folders() {
        let (installation, folder) = folders("several");
        for (tool, file) in [("cpu-profile", "loader.so"), ("mpi-trace", "recorder.so")] {
            fs::create_dir(installation.tools.join(tool)).unwrap();
            fs::write(installation.tools.join(tool).join(file), tool).unwrap();
        }
        installation.install();
        let volume = &installation.volume;
        for (tool, file) in [("cpu-profile", "loader.so"), ("mpi-trace", "recorder.so")] {
            let [files, results] =
                ["tool", "results"].map(|kind| volume.join(format!("{tool}-{kind}")));
            assert_eq!(fs::read(files.join(file)).unwrap(), tool.as_bytes());
            assert_eq!(list(&files).unwrap().len(), 1);
            assert_eq!(mode(&results), 0o1777);
            assert_eq!(fs::read_dir(results).unwrap().count(), 0);
        }
        assert_eq!(list(volume).unwrap().len(), 4);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_problem_with_one_tool_does_not_affect_the_others() {
        let (installation, folder) = folders("partial");
        // A folder in the folder of a tool cannot be copied.
        fs::create_dir_all(installation.tools.join("broken/folder")).unwrap();
        fs::create_dir(installation.tools.join("whole")).unwrap();
        fs::write(installation.tools.join("whole/loader.so"), "one").unwrap();
        installation.install();
        let volume = &installation.volume;
        let reports = fs::read_to_string(volume.join("broken-results/loader.log")).unwrap();
        assert!(
            reports.starts_with("the tool cannot be installed: "),
            "{reports}"
        );
        assert!(volume.join("whole-tool/loader.so").exists());
        assert_eq!(
            fs::read_dir(volume.join("whole-results")).unwrap().count(),
            0
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_problem_is_a_line_in_the_results() {
        let (mut installation, folder) = folders("problem");
        installation.tools = folder.join("none");
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
        assert_eq!(usual.tools, PathBuf::from(TOOLS));
        assert_eq!(usual.volume, PathBuf::from(VOLUME));
        let other =
            Installation::read(|name| (name == "RIDEALONG_TOOL_VOLUME").then(|| b"/v".to_vec()));
        assert_eq!(other.volume, PathBuf::from("/v"));
    }
}
