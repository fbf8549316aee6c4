//! A row of a log.

use serde_json::{Map, Value};

/// A row, by names of columns.
pub type Row = Map<String, Value>;

/// Whether a section describes rows between the markers, or lines of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows between the markers.
    Row,
    /// Lines of the summary.
    Summary,
}
