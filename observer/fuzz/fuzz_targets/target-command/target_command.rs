//! Fuzzes `target-command`. The input is a regular expression, a zero byte and a program name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use target_command::TargetCommand;

fuzz_target!(|data: &[u8]| {
    let at = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    if let Ok(command) = TargetCommand::parse(&data[..at]) {
        let _ = command.matches(&data[at..]);
    }
});
