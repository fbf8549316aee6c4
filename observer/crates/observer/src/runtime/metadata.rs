//! Writes the header of a log. The header has the keys that the Metrics Operator writes
//! (pkg/metadata/metadata.go), and additional keys.

use encode::json::{push_member, push_string};
use linux::clock::WallTime;

use crate::runtime::log::Log;
use crate::runtime::settings::{Metric, Settings};

/// Writes the header. `own` contains additional keys of the metric, with their values.
pub fn write(log: &mut Log, settings: &Settings, description: &str, own: &[(&str, &str)]) {
    let line = log.line();
    line.extend_from_slice(b"METADATA START {\"pods\":1,\"metricName\":\"");
    line.extend_from_slice(settings.metric.name().as_bytes());
    line.extend_from_slice(b"\",\"metricDescription\":");
    push_string(line, description);
    line.extend_from_slice(b",\"metricOptions\":{");
    line.extend_from_slice(options(settings).as_bytes());
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

fn options(settings: &Settings) -> String {
    let Settings {
        rate,
        completions,
        max_log,
        timeout,
        has_threads,
        has_artifacts,
        frequency,
        ..
    } = settings;
    let shared = format!("\"rate\":{rate},\"completions\":{completions},\"max-log\":{max_log}");
    let of_tool =
        || format!("\"timeout\":{timeout},\"max-log\":{max_log},\"artifacts\":{has_artifacts}");
    match settings.metric {
        Metric::Perf => format!("{shared},\"timeout\":{timeout},\"threads\":{has_threads}"),
        Metric::Pressure | Metric::Network => format!("{shared},\"timeout\":{timeout}"),
        Metric::Io => shared,
        Metric::MpiTrace => format!("\"rate\":{rate},{}", of_tool()),
        Metric::CpuProfile => format!("\"frequency\":{frequency},{}", of_tool()),
    }
}
