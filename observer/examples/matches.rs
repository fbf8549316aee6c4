//! Says of each line of the standard input, a pattern and a text with a tab between them, whether
//! the text matches: `1`, `0`, or `-` where the pattern is invalid. A test of the repository
//! compares this with what admission says of the pattern.
//!
//! ```text
//! printf '^lmp$\tlmp\n' | cargo run --quiet --example matches
//! ```

use std::io::{Read as _, Result, Write as _, stdin, stdout};

use ridealong_observer::target_command::TargetCommand;

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
