//! Reasons for values that cannot be read: each is reported once.

use std::collections::BTreeSet;

use crate::log::Log;

/// The most reasons that are reported, since they may have names in them.
const MAX_REASONS: usize = 64;

/// The reasons that were reported.
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
