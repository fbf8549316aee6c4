//! The fuzz targets of the crate otlp. `FUZZ_TARGET` is the name of one.
#![no_main]

mod otlp_answer;
mod otlp_log;
mod otlp_settings;
#[path = "../../run_target.rs"]
mod run_target;

use libfuzzer_sys::fuzz_target;

use self::run_target::Target;

const TARGETS: &[Target] = &[
    ("otlp_answer", otlp_answer::run),
    ("otlp_log", otlp_log::run),
    ("otlp_settings", otlp_settings::run),
];

fuzz_target!(|data: &[u8]| run_target::run(TARGETS, data));
