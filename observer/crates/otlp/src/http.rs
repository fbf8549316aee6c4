//! A request of HTTP/1.1 to the endpoint, with a deadline for the whole request. Redirects are not
//! followed, and proxies are not used.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use encode::json::clean;

use crate::endpoint::Endpoint;

/// The most headers of an answer.
const MAX_HEADERS: usize = 64;
/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 16_384;
/// The longest time to connect to an address. Linux repeats a lost SYN after a second (RFC 6298,
/// section 2). An unreachable receiver must not add repeated segments to the TCP counters of the
/// pod, which the metric network reports.
const MAX_CONNECT: Duration = Duration::from_millis(900);
/// The most characters of an answer's body in a message.
const MAX_TEXT: usize = 160;

/// The status line and the headers of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The seconds of the header `Retry-After`.
    pub retry_after: Option<u32>,
    /// The length of the body, if the header `Content-Length` gives it.
    pub length: Option<usize>,
    /// Whether the body is sent in chunks (RFC 9112, section 7.1).
    pub is_chunked: bool,
    /// The position of the body.
    pub body: usize,
}

/// A failed push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The problem, as a part of a sentence.
    pub problem: String,
    /// The seconds to wait before the next push, if the receiver gives them.
    pub retry_after: Option<u32>,
}

/// Parses the head of an answer. Returns `None` if the head is not complete.
///
/// # Errors
/// If the text is not an answer of HTTP/1.
pub fn parse_head(text: &[u8]) -> Result<Option<Head>, String> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let body = match answer.parse(text) {
        Ok(httparse::Status::Complete(body)) => body,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("the answer is not HTTP: {error}")),
    };
    let find = |name: &str| {
        let header = answer.headers.iter();
        let mut found = header.filter(|header| header.name.eq_ignore_ascii_case(name));
        let value = found.next().map(|header| header.value.trim_ascii())?;
        str::from_utf8(value).ok()
    };
    Ok(Some(Head {
        status: answer.code.unwrap_or_default(),
        retry_after: find("Retry-After").and_then(|value| value.parse().ok()),
        length: find("Content-Length").and_then(|value| value.parse().ok()),
        is_chunked: find("Transfer-Encoding").is_some_and(|value| value.ends_with("chunked")),
        body,
    }))
}

/// Decides whether a push succeeded. `body` is the known part of the answer's body.
///
/// # Errors
/// If the status is not of the class 2xx, or the receiver rejected some of the points (the OTLP
/// specification, "Partial Success").
pub fn judge(head: &Head, body: &[u8]) -> Result<(), Failure> {
    if !(200..300).contains(&head.status) {
        let text: String = clean(body).trim().chars().take(MAX_TEXT).collect();
        let separator = if text.is_empty() { "" } else { ": " };
        return Err(Failure {
            problem: format!("the receiver answered {}{separator}{text}", head.status),
            retry_after: head.retry_after,
        });
    }
    let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let rejected = match &partial["rejectedDataPoints"] {
        serde_json::Value::String(count) => count.parse().unwrap_or(0),
        count => count.as_u64().unwrap_or(0),
    };
    if rejected == 0 {
        return Ok(());
    }
    let message = clean(partial["errorMessage"].as_str().unwrap_or("").as_bytes());
    let message: String = message.chars().take(MAX_TEXT).collect();
    Err(Failure {
        problem: format!("the receiver rejected {rejected} points: {message}"),
        retry_after: None,
    })
}

/// Resolves the name of an endpoint. The call may block for many seconds.
///
/// # Errors
/// If the name has no address.
pub fn resolve(endpoint: &Endpoint) -> Result<Vec<SocketAddr>, Failure> {
    let addresses = (endpoint.host.as_str(), endpoint.port).to_socket_addrs();
    match addresses.map(Iterator::collect::<Vec<_>>) {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => Err(failure(format!("{} has no address", endpoint.host))),
        Err(error) => Err(failure(format!("{}: {error}", endpoint.host))),
    }
}

/// Posts a body, and reads the answer.
///
/// # Errors
/// If there is no answer before the deadline, or the answer is not a success.
pub fn post(
    endpoint: &Endpoint,
    addresses: &[SocketAddr],
    body: &[u8],
    deadline: Instant,
) -> Result<(), Failure> {
    let mut stream = connect(addresses, deadline)?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: ridealong/{}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        endpoint.path,
        endpoint.authority,
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    for part in [head.as_bytes(), body] {
        write_all(&mut stream, part, deadline)?;
    }
    read_answer(&mut stream, deadline)
}

fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Failure> {
    let mut problem = failure("the name of the endpoint has no address".to_owned());
    for address in addresses {
        let timeout = time_left(deadline)?.min(MAX_CONNECT);
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => {
                // Without this option, the last part of a request may wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => problem = network_failure(&error, "connecting to the receiver"),
        }
    }
    Err(problem)
}

/// Writes a part of the request. A receiver may take the data slowly, so the time that is left is
/// computed before each call.
fn write_all(stream: &mut TcpStream, part: &[u8], deadline: Instant) -> Result<(), Failure> {
    let mut rest = part;
    while !rest.is_empty() {
        let _ = stream.set_write_timeout(Some(time_left(deadline)?));
        match stream.write(rest) {
            Ok(0) => return Err(failure("the receiver closed the connection".to_owned())),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The receiver may have refused the request before it has read the whole request.
            Err(error) => {
                let answer = read_answer(stream, deadline).err();
                let sending = || network_failure(&error, "sending to the receiver");
                return Err(answer.unwrap_or_else(sending));
            }
        }
    }
    Ok(())
}

