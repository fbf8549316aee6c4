//! Fuzzes the parser of a receiver's answer to a push.

use otlp::http::{join_chunks, judge, parse_head};

pub fn run(data: &[u8]) {
    if let Ok(Some(head)) = parse_head(data) {
        assert!(head.body <= data.len());
        let _ = judge(&head, &join_chunks(&data[head.body..]));
        let _ = judge(&head, &data[head.body..]);
    }
}
