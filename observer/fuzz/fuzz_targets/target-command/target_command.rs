//! Fuzzes `target-command`. The input is a regular expression, a zero byte and a program name.

use target_command::TargetCommand;

pub fn run(data: &[u8]) {
    let at = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    if let Ok(command) = TargetCommand::parse(&data[..at]) {
        let _ = command.matches(&data[at..]);
    }
}
