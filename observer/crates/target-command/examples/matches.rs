//! Matches texts against patterns. Each line of standard input is a pattern, a tab and a text. The
//! output has one character for each line: `1` if the text matches, `0` if it does not match, and
//! `-` if the pattern is invalid. test/observers/target-command.test.ts compares the output with
//! the decisions of the webhook.
//!
//! ```text
//! printf '^lmp$\tlmp\n' | cargo run --quiet --example matches
//! ```

use std::io::{Read as _, Result, Write as _, stdin, stdout};

use target_command::TargetCommand;

fn main() -> Result<()> {
    let mut input = Vec::new();
    stdin().read_to_end(&mut input)?;
    let answers: Vec<u8> = input
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some(match TargetCommand::parse(&line[..tab]) {
                Ok(command) if command.matches(&line[tab + 1..]) => b'1',
                Ok(_) => b'0',
                Err(_) => b'-',
            })
        })
        .collect();
    stdout().write_all(&answers)
}
