//! Fuzzes the settings of the live export: the endpoint, and the description of the rows after the
//! first line break.

use otlp::settings::{ENDPOINT, ExportSettings};

pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    let (endpoint, rows) = data.split_at(end.unwrap_or(data.len()));
    let settings = ExportSettings::read(|name| match name {
        ENDPOINT => Some(endpoint.to_vec()),
        "RIDEALONG_OTLP_ROWS" => Some(rows.to_vec()),
        _ => None,
    });
    if let Ok(Some(settings)) = settings {
        assert!(settings.endpoint.path.ends_with("/v1/metrics"));
        assert!(!settings.endpoint.authority.contains(['@', '\r', '\n', ' ']));
    }
}
