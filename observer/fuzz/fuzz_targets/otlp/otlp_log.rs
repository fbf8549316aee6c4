//! Fuzzes the reader of a log for the live export. The first byte selects the format of the log.

use otlp::description::Description;
use otlp::reader::LogReader;
use otlp::table::Table;

const SECTIONS: &str = r#"[{"name":"a","keys":[{"column":"k","attribute":"k"},
    {"column":"pid","attribute":"pid","member":true}],
    "values":[{"column":"c","name":"c","unit":"1","behavior":"counter"},
    {"column":"g","name":"g","unit":"1","behavior":"gauge"}]}]"#;

pub fn run(data: &[u8]) {
    let Some((first, text)) = data.split_first() else {
        return;
    };
    let format = ["jsonl", "pidstat", "iostat"][usize::from(*first) % 3];
    let description = format!(
        r#"{{"metric":"m","format":"{format}","sections":{SECTIONS},"summary":{SECTIONS}}}"#
    );
    let Ok(description) = Description::parse(description.as_bytes()) else {
        return;
    };
    let mut table = Table::new(&description);
    let mut reader = LogReader::new(&description);
    reader.read_line(b"METRICS OPERATOR COLLECTION START", &mut table, 0.0);
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        reader.read_line(
            line,
            &mut table,
            f64::from(u16::try_from(number).unwrap_or(u16::MAX)),
        );
    }
    table.sum_up(65_536.0);
    table.each_point(|point| assert!(point.value.is_finite()));
    table.forget_absent();
}
