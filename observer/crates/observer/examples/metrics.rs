//! Prints the options and the rows of all metrics as JSON, as the catalog has them. The command
//! `npm run catalog:rows` writes the rows into the catalog.
//!
//! ```text
//! cargo run --quiet --example metrics
//! ```

use std::io::{Result, Write as _, stdout};

use ridealong_observer::metrics::{METRICS, ROWS};
use ridealong_observer::runtime::declaration::{Declaration, MetricOption};
use ridealong_observer::sampling::columns::{Column, Columns, Part, Rows, Section};
use serde_json::{Map, Value, json};

fn main() -> Result<()> {
    let metrics = METRICS.iter().zip(&ROWS);
    let metrics = metrics.map(|(metric, rows)| describe(&metric.declaration, rows));
    writeln!(stdout(), "{:#}", metrics.collect::<Value>())
}

fn describe(metric: &Declaration, rows: &Rows) -> Value {
    let options = metric.options.iter().copied().map(MetricOption::name);
    let mut described = Map::new();
    described.insert("format".to_owned(), rows.format.into());
    for (key, list) in [("sections", rows.sections), ("summary", rows.summary)] {
        if !list.is_empty() {
            described.insert(key.to_owned(), list.iter().map(section).collect());
        }
    }
    json!({
        "name": metric.name,
        "options": options.collect::<Vec<_>>(),
        "rows": described,
    })
}

fn section(section: &Section) -> Value {
    let mut columns = Vec::new();
    add_columns(&mut columns, &section.columns, None);
    let mut described = json!({
        "name": section.name,
        "of": section.of,
        "description": section.description.trim_start(),
        "columns": columns,
    });
    if let Some(title) = section.title {
        described["title"] = title.into();
    }
    described
}

/// Adds columns of a section. `export` is the metric and the section under whose names they are
/// exported, unless it is the section itself.
fn add_columns(list: &mut Vec<Value>, columns: &Columns, export: Option<&str>) {
    let export = columns.export.or(export);
    for part in columns.parts {
        match part {
            Part::Column(one) => list.push(column(one, export, columns.is_of_threads)),
            Part::Shared(shared) if columns.is_of_threads => {
                add_columns(list, &shared.of_threads(), export);
            }
            Part::Shared(shared) => add_columns(list, shared, export),
        }
    }
}

fn column(column: &Column, export: Option<&str>, is_of_threads: bool) -> Value {
    let mut members = Map::new();
    let mut add = |key: &str, value: Value| members.insert(key.to_owned(), value);
    add("name", column.name.into());
    add(
        "type",
        if column.is_text { "text" } else { "number" }.into(),
    );
    if column.is_key {
        add("key", true.into());
    }
    if let Some((unit, behavior)) = column.measure {
        add("unit", unit.into());
        add("behavior", behavior.into());
    }
    if !is_of_threads {
        let otlp = otlp(column, export);
        if !otlp.is_empty() {
            add("otlp", otlp.into());
        }
        if let Some(quantity) = column.quantity {
            add("quantity", quantity.into());
        }
        if column.is_sampled {
            add("sampled", true.into());
        }
        if let Some(title) = column.title {
            add("title", title.into());
        }
    }
    add("meaning", column.meaning.trim_start().into());
    members.into()
}

/// Returns the names and the rules of a column in the live export.
fn otlp(column: &Column, export: Option<&str>) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |key: &str, value: Value| members.insert(key.to_owned(), value);
    let is_measured = column.measure.is_some() && column.is_exported;
    let shared = export.filter(|_| is_measured);
    let shared = shared.map(|section| format!("ridealong.{section}.{}", column.name));
    if let Some(name) = column.export_name.map(str::to_owned).or(shared) {
        add("name", name.into());
    }
    if let Some(unit) = column.export_unit {
        add("unit", unit.into());
    }
    if let Some(factor) = column.scale {
        add("scale", factor.into());
    }
    if let Some((name, value)) = column.attribute {
        add("attributes", json!({ name: value }));
    }
    if let Some(is_summed) = column.is_summed {
        add("summed", is_summed.into());
    }
    if !column.is_exported {
        add("exported", false.into());
    }
    if column.is_mean {
        add("mean", true.into());
    }
    members
}
