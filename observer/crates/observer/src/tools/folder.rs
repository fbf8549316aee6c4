//! The folder of a tool's results, as a metric uses it: its files, the notices about them, and the
//! copies of the files in the log.

use std::fs::File;

use linux::proc::files::Files;
use linux::proc::mountinfo;

use crate::runtime::log::Log;
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::{FolderSettings, Settings};
use crate::sampling::process_table::ProcessTable;
use crate::tools::artifacts::writer::{RawFiles, Until};
use crate::tools::earlier;
use crate::tools::results::{Listing, ResultName, Results};

/// The seconds to wait for the reader of the log after the last rows of a process.
pub const DRAIN: f64 = 1.0;
/// The maximum seconds at the end for the rows that are left, and for raw files. The kubelet kills
/// a container that does not end within the grace period of the pod, which is 30 seconds by
/// default.
pub const MAX_END: f64 = 15.0;
/// The maximum notices that are not written yet.
const MAX_PENDING: usize = 64;

/// The folder.
pub struct Folder {
    /// The folder; `None` if it cannot be opened.
    results: Option<Results>,
    /// The files that were there before the observer, until their attempt is known.
    before: Vec<ResultName>,
    /// When the target started, in ticks since boot, as this observer or one before has seen it.
    target_start: Option<u64>,
    /// The files with rows, if the log is to contain them.
    raw_files: RawFiles,
    notices: Notices,
    /// Notices that are not written yet.
    pending: Vec<String>,
    /// The paths of the tool's image in the target that are not checked yet.
    unchecked: Vec<String>,
}

impl Folder {
    /// Opens the folder. If it cannot be opened, it has no files, and a notice says why.
    pub fn open(settings: &FolderSettings) -> Self {
        let mut folder = Self {
            results: None,
            before: Vec::new(),
            target_start: None,
            raw_files: RawFiles::default(),
            notices: Notices::default(),
            pending: Vec::new(),
            unchecked: settings.mounts.clone(),
        };
        match Results::open(&settings.path, settings.size_limit) {
            Ok(results) => {
                folder.target_start = earlier::read_start(&results);
                folder.results = Some(results);
                folder.before = folder.list().map_or(Vec::new(), |listing| listing.names);
            }
            Err(error) => {
                let reason = error.desc();
                folder.note(format!(
                    "the folder of the results cannot be opened: {reason}"
                ));
            }
        }
        folder
    }

    /// Returns the folder itself; `None` if it cannot be opened.
    pub fn results(&self) -> Option<&Results> {
        self.results.as_ref()
    }

    /// Lists the files. `None` if they cannot be listed; a notice says why.
    pub fn list(&mut self) -> Option<Listing> {
        match self.results.as_ref()?.list() {
            Ok(listing) => Some(listing),
            Err(error) => {
                let reason = error.desc();
                self.note(format!(
                    "the folder of the results cannot be listed: {reason}"
                ));
                None
            }
        }
    }

    /// Returns the files of an earlier attempt of the pod, in the first call: those that were there
    /// before the observer, if the target has started since then. Their processes are no part of
    /// this attempt. `recorded_at` reads when the process of a file recorded, in nanoseconds since
    /// boot.
    pub fn take_earlier(
        &mut self,
        settings: &Settings,
        table: &mut ProcessTable,
        recorded_at: impl Fn(&File) -> Option<u64>,
    ) -> Vec<ResultName> {
        let before = std::mem::take(&mut self.before);
        let Some(results) = self.results.as_ref() else {
            return Vec::new();
        };
        let start = table.containers.target_start();
        if start.is_some() && start != self.target_start {
            self.target_start = start;
            earlier::record_start(results, start);
        }
        if before.is_empty() {
            return Vec::new();
        }
        // An observer that ends with its target is an ordinary container, which starts last.
        let comes_first = !settings.exits_by_itself;
        let found = (before, self.target_start);
        earlier::find(results, found, table, comes_first, recorded_at)
    }

    /// Opens a file. `None` if it is not an ordinary file, or cannot be read.
    pub fn open_file(&self, name: ResultName) -> Option<File> {
        self.results.as_ref()?.open_result(name)
    }

    /// Adds a file whose copy the log is to contain. `origin` contains the members that describe
    /// its process, each after a comma.
    pub fn add_raw_file(&mut self, name: ResultName, origin: &[u8]) {
        self.raw_files.add(name.copy_name(), origin);
    }

    /// Writes the copies of the files that were added since the last call into the log, and of
    /// those for which that call had no time, at most until a time.
    pub fn write_raw_files(&mut self, time: &str, session: &mut Session, until: Until) {
        let Some(results) = &self.results else {
            return;
        };
        let files = std::mem::take(&mut self.raw_files);
        let (later, notices) = files.write_to_log(time, results, session, until);
        self.raw_files = later;
        for notice in notices {
            self.note(notice);
        }
    }

    /// Returns the lines that the tool has added to its reports since the last call.
    pub fn new_reports(&mut self) -> Vec<Vec<u8>> {
        let reports = self.results.as_mut().map(Results::new_reports);
        reports.unwrap_or_default()
    }

    /// Checks whether a process can map the library of the tool, if the library is mounted from
    /// its image. Each mount is checked once, in the first process that has it.
    pub fn check_mounts(&mut self, files: &mut Files, pid: i32) {
        if self.unchecked.is_empty() {
            return;
        }
        let Ok(text) = files.read_whole(&format!("{pid}/mountinfo")) else {
            return;
        };
        for path in std::mem::take(&mut self.unchecked) {
            match mountinfo::is_noexec(text, path.as_bytes()) {
                None => self.unchecked.push(path),
                Some(true) => self.note(format!(
                    "the application cannot load the tool, because its image is mounted with \
                     noexec at {path}; with the chart's value tools.imageVolumes=false, an init \
                     container installs the tool"
                )),
                Some(false) => {}
            }
        }
    }

    /// Adds a notice, which [`Folder::write_notices`] writes.
    pub fn note(&mut self, notice: String) {
        if self.pending.len() < MAX_PENDING && !self.pending.contains(&notice) {
            self.pending.push(notice);
        }
    }

    /// Reports a reason in the log, unless it was reported before.
    pub fn report(&mut self, reason: String, log: &mut Log) {
        self.notices.report(reason, log);
    }

    /// Writes the notices, each once.
    pub fn write_notices(&mut self, log: &mut Log) {
        for notice in self.pending.drain(..) {
            self.notices.report(notice, log);
        }
        log.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(mounts: &[&str]) -> Folder {
        Folder::open(&FolderSettings {
            path: "/nonexistent".to_owned(),
            size_limit: 0,
            mounts: mounts.iter().map(|path| (*path).to_owned()).collect(),
        })
    }

    #[test]
    fn a_mount_is_checked_once_in_the_first_process_that_has_it() {
        let mut files = Files::open().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let expected = mountinfo::is_noexec(text.as_bytes(), b"/proc").unwrap();
        let mut folder = folder(&["/proc", "/nonexistent/tool"]);
        folder.pending.clear();
        for _ in 0..2 {
            folder.check_mounts(&mut files, own);
            assert_eq!(folder.unchecked, ["/nonexistent/tool"]);
            assert_eq!(folder.pending.len(), usize::from(expected));
        }
        let is_named = |notice: &String| notice.contains("noexec at /proc;");
        assert!(folder.pending.iter().all(is_named), "{:?}", folder.pending);
        folder.check_mounts(&mut files, i32::MAX);
        assert_eq!(folder.unchecked, ["/nonexistent/tool"]);
    }
}
