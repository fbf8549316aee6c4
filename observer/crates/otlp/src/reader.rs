//! Reads the rows of a log, line by line, in each of the formats.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer as _, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};

use crate::description::{Description, Format};
use crate::row::{Kind, Row};
use crate::table::Table;

/// Reads a log.
pub struct LogReader {
    format: Format,
    /// The names of the sections between the markers.
    names: Vec<String>,
    /// Whether the line of the collection's start was read, and not its end.
    is_collecting: bool,
    is_summary: bool,
    /// Whether the rows of threads are left out, because the values of processes are summed.
    is_summed: bool,
}

impl LogReader {
    /// Starts to read a log.
    pub fn new(description: &Description) -> Self {
        let names = description.sections.iter();
        Self {
            format: description.format,
            names: names.map(|section| section.name.clone()).collect(),
            is_collecting: false,
            is_summary: false,
            is_summed: description
                .sections
                .iter()
                .any(|section| section.keys.iter().any(|key| key.is_member)),
        }
    }

    /// Whether the log is between the markers of its start and its end.
    pub fn is_collecting(&self) -> bool {
        self.is_collecting
    }

    /// Reads a line without its line break, and puts its rows into the table. Lines that are not
    /// rows are ignored. `now` is a time in seconds that only grows.
    pub fn read_line(&mut self, line: &[u8], table: &mut Table, now: f64) {
        let line = line.trim_ascii();
        match line {
            b"METRICS OPERATOR COLLECTION START" => self.is_collecting = true,
            b"METRICS OPERATOR COLLECTION END" => self.is_collecting = false,
            b"SUMMARY START" => self.is_summary = true,
            b"SUMMARY END" => self.is_summary = false,
            _ if self.is_summary => {
                if let Some(row) = parse_row(line) {
                    table.record_summary(&row, now);
                }
            }
            _ if self.is_collecting => self.read_rows(line, table, now),
            _ => {}
        }
    }

    fn read_rows(&self, line: &[u8], table: &mut Table, now: f64) {
        match self.format {
            Format::Jsonl => {
                if let Some(row) = parse_row(line)
                    && let Some(section) = self.find_section(&row)
                {
                    table.record(Kind::Row, section, &row, now);
                }
            }
            Format::Pidstat if line.first() == Some(&b'[') => {
                each_row(line, &mut |mut row| {
                    let is_thread = read_thread_id(&mut row);
                    if !(is_thread && self.is_summed) {
                        table.record(Kind::Row, 0, &row, now);
                    }
                });
            }
            Format::Pidstat => {}
            Format::Iostat => {
                let line = line.strip_suffix(b",").unwrap_or(line);
                if let Some(row) = parse_row(line).filter(|row| row.contains_key("disk_device")) {
                    table.record(Kind::Row, 0, &rename_devices(row), now);
                }
            }
        }
    }

    /// Finds the section of a row. A row may omit the name if there is only one section.
    fn find_section(&self, row: &Row) -> Option<usize> {
        match row.get("section") {
            Some(name) => self.names.iter().position(|known| name == known.as_str()),
            None => (self.names.len() == 1 && !row.contains_key("notice")).then_some(0),
        }
    }
}

fn parse_row(line: &[u8]) -> Option<Row> {
    if line.first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// Calls a function with each row of a JSON array, without keeping the others in memory. The text
/// after an error is ignored.
fn each_row(line: &[u8], then: &mut dyn FnMut(Row)) {
    let mut text = Deserializer::from_slice(line);
    let _ = text.deserialize_seq(Rows(then));
}

struct Rows<'a>(&'a mut dyn FnMut(Row));

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = ();

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element_seed(OneRow)? {
            if let Value::Object(row) = row {
                (self.0)(row);
            }
        }
        Ok(())
    }
}

struct OneRow;

impl<'de> DeserializeSeed<'de> for OneRow {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        serde::Deserialize::deserialize(text)
    }
}

/// Reads the id of a thread, which perf-sysstat writes in quotation marks, or as a dash in the row
/// of a process. Returns whether the row is of a thread.
fn read_thread_id(row: &mut Row) -> bool {
    let Some(Value::String(text)) = row.remove("tid") else {
        return false;
    };
    let id: Option<i64> = text.parse().ok();
    if let Some(id) = id {
        row.insert("tid".to_owned(), id.into());
    }
    id.is_some()
}

