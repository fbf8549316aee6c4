//! The observers that Ridealong adds to pods. They write the resource use of the application's
//! processes and containers, the traffic of the pod's network, or the use of the node's block
//! devices, in the Metrics Operator's format. docs/observers.md defines each number.
//!
//! The program has one thread, which scans all processes, writes the log, and waits. Other
//! threads only end the program if the first one cannot ([`watchdog`]). The sampling
//! loop of perf-sysstat, pressure and network passes through these modules: `sampling` →
//! `process_table` → `measure` → `rows`, `pressure_rows` or `network_rows` → `log`.

pub mod account;
pub mod accounts;
pub mod artifacts;
pub mod budget;
pub mod capacity;
pub mod cgroup;
pub mod cli;
pub mod clock;
pub mod container_time;
pub mod containers;
pub mod cost_limit;
pub mod counters;
pub mod cpu_profile;
pub mod ending;
pub mod foreign;
pub mod hold;
pub mod identity;
pub mod infiniband;
pub mod install;
pub mod io_sysstat;
pub mod iostat;
pub mod json;
pub mod json_rows;
pub mod last_use;
pub mod log;
pub mod machine;
pub mod measure;
pub mod metadata;
pub mod mpi;
pub mod mpi_trace;
pub mod network;
pub mod network_rows;
pub mod notices;
pub mod number;
pub mod observer;
pub mod omissions;
pub mod otlp;
pub mod perf_sysstat;
pub mod placement;
pub mod pressure;
pub mod pressure_rows;
pub mod proc;
pub mod process;
pub mod process_table;
pub mod profile;
pub mod program;
pub mod read_at;
pub mod rows;
pub mod sampling;
pub mod session;
pub mod settings;
pub mod signals;
pub mod sock_diag;
pub mod socket_owners;
pub mod stderr;
pub mod summary;
pub mod target_command;
pub mod tasks;
pub mod thread_rows;
pub mod topology;
pub mod totals;
pub mod traffic;
pub mod traffic_table;
pub mod walk_limit;
pub mod watchdog;
