//! How the files of a process are read whose stacks are requested.

use crate::runtime::identity::Identity;
use crate::sampling::process::Access;

/// The facts about the process of a thread that are needed to ask the thread.
pub struct Asking {
    /// The process id in the pod.
    pub pid: i32,
    /// Whether the process has the profiler; otherwise its threads are only looked at.
    pub has_profiler: bool,
    /// How the files of the process can be read.
    pub access: Access,
    /// The user and group of the process.
    pub identity: Option<Identity>,
}
