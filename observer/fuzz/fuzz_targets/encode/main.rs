//! The fuzz targets of the crate encode. `FUZZ_TARGET` is the name of one.
#![no_main]

mod json;
#[path = "../../run_target.rs"]
mod run_target;

use libfuzzer_sys::fuzz_target;

use self::run_target::Target;

const TARGETS: &[Target] = &[("json", json::run)];

fuzz_target!(|data: &[u8]| run_target::run(TARGETS, data));
