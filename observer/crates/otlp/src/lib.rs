//! The live export: pushes the latest values of the log over OTLP/HTTP, the protocol of
//! OpenTelemetry.
//!
//! The observer stays the only writer of its log. A second process, the pusher, is the same program
//! in the role `push`. It receives a copy of each line of the log through a pipe that never blocks
//! the observer, and may itself block on the network: `feed` → `pusher` → `reader` → `table` →
//! `encode` → `http`. `relay` does the same for the log of any other program.

pub mod description;
pub mod encode;
pub mod endpoint;
pub mod feed;
pub mod http;
pub mod lines;
pub mod pusher;
pub mod reader;
pub mod relay;
pub mod resource;
pub mod row;
pub mod settings;
pub mod table;
