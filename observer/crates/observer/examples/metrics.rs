//! Prints the declarations of all metrics as JSON. test/observers/metrics.test.ts compares them
//! with the catalog.
//!
//! ```text
//! cargo run --quiet --example metrics
//! ```

use std::io::{Result, Write as _, stdout};

use ridealong_observer::metrics::METRICS;
use ridealong_observer::runtime::declaration::{Declaration, MetricOption, Section};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let metrics = METRICS.map(|metric| describe(&metric.declaration));
    writeln!(stdout(), "{:#}", json!(metrics))
}

fn describe(metric: &Declaration) -> Value {
    let options = metric.options.iter().copied().map(MetricOption::name);
    json!({
        "name": metric.name,
        "description": metric.description,
        "options": options.collect::<Vec<_>>(),
        "observesProcesses": metric.reads.observes_processes(),
        "sections": sections(metric.sections),
        "summary": sections(metric.summary),
    })
}

fn sections(sections: &[Section]) -> Value {
    let members = sections
        .iter()
        .map(|section| (section.name.to_owned(), json!(section.columns)));
    Value::Object(members.collect())
}
