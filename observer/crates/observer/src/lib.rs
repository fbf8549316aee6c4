//! The observers that Ridealong adds to pods. They write the resource use of the application's
//! processes and containers, the traffic of the pod's network, or the use of the node's block
//! devices, in the Metrics Operator's format. docs/metrics defines each number.
//!
//! The program has one thread, which scans all processes, writes the log, and waits. Other
//! threads only end the program if the first one cannot ([`runtime::watchdog`]).
//!
//! The folders import downwards only: `cli` and `stacks` → `metrics` → `tools` → `sampling` →
//! `runtime`. Below them are the crates `otlp`, `target-command`, `encode` and `linux`.

pub mod cli;
pub mod metrics;
pub mod runtime;
pub mod sampling;
pub mod stacks;
pub mod tools;
