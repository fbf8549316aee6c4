//! Writes the values of logs: untrusted text as JSON, and numbers.

pub mod json;
pub mod number;
