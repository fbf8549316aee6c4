//! Writes the header of a log. The header has the keys that the Metrics Operator writes
//! (pkg/metadata/metadata.go), and additional keys.

use encode::json::{push_member, push_string};
use linux::clock::WallTime;

use crate::runtime::declaration::MetricOption;
use crate::runtime::log::Log;
use crate::runtime::settings::Settings;

/// Writes the header. `own` contains additional keys of the metric, with their values.
pub fn write(log: &mut Log, settings: &Settings, own: &[(&str, &str)]) {
    let line = log.line();
    line.extend_from_slice(b"METADATA START {\"pods\":1,\"metricName\":\"");
    line.extend_from_slice(settings.metric.name.as_bytes());
    line.extend_from_slice(b"\",\"metricDescription\":");
    push_string(line, settings.metric.description);
    line.extend_from_slice(b",\"metricOptions\":{");
    let options = settings.metric.options.iter();
    let members: Vec<String> = options
        .map(|option| format!("\"{}\":{}", option.name(), value(*option, settings)))
        .collect();
    line.extend_from_slice(members.join(",").as_bytes());
    line.push(b'}');
    for (key, value) in &settings.pod_metadata {
        push_member(line, key, value);
    }
    push_member(line, "started", &WallTime::now().timestamp());
    for (key, value) in own {
        push_member(line, key, value);
    }
    line.push(b'}');
    log.end_line();
    log.write_line("METADATA END");
}

fn value(option: MetricOption, settings: &Settings) -> String {
    match option {
        MetricOption::Rate | MetricOption::LongRate => settings.rate.to_string(),
        MetricOption::Completions => settings.completions.to_string(),
        MetricOption::MaxLog => settings.max_log.to_string(),
        MetricOption::Timeout => settings.timeout.to_string(),
        MetricOption::Threads => settings.has_threads.to_string(),
        MetricOption::Artifacts => settings.has_artifacts.to_string(),
        MetricOption::Frequency => settings.frequency.to_string(),
        MetricOption::Step => settings.step.to_string(),
        MetricOption::Steps => settings.steps.to_string(),
    }
}
