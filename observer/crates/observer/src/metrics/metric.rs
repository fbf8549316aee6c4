//! A metric of the program.

use crate::runtime::declaration::Declaration;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;

/// A metric: its declaration, and its code.
#[derive(Debug)]
pub struct Metric {
    /// What the rest of the program knows of the metric.
    pub declaration: Declaration,
    /// Observes until there is a reason to end, and then writes the closing marker and the summary.
    pub run: fn(Settings, &mut Session),
}

/// Two metrics are equal if they have the same name.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.declaration.name == other.declaration.name
    }
}

impl Eq for Metric {}