fn read_answer(stream: &mut TcpStream, deadline: Instant) -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut piece = [0; 1024];
    let mut head = None;
    loop {
        let read = time_left(deadline).and_then(|left| {
            let _ = stream.set_read_timeout(Some(left));
            match stream.read(&mut piece) {
                Ok(count) => Ok(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(usize::MAX),
                Err(error) => Err(network_failure(&error, "waiting for an answer")),
            }
        });
        match (read, &head) {
            (Ok(usize::MAX), _) => continue,
            (Ok(count), _) if count > 0 => text.extend_from_slice(&piece[..count]),
            // The status is known, even if the rest of the body never arrives.
            (_, Some(head)) => return judge_text(head, &text),
            (Ok(_), None) => {
                return Err(failure("the receiver closed the connection".to_owned()));
            }
            (Err(problem), None) => return Err(problem),
        }
        if head.is_none() {
            head = parse_head(&text).map_err(failure)?;
        }
        if let Some(head) = &head {
            let is_whole = head
                .length
                .is_some_and(|length| text.len() - head.body >= length);
            if is_whole || text.len() > MAX_ANSWER {
                return judge_text(head, &text);
            }
        } else if text.len() > MAX_ANSWER {
            return Err(failure(format!(
                "the answer has more than {MAX_ANSWER} bytes of headers"
            )));
        }
    }
}

fn judge_text(head: &Head, text: &[u8]) -> Result<(), Failure> {
    let body = text.get(head.body..).unwrap_or_default();
    if head.is_chunked {
        judge(head, &join_chunks(body))
    } else {
        judge(head, body)
    }
}

/// Joins the chunks of a body. The text after an error, or after the last complete chunk, is left
/// out.
pub fn join_chunks(body: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    let mut rest = body;
    while let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(rest) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let Some(chunk) = rest.get(start..start.saturating_add(size)) else {
            break;
        };
        joined.extend_from_slice(chunk);
        rest = rest.get(start + size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    joined
}

fn time_left(deadline: Instant) -> Result<Duration, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(failure("no answer in time".to_owned()));
    }
    Ok(left)
}

fn network_failure(error: &std::io::Error, activity: &str) -> Failure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => failure("no answer in time".to_owned()),
        _ => failure(format!("{activity}: {error}")),
    }
}

fn failure(problem: String) -> Failure {
    Failure {
        problem,
        retry_after: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_head_of_an_answer() {
        let text = b"HTTP/1.1 429 Too Many\r\nretry-after: 7\r\nContent-Length: 2\r\n\r\nno, later";
        let head = parse_head(text).unwrap().unwrap();
        let expected = Head {
            status: 429,
            retry_after: Some(7),
            length: Some(2),
            is_chunked: false,
            body: text.len() - 9,
        };
        assert_eq!(head, expected);
        for end in 0..text.len() - 9 {
            assert_eq!(parse_head(&text[..end]), Ok(None), "{end} bytes");
        }
    }

    #[test]
    fn other_headers_are_ignored() {
        let date = b"HTTP/1.0 503 -\r\nRetry-After: Sun, 22 Nov 2026 10:00:00 GMT\r\nContent-Length: many\r\n\r\n";
        let head = parse_head(date).unwrap().unwrap();
        assert_eq!(
            (head.status, head.retry_after, head.length),
            (503, None, None)
        );
        assert!(parse_head(b"SSH-2.0-OpenSSH\r\n").is_err());
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert!(parse_head(many.as_bytes()).is_err());
    }

    fn judged(status: u16, body: &str) -> Result<(), String> {
        let head = Head {
            status,
            retry_after: None,
            length: None,
            is_chunked: false,
            body: 0,
        };
        judge(&head, body.as_bytes()).map_err(|failure| failure.problem)
    }

    #[test]
    fn only_a_whole_success_is_a_success() {
        for body in [
            "",
            "{}",
            "not JSON",
            r#"{"partialSuccess":{}}"#,
            r#"{"partialSuccess":{"rejectedDataPoints":"0","errorMessage":"a hint"}}"#,
        ] {
            assert_eq!(judged(200, body), Ok(()), "{body}");
        }
        assert_eq!(judged(204, ""), Ok(()));
        for (status, body, expected) in [
            (301, "", "the receiver answered 301"),
            (400, "bad\x1b[2J\n", "the receiver answered 400: bad?[2J?"),
            (
                200,
                r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}"#,
                "the receiver rejected 3 points: old",
            ),
            (
                200,
                r#"{"partialSuccess":{"rejectedDataPoints":1}}"#,
                "the receiver rejected 1 points: ",
            ),
        ] {
            assert_eq!(judged(status, body), Err(expected.to_owned()));
        }
    }

    #[test]
    fn chunks_are_joined() {
        let text = b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(parse_head(text).unwrap().unwrap().is_chunked);
        for (body, expected) in [
            ("3\r\nbad\r\n5;x=y\r\n news\r\n0\r\n\r\n", "bad news"),
            ("3\r\nbad\r\n5\r\n ne", "bad"),
            ("", ""),
            ("zz\r\nbad", ""),
            ("ffffffffffffffff\r\nbad", ""),
        ] {
            assert_eq!(join_chunks(body.as_bytes()), expected.as_bytes(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_a_panic(text: Vec<u8>) {
            if let Ok(Some(head)) = parse_head(&text) {
                let _ = judge(&head, text.get(head.body..).unwrap_or_default());
            }
            assert!(join_chunks(&text).len() <= text.len());
        }
    }
}
