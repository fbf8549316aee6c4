//! Encodes values as OTLP, in the JSON mapping of Protocol Buffers: 64-bit integers are strings and
//! enumerations are numbers (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>).

use std::time::{SystemTime, UNIX_EPOCH};

use encode::json::push_string;
use encode::number::push;

use crate::description::Column;
use crate::resource::Resource;
use crate::table::{Name, Point};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE` (opentelemetry/proto/metrics/v1/metrics.proto).
const CUMULATIVE: &str = "2";
/// The attribute that all points of a pod with an index have.
const POD_INDEX: &str = "ridealong.pod.index";

/// The facts that all points of a request share.
pub struct Context<'a> {
    /// The metric of the catalog.
    pub metric: &'a str,
    /// The resource.
    pub resource: &'a Resource,
    /// When the counters of the pusher began, in nanoseconds since 1970.
    pub start: u64,
    /// The time of the values, in nanoseconds since 1970.
    pub time: u64,
}

/// Encodes a request with some points. Points of one metric must follow one another.
pub fn request(context: &Context<'_>, points: &[Point<'_>]) -> Vec<u8> {
    let mut out = b"{\"resourceMetrics\":[{\"resource\":{\"attributes\":[".to_vec();
    let mut attributes = Attributes::default();
    for (name, value) in &context.resource.attributes {
        attributes.push_text(&mut out, name, value);
    }
    out.extend_from_slice(b"]},\"scopeMetrics\":[{\"scope\":{\"name\":");
    push_string(&mut out, &format!("ridealong.dev/{}", context.metric));
    out.extend_from_slice(b",\"version\":");
    push_string(&mut out, env!("CARGO_PKG_VERSION"));
    out.extend_from_slice(b"},\"metrics\":[");
    let mut open: Option<&Column> = None;
    for point in points {
        let is_same = open.is_some_and(|open| {
            let column = point.column;
            (&open.name, &open.unit, open.is_counter)
                == (&column.name, &column.unit, column.is_counter)
        });
        if is_same {
            out.push(b',');
        } else {
            if open.is_some() {
                out.extend_from_slice(b"]}},");
            }
            push_metric(&mut out, point.column);
            open = Some(point.column);
        }
        push_point(&mut out, context, point);
    }
    if open.is_some() {
        out.extend_from_slice(b"]}}");
    }
    out.extend_from_slice(b"]}]}]}");
    out
}

/// Appends the beginning of a metric, up to its points.
fn push_metric(out: &mut Vec<u8>, column: &Column) {
    out.extend_from_slice(b"{\"name\":");
    push_string(out, &column.name);
    out.extend_from_slice(b",\"unit\":");
    push_string(out, &column.unit);
    if column.is_counter {
        out.extend_from_slice(b",\"sum\":{\"aggregationTemporality\":");
        out.extend_from_slice(CUMULATIVE.as_bytes());
        out.extend_from_slice(b",\"isMonotonic\":true,\"dataPoints\":[");
    } else {
        out.extend_from_slice(b",\"gauge\":{\"dataPoints\":[");
    }
}

fn push_point(out: &mut Vec<u8>, context: &Context<'_>, point: &Point<'_>) {
    out.extend_from_slice(b"{\"attributes\":[");
    let mut attributes = Attributes::default();
    for (name, value) in point.attributes.iter().zip(point.names) {
        match value {
            Name::Missing => {}
            Name::Number(number) => attributes.push_number(out, name, *number),
            Name::Text(text) => attributes.push_text(out, name, text),
        }
    }
    for (name, value) in &point.column.attributes {
        attributes.push_text(out, name, value);
    }
    if !context.resource.pod_index.is_empty() {
        attributes.push_text(out, POD_INDEX, &context.resource.pod_index);
    }
    out.push(b']');
    if point.column.is_counter {
        push_time(out, "startTimeUnixNano", context.start);
    }
    push_time(out, "timeUnixNano", context.time);
    out.extend_from_slice(format!(",\"asDouble\":{}}}", point.value).as_bytes());
}

fn push_time(out: &mut Vec<u8>, key: &str, nanoseconds: u64) {
    out.extend_from_slice(format!(",\"{key}\":\"").as_bytes());
    push(out, nanoseconds);
    out.push(b'"');
}

/// A list of attributes.
#[derive(Default)]
struct Attributes {
    has_some: bool,
}

impl Attributes {
    fn push_text(&mut self, out: &mut Vec<u8>, key: &str, value: &str) {
        self.begin(out, key);
        out.extend_from_slice(b"\"stringValue\":");
        push_string(out, value);
        out.extend_from_slice(b"}}");
    }

    fn push_number(&mut self, out: &mut Vec<u8>, key: &str, value: i64) {
        self.begin(out, key);
        out.extend_from_slice(format!("\"intValue\":\"{value}\"}}}}").as_bytes());
    }

    fn begin(&mut self, out: &mut Vec<u8>, key: &str) {
        if std::mem::replace(&mut self.has_some, true) {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"key\":");
        push_string(out, key);
        out.extend_from_slice(b",\"value\":{");
    }
}

/// The current time of the wall clock, in nanoseconds since 1970.
pub fn unix_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn column(name: &str, is_counter: bool) -> Column {
        Column {
            column: name.to_owned(),
            name: name.to_owned(),
            unit: "s".to_owned(),
            is_counter,
            is_mean: false,
            scale: 1.0,
            attributes: vec![("mode".to_owned(), "user".to_owned())],
        }
    }

    fn encoded(pod_index: &str, points: &[Point<'_>]) -> Value {
        let resource = Resource {
            attributes: vec![("service.name", "a \"job\"".to_owned())],
            pod_index: pod_index.to_owned(),
        };
        let context = Context {
            metric: "perf-sysstat",
            resource: &resource,
            start: 1,
            time: u64::MAX,
        };
        serde_json::from_slice(&request(&context, points)).unwrap()
    }

    #[test]
    fn integers_are_strings_and_enumerations_are_numbers() {
        let (cpu, rss) = (column("cpu", true), column("rss", false));
        let keys = ["program".to_owned(), "pid".to_owned(), "tid".to_owned()];
        let names = [
            Name::Text("METRICS OPERATOR".into()),
            Name::Number(i64::MAX),
            Name::Missing,
        ];
        let point = |column, value| Point {
            column,
            attributes: &keys,
            names: &names,
            value,
        };
        let points = [point(&cpu, 1.5), point(&cpu, 1e300), point(&rss, 4096.0)];
        let attributes = json!([
            {"key": "program", "value": {"stringValue": "METRICS OPERATOR"}},
            {"key": "pid", "value": {"intValue": "9223372036854775807"}},
            {"key": "mode", "value": {"stringValue": "user"}},
            {"key": "ridealong.pod.index", "value": {"stringValue": "3"}},
        ]);
        let sum = |value: f64| {
            json!({"attributes": attributes, "startTimeUnixNano": "1",
                "timeUnixNano": "18446744073709551615", "asDouble": value})
        };
        let expected = json!({"resourceMetrics": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "a \"job\""}}]},
        "scopeMetrics": [{
            "scope": {"name": "ridealong.dev/perf-sysstat", "version": env!("CARGO_PKG_VERSION")},
            "metrics": [
                {"name": "cpu", "unit": "s", "sum": {"aggregationTemporality": 2,
                    "isMonotonic": true, "dataPoints": [sum(1.5), sum(1e300)]}},
                {"name": "rss", "unit": "s", "gauge": {"dataPoints": [
                    {"attributes": attributes, "timeUnixNano": "18446744073709551615",
                        "asDouble": 4096.0}]}},
            ]}]}]});
        let mut found = encoded("3", &points);
        // Display writes a whole number without a point, which JSON does not tell apart.
        let rss = &mut found["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][1];
        let value = &mut rss["gauge"]["dataPoints"][0]["asDouble"];
        *value = json!(value.as_f64());
        let big = &mut found["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"]
            [1];
        assert!((big["asDouble"].as_f64().unwrap() / 1e300 - 1.0).abs() < 1e-15);
        big["asDouble"] = json!(1e300);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_request_without_points_has_no_metrics() {
        let found = encoded("", &[]);
        assert_eq!(
            found["resourceMetrics"][0]["scopeMetrics"][0]["metrics"],
            json!([])
        );
    }
}