/// Gives the values of a device the names of columns, as `collect` does: `rMB/s` is `rmb_s`.
fn rename_devices(row: Row) -> Row {
    let rename = |(name, value): (String, Value)| {
        let name = match name.as_str() {
            "disk_device" => Cow::Borrowed("device"),
            _ => Cow::Owned(name.to_ascii_lowercase().replace(['/', '-'], "_")),
        };
        (name.into_owned(), value)
    };
    row.into_iter().map(rename).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points after a log, as `name{attributes} value`.
    fn points(description: &str, log: &str) -> Vec<String> {
        let description = Description::parse(description.as_bytes()).unwrap();
        let mut table = Table::new(&description);
        let mut reader = LogReader::new(&description);
        for line in log.lines() {
            reader.read_line(line.as_bytes(), &mut table, 1.0);
        }
        table.describe_points(1.0)
    }

    const FURNACE: &str = r#"{"metric":"furnace","format":"jsonl","sections":[
        {"name":"zone","keys":[{"column":"zone","attribute":"z"}],
         "values":[{"column":"heat","name":"heat","unit":"Cel","behavior":"gauge"}]},
        {"name":"door","values":[{"column":"opened","name":"opened","unit":"1","behavior":"counter"}]}],
        "summary":[{"name":"fuel","keys":[{"column":"fuel","attribute":"f"}],
         "values":[{"column":"burnt","name":"burnt","unit":"g","behavior":"counter"}]}]}"#;

    #[test]
    fn json_lines_have_rows_between_the_markers() {
        let log = r#"{"time":"x","section":"zone","zone":"early","heat":1}
METRICS OPERATOR COLLECTION START
{"time":"x","section":"zone","zone":"top","heat":20}
{"time":"x","section":"zone","zone":"low","heat":null}
not a row
{"time":"x","section":"oven","heat":9}
{"time":"x","notice":"a sentence"}
{"time":"x","section":"door","opened":3}
SUMMARY START
{"metric":"furnace"}
{"fuel":"coal","burnt":7}
SUMMARY END
{"time":"x","section":"zone","zone":"top","heat":21}
METRICS OPERATOR COLLECTION END
{"time":"x","section":"zone","zone":"late","heat":1}"#;
        let expected = ["heat{z=top} 21", "opened{} 3", "burnt{f=coal} 7"];
        assert_eq!(points(FURNACE, log), expected);
    }

    #[test]
    fn rows_of_perf_sysstat_are_arrays_after_headers() {
        let description = r#"{"metric":"p","format":"pidstat","sections":[{"name":"process",
            "keys":[{"column":"program","attribute":"p"},
                {"column":"pid","attribute":"pid"},{"column":"tid","attribute":"tid"}],
            "values":[{"column":"rss","name":"rss","unit":"By","behavior":"gauge","scale":1024},
                {"column":"threads","name":"threads","unit":"1","behavior":"gauge"}]}]}"#;
        let log = r#"METRICS OPERATOR COLLECTION START
METRICS OPERATOR TIMEPOINT
PAGEFAULTS TASK
[{"time":1,"pid":7,"rss":2,"program":"lmp"},{"time":1,"pid":8,"rss":3,"program":"lmp"}]
KERNEL TABLES
[{"time":1,"pid":7,"threads":"4","program":"lmp"}]
[{"time":1,"pid":8,"threads":"6","program":"lmp"},{"broken"#;
        let expected = [
            "rss{p=lmp,pid=7} 2048",
            "rss{p=lmp,pid=8} 3072",
            "threads{p=lmp,pid=7} 4",
            "threads{p=lmp,pid=8} 6",
        ];
        assert_eq!(points(description, log), expected);
    }

    #[test]
    fn rows_of_threads_are_not_added_to_those_of_their_process() {
        let description = |is_member: bool| {
            let member = r#","member":true"#;
            let member = if is_member { member } else { "" };
            format!(
                r#"{{"metric":"p","format":"pidstat","sections":[{{"name":"process","keys":[
                {{"column":"program","attribute":"p"}},{{"column":"tid","attribute":"t"{member}}}],
                "values":[{{"column":"cpu","name":"cpu","unit":"%","behavior":"gauge"}}]}}]}}"#
            )
        };
        let log = r#"METRICS OPERATOR COLLECTION START
[{"pid":7,"tgid":"7","tid":"-","cpu":9,"program":"a"},{"pid":7,"tgid":"-","tid":"8","cpu":4,"program":"a"}]"#;
        assert_eq!(points(&description(true), log), ["cpu{p=a} 9"]);
        assert_eq!(
            points(&description(false), log),
            ["cpu{p=a} 9", "cpu{p=a,t=8} 4"]
        );
    }

    #[test]
    fn a_device_has_the_names_of_columns() {
        let description = r#"{"metric":"io","format":"iostat","sections":[{"name":"device",
            "keys":[{"column":"device","attribute":"d"}],
            "values":[{"column":"rmb_s","name":"read","unit":"MBy/s","behavior":"gauge"},
                {"column":"rareq_sz","name":"size","unit":"KiBy","behavior":"gauge"}]}]}"#;
        let log = "METRICS OPERATOR COLLECTION START\n{\"sysstat\": {\n\t\t\t\t\t\t{\"disk_device\": \"vda\", \"r/s\": 1.00, \"rMB/s\": 2.50, \"rareq-sz\": 4.00},\n\t\t\t\t\t\t{\"disk_device\": \"vdb\", \"rMB/s\": 0.00}\n]";
        let expected = ["read{d=vda} 2.5", "read{d=vdb} 0", "size{d=vda} 4"];
        assert_eq!(points(description, log), expected);
    }
}
