//! Fuzzes the writer of JSON strings with untrusted text.

use encode::json::{clean, find_keyword, push_string};

pub fn run(data: &[u8]) {
    let mut out = Vec::new();
    push_string(&mut out, &clean(data));
    let text = std::str::from_utf8(&out).expect("JSON is UTF-8");
    assert!(find_keyword(text).is_none() && !text.contains('\n'));
}
