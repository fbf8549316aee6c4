//! Reports the reasons why values cannot be read, each reason once.

use std::collections::BTreeSet;

use crate::runtime::log::Log;

/// The maximum number of reasons that are reported. A reason may contain the name of a container,
/// so there can be any number of reasons.
const MAX_REASONS: usize = 64;

/// The reasons that were already reported.
#[derive(Default)]
pub struct Notices {
    reported: BTreeSet<String>,
}

impl Notices {
    /// Reports a reason, unless it was reported before.
    pub fn report(&mut self, reason: String, log: &mut Log) {
        if self.reported.len() < MAX_REASONS && !self.reported.contains(&reason) {
            log.note(&reason);
            self.reported.insert(reason);
        }
    }
}
