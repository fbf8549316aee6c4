//! The endpoint of the live export: the URL of a receiver of OTLP over plain HTTP.

/// The longest endpoint, in bytes.
const MAX_LENGTH: usize = 512;
/// The path that is appended to an endpoint (the OTLP specification, "OTLP/HTTP Request").
const METRICS_PATH: &str = "/v1/metrics";

/// An endpoint, in the parts that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host name or IP address, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The host and port as in the URL, for the header `Host`.
    pub authority: String,
    /// The path of the request.
    pub path: String,
}

impl Endpoint {
    /// Parses a URL such as `http://collector.monitoring:4318`. The URL must have the scheme http
    /// and a host name or IP address, and can have a port and a path. A URL with credentials, a
    /// query or a fragment is refused. The JSON schema of the catalog has the same rule
    /// (src/catalog/metric.schema.json).
    ///
    /// # Errors
    /// The problem, as a sentence.
    ///
    /// ```
    /// use otlp::endpoint::Endpoint;
    /// let endpoint = Endpoint::parse("http://prometheus:9090/api/v1/otlp").unwrap();
    /// assert_eq!(endpoint.path, "/api/v1/otlp/v1/metrics");
    /// ```
    pub fn parse(url: &str) -> Result<Self, String> {
        let shown: String = encode::json::clean(url.as_bytes())
            .chars()
            .take(80)
            .collect();
        let error = |problem: &str| Err(format!("the OTLP endpoint \"{shown}\" {problem}"));
        if url.starts_with("https://") {
            return error(
                "uses https; it must be http://HOST:PORT of a collector on the node or in the \
                 cluster; this collector can forward the values over TLS",
            );
        }
        let Some(rest) = url
            .strip_prefix("http://")
            .filter(|_| url.len() <= MAX_LENGTH)
        else {
            return error("must begin with http:// and have at most 512 characters");
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let Some((host, port)) = parse_authority(authority) else {
            return error(
                "must have a host name or an IP address, an optional port, and no credentials",
            );
        };
        if !is_path(path) {
            return error("must have a path of letters, digits and -._~%, and no query");
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            path: format!("{}{METRICS_PATH}", path.trim_end_matches('/')),
        })
    }
}

impl std::fmt::Display for Endpoint {
    /// Writes the URL of the request.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}{}", self.authority, self.path)
    }
}

fn parse_authority(authority: &str) -> Option<(&str, u16)> {
    let (host, rest) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        (is_ipv6(host).then_some(host)?, rest)
    } else {
        let (host, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        (is_host(host).then_some(host)?, rest)
    };
    if rest.is_empty() {
        return Some((host, 80));
    }
    let digits = rest.strip_prefix(':')?;
    let is_port = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((host, is_port.then(|| digits.parse().ok())??))
}

fn is_ipv6(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    (2..=45).contains(&host.len()) && host.bytes().all(is_part)
}

fn is_host(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    host.len() <= 253
        && is_end(host.bytes().next())
        && is_end(host.bytes().next_back())
        && host.bytes().all(is_part)
}

/// Whether a path is empty, or consists of segments, each after a slash. A segment has at least one
/// character, and only letters, digits and `-._~%`. The path may end with a slash.
fn is_path(path: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.is_empty()
        || path.strip_prefix('/').is_some_and(|parts| {
            let mut parts = parts.split('/');
            parts.all(|part| !part.is_empty() && part.bytes().all(is_part))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_host_a_port_and_a_path() {
        for (url, host, port, path) in [
            ("http://collector", "collector", 80, "/v1/metrics"),
            (
                "http://otel.monitoring.svc:4318/",
                "otel.monitoring.svc",
                4318,
                "/v1/metrics",
            ),
            (
                "http://10.0.0.1:9090/api/v1/otlp",
                "10.0.0.1",
                9090,
                "/api/v1/otlp/v1/metrics",
            ),
            (
                "http://[fd00::1]:65535/a/b/",
                "fd00::1",
                65535,
                "/a/b/v1/metrics",
            ),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            let found = (
                endpoint.host.as_str(),
                endpoint.port,
                endpoint.path.as_str(),
            );
            assert_eq!(found, (host, port, path), "{url}");
        }
        let endpoint = Endpoint::parse("http://[::1]:80/x").unwrap();
        assert_eq!(endpoint.authority, "[::1]:80");
        assert_eq!(endpoint.to_string(), "http://[::1]:80/x/v1/metrics");
    }

    #[test]
    fn other_urls_are_refused() {
        for url in [
            "",
            "collector:4318",
            "ftp://collector",
            "HTTP://collector",
            "http://",
            "http:///v1",
            "http://user:secret@collector",
            "http://collector:",
            "http://collector:0",
            "http://collector:65536",
            "http://collector:+80",
            "http://-collector",
            "http://collector.",
            "http://collector/a//b",
            "http://collector//",
            "http://collector/?a=b",
            "http://collector/#a",
            "http://collector/a b",
            "http://collector/\r\nX: y",
            "http://[::1",
            "http://[g]",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
        let long = format!("http://collector/{}", "a".repeat(512));
        assert!(Endpoint::parse(&long).is_err());
    }

    #[test]
    fn https_has_its_own_message() {
        let problem = Endpoint::parse("https://collector:4318").unwrap_err();
        assert!(
            problem.contains("must be http://HOST:PORT of a collector"),
            "{problem}"
        );
    }
}
