//! The run of an observer: its settings, its log, its waits, and the limits of its own resource
//! use.

pub mod budget;
pub mod cost_limit;
pub mod declaration;
pub mod hold;
pub mod identity;
pub mod log;
pub mod machine;
pub mod metadata;
pub mod notices;
pub mod session;
pub mod settings;
pub mod summary;
pub mod walk_limit;
pub mod watchdog;
