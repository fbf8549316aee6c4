//! Fuzzes the parser of the answers to a request for stacks. Any process can write them.

use ridealong_observer::stacks::answers::parse;

const MAGIC: &[u8; 8] = b"RSTACK1\0";

fn read_all(mut bytes: &[u8]) {
    while let Some((answer, length)) = parse(bytes) {
        assert!(length >= 32 && length <= bytes.len());
        assert!(answer.is_none_or(|answer| 32 + answer.addresses.len() * 8 == length));
        bytes = &bytes[length..];
    }
}

pub fn run(data: &[u8]) {
    read_all(data);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(data);
    read_all(&bytes);
}
