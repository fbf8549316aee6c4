//! The fuzz targets of the crate target-command. `FUZZ_TARGET` is the name of one.
#![no_main]

#[path = "../../run_target.rs"]
mod run_target;
mod target_command;

use libfuzzer_sys::fuzz_target;

use self::run_target::Target;

const TARGETS: &[Target] = &[("target_command", target_command::run)];

fuzz_target!(|data: &[u8]| run_target::run(TARGETS, data));
