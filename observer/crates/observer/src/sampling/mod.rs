//! The sampling of processes: the observer scans the processes of the pod, measures those that it
//! observes, and sums their resource use. A scan passes through these modules: `sampler` →
//! `process_table` → `measure` → `accounts`.

pub mod account;
pub mod accounts;
pub mod attempts;
pub mod capacity;
pub mod columns;
pub mod container_time;
pub mod container_use;
pub mod containers;
pub mod counters;
pub mod ending;
pub mod environ;
pub mod json_rows;
pub mod last_use;
pub mod lifecycle;
pub mod measure;
pub mod omissions;
pub mod process;
pub mod process_table;
pub mod program;
pub mod row;
pub mod sampler;
pub mod tasks;
pub mod threads;
pub mod traffic;
