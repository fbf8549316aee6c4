//! Properties of the texts that a log contains.

use encode::json::{clean, find_keyword, push_string};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_becomes_one_line_of_json_without_keywords(
        parts in prop::collection::vec(
            prop_oneof![
                "(POLICY|METRICS OPERATOR|STATISTICS|SWITCHING|THREADS|METADATA)".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..8),
            ],
            0..6,
        ),
    ) {
        let text = clean(&parts.concat());
        let mut out = Vec::new();
        push_string(&mut out, &text);
        let written = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(find_keyword(written), None);
        prop_assert!(!written.contains(|character: char| character.is_control()));
        prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), text);
    }
}
