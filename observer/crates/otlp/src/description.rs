//! The description of the rows to export, which the webhook derives from the catalog document of
//! the metric (src/core/live-export.ts).

use serde_json::{Map, Value};

/// The most sections of a description, and of its summary.
const MAX_SECTIONS: usize = 16;
/// The most keys and values of a section.
const MAX_COLUMNS: usize = 64;
/// The longest text of a description, in bytes.
const MAX_TEXT: usize = 255;

/// How a log writes its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines: one object for each row.
    Jsonl,
    /// The format of perf-sysstat: after the header of each section, one array of rows.
    Pidstat,
    /// The format of io-sysstat: a document for each timepoint, with a device on each line.
    Iostat,
}

/// The rows of a metric.
#[derive(Clone, Debug)]
pub struct Description {
    /// The metric.
    pub metric: String,
    /// How the log writes its rows.
    pub format: Format,
    /// The kinds of rows between the markers.
    pub sections: Vec<Section>,
    /// The kinds of lines in the summary, whose values only grow or are states of the whole run.
    pub summary: Vec<Section>,
}

/// A kind of row.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name, which its rows have as `section`.
    pub name: String,
    /// The columns that tell rows apart.
    pub keys: Vec<Key>,
    /// The columns to export.
    pub values: Vec<Column>,
}

/// A column that tells rows apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name of the column.
    pub column: String,
    /// The attribute of the exported points.
    pub attribute: String,
    /// Whether the key only tells members of a group apart. The values of a group are summed, and
    /// its points do not have the attribute.
    pub is_member: bool,
}

/// A column to export.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name of the column.
    pub column: String,
    /// The name of the metric in OpenTelemetry.
    pub name: String,
    /// Its unit in UCUM.
    pub unit: String,
    /// Whether the value only grows.
    pub is_counter: bool,
    /// Whether a group has the mean of its members instead of their sum.
    pub is_mean: bool,
    /// The factor that converts a value of the log to the unit.
    pub scale: f64,
    /// More attributes of its points.
    pub attributes: Vec<(String, String)>,
}

impl Description {
    /// Parses a description.
    ///
    /// # Errors
    /// A sentence that names the wrong part.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| format!("RIDEALONG_OTLP_ROWS is not JSON: {error}"))?;
        read(&value).ok_or_else(|| {
            "RIDEALONG_OTLP_ROWS does not describe rows: metric, format, sections".to_owned()
        })
    }
}

fn read(value: &Value) -> Option<Description> {
    let format = match value["format"].as_str()? {
        "jsonl" => Format::Jsonl,
        "pidstat" => Format::Pidstat,
        "iostat" => Format::Iostat,
        _ => return None,
    };
    let sections = read_list(&value["sections"], MAX_SECTIONS, read_section)?;
    let is_complete = format == Format::Jsonl || sections.len() == 1;
    is_complete.then_some(Description {
        metric: read_text(&value["metric"])?,
        format,
        sections,
        summary: read_list(&value["summary"], MAX_SECTIONS, read_section)?,
    })
}

/// Reads a list of at most `most` items; a missing list is empty.
fn read_list<T>(value: &Value, most: usize, read: fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Array(list) if list.len() <= most => list.iter().map(read).collect(),
        _ => None,
    }
}

fn read_text(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (text.len() <= MAX_TEXT).then(|| text.to_owned())
}

fn read_section(value: &Value) -> Option<Section> {
    Some(Section {
        name: read_text(&value["name"])?,
        keys: read_list(&value["keys"], MAX_COLUMNS, read_key)?,
        values: read_list(&value["values"], MAX_COLUMNS, read_column)?,
    })
}

fn read_key(value: &Value) -> Option<Key> {
    Some(Key {
        column: read_text(&value["column"])?,
        attribute: read_text(&value["attribute"])?,
        is_member: value["member"].as_bool().unwrap_or(false),
    })
}

fn read_column(value: &Value) -> Option<Column> {
    let scale = value["scale"].as_f64().unwrap_or(1.0);
    Some(Column {
        column: read_text(&value["column"])?,
        name: read_text(&value["name"])?,
        unit: read_text(&value["unit"])?,
        is_counter: value["behavior"].as_str()? == "counter",
        is_mean: value["mean"].as_bool().unwrap_or(false),
        scale,
        attributes: match value["attributes"].as_object() {
            Some(attributes) if attributes.len() <= MAX_COLUMNS => read_attributes(attributes)?,
            Some(_) => return None,
            None => Vec::new(),
        },
    })
}

fn read_attributes(attributes: &Map<String, Value>) -> Option<Vec<(String, String)>> {
    let read = |(key, value): (&String, &Value)| Some((key.clone(), read_text(value)?));
    attributes.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_the_columns_to_export() {
        let text = br#"{"metric":"furnace","format":"jsonl","sections":[{"name":"zone",
            "keys":[{"column":"zone","attribute":"ridealong.zone","member":true}],
            "values":[{"column":"heat","name":"furnace.heat","unit":"Cel","behavior":"gauge",
                "scale":0.5,"mean":true,"attributes":{"a":"b"}},
                {"column":"joules","name":"furnace.energy","unit":"J","behavior":"counter"}]}]}"#;
        let description = Description::parse(text).unwrap();
        assert_eq!(
            (description.metric.as_str(), description.format),
            ("furnace", Format::Jsonl)
        );
        let [section] = &description.sections[..] else {
            panic!("one section");
        };
        assert!(section.keys[0].is_member);
        let [heat, joules] = &section.values[..] else {
            panic!("two columns");
        };
        assert!((heat.scale - 0.5).abs() < f64::EPSILON && heat.is_mean && !heat.is_counter);
        assert_eq!(heat.attributes, [("a".to_owned(), "b".to_owned())]);
        assert!(joules.is_counter && !joules.is_mean);
        assert!((joules.scale - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"metric":"a","format":"csv","sections":[]}"#,
            r#"{"metric":"a","format":"pidstat","sections":[]}"#,
            r#"{"metric":"a","format":"jsonl","sections":[{"name":"b","values":[{"column":"c"}]}]}"#,
            r#"{"metric":"a","format":"jsonl","sections":[1]}"#,
        ] {
            assert!(Description::parse(text.as_bytes()).is_err(), "{text}");
        }
        let many = format!(
            r#"{{"metric":"a","format":"jsonl","sections":[{}]}}"#,
            vec![r#"{"name":"b"}"#; 17].join(",")
        );
        assert!(Description::parse(many.as_bytes()).is_err());
    }
}
