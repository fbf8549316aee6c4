//! The settings of the live export, from the environment variables that the webhook sets. They are
//! validated again, because any user can create a container that runs this program.

use encode::json::clean;

use crate::description::Description;
use crate::endpoint::Endpoint;
use crate::resource::Resource;

/// The variable that turns the live export on.
pub const ENDPOINT: &str = "RIDEALONG_OTLP_ENDPOINT";
/// The interval between pushes, in seconds, if none is set.
const DEFAULT_INTERVAL: u32 = 10;
/// The longest interval between pushes, in seconds.
const MAX_INTERVAL: u32 = 3600;

/// The settings of the live export.
#[derive(Clone, Debug)]
pub struct ExportSettings {
    /// Where the values are pushed.
    pub endpoint: Endpoint,
    /// Seconds between pushes.
    pub interval: f64,
    /// The rows of the log.
    pub description: Description,
    /// The measured pod: the attributes of all exported values.
    pub resource: Resource,
}

impl ExportSettings {
    /// Reads the settings; `None` if the live export is off. `variable` returns the value of an
    /// environment variable.
    ///
    /// # Errors
    /// A sentence that describes an error in the settings.
    pub fn read(variable: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Option<Self>, String> {
        let text = |name: &str| {
            variable(name)
                .map(|value| clean(&value))
                .unwrap_or_default()
        };
        let url = text(ENDPOINT);
        if url.is_empty() {
            return Ok(None);
        }
        let description = Description::parse(&variable("RIDEALONG_OTLP_ROWS").unwrap_or_default())?;
        Ok(Some(Self {
            endpoint: Endpoint::parse(&url)?,
            interval: f64::from(read_interval(&text("RIDEALONG_OTLP_INTERVAL"))?),
            resource: Resource::read(&description.metric, text),
            description,
        }))
    }
}

fn read_interval(text: &str) -> Result<u32, String> {
    if text.is_empty() {
        return Ok(DEFAULT_INTERVAL);
    }
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = text.parse().ok().filter(|_| is_digits);
    seconds
        .filter(|seconds| (1..=MAX_INTERVAL).contains(seconds))
        .ok_or_else(|| {
            format!(
                "RIDEALONG_OTLP_INTERVAL is \"{text}\"; it must be an integer from 1 to {MAX_INTERVAL}"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<ExportSettings>, String> {
        ExportSettings::read(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.as_bytes().to_vec())
        })
    }

    const ROWS: (&str, &str) = (
        "RIDEALONG_OTLP_ROWS",
        r#"{"metric":"a","format":"jsonl","sections":[]}"#,
    );

    #[test]
    fn without_an_endpoint_the_export_is_off() {
        assert!(read(&[ROWS]).unwrap().is_none());
        assert!(read(&[(ENDPOINT, "")]).unwrap().is_none());
    }

    #[test]
    fn the_interval_has_bounds() {
        let endpoint = (ENDPOINT, "http://collector:4318");
        let of = |interval| read(&[endpoint, ROWS, ("RIDEALONG_OTLP_INTERVAL", interval)]);
        let interval = |text| of(text).unwrap().unwrap().interval;
        assert!((interval("") - 10.0).abs() < f64::EPSILON);
        assert!((interval("3600") - 3600.0).abs() < f64::EPSILON);
        for text in ["0", "3601", "+5", "1.5", "ten"] {
            let problem = of(text).unwrap_err();
            assert!(
                problem.ends_with("must be an integer from 1 to 3600"),
                "{text}"
            );
        }
    }

    #[test]
    fn errors_name_the_setting() {
        let problem = read(&[ROWS, (ENDPOINT, "https://x")]).unwrap_err();
        assert!(problem.starts_with("the OTLP endpoint \"https://x\""));
        let problem = read(&[(ENDPOINT, "http://x")]).unwrap_err();
        assert!(problem.starts_with("RIDEALONG_OTLP_ROWS"));
    }
}
