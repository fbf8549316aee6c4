//! The datagrams between libkineto and a daemon (`libkineto/src/IpcFabricConfigClient.cpp` in
//! pytorch/kineto, and `dynolog/src/ipcfabric` in facebookincubator/dynolog). Numbers have the byte
//! order of the machine.
//!
//! A datagram begins with the number of bytes of its body (8 bytes) and its type (32 bytes, filled
//! with zeros):
//! - `ctxt`: a process registers itself. The body is the GPU (4 bytes), the process id (4) and the
//!   job (8); that of the answer is the number of registered processes (4).
//! - `req`: a process asks whether it is to record a trace. The body is the kinds of configuration
//!   that the process can take (4 bytes; 0 while it already records), the number of process ids
//!   that follow (4), the job (8), and the ids of the process and its ancestors (4 each). The
//!   answer is text with lines `KEY=VALUE`, or empty.

const SIZE: usize = 8;
const TYPE: usize = 32;
/// The bytes before the body.
pub const HEADER: usize = SIZE + TYPE;
/// The bytes of the body of a request before the process ids, and those of a registration.
const FIXED: usize = 16;
const ID: usize = 4;
/// The maximum process ids of a request. Processes rarely have ten ancestors.
const MAX_IDS: usize = 1024;
/// The maximum bytes of a datagram.
pub const MAX_DATAGRAM: usize = HEADER + FIXED + MAX_IDS * ID;

const REGISTRATION: &str = "ctxt";
const REQUEST: &str = "req";

/// A datagram of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The process registers itself.
    Registration,
    /// The process asks for a configuration.
    Request {
        /// Whether the process can record a trace: it records none, for anyone.
        can_record: bool,
    },
}

impl Message {
    /// Parses a datagram. `None` if it is not as libkineto writes it.
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        let (size, rest) = datagram.split_first_chunk::<SIZE>()?;
        let (name, body) = rest.split_first_chunk::<TYPE>()?;
        if u64::from_ne_bytes(*size) != body.len() as u64 || body.len() < FIXED {
            return None;
        }
        let (first, second) = (number_at(body, 0)?, number_at(body, ID)?);
        if is_named(name, REGISTRATION) {
            return (body.len() == FIXED).then_some(Self::Registration);
        }
        let count = usize::try_from(second).ok().filter(|it| *it <= MAX_IDS)?;
        let is_whole = is_named(name, REQUEST) && body.len() == FIXED + count * ID;
        is_whole.then_some(Self::Request {
            can_record: first != 0,
        })
    }

    /// Returns the answer. `configuration` is the answer to a request; empty for none.
    pub fn answer(self, configuration: &str) -> Vec<u8> {
        match self {
            Self::Registration => encode(REGISTRATION, &1_i32.to_ne_bytes()),
            Self::Request { .. } => encode(REQUEST, configuration.as_bytes()),
        }
    }
}

fn number_at(body: &[u8], at: usize) -> Option<i32> {
    let bytes = body.get(at..)?.first_chunk()?;
    Some(i32::from_ne_bytes(*bytes))
}

/// Whether a type has this name, with zeros after it.
fn is_named(field: &[u8; TYPE], name: &str) -> bool {
    let rest = field.strip_prefix(name.as_bytes());
    rest.is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
}

fn encode(name: &str, body: &[u8]) -> Vec<u8> {
    let mut out = (body.len() as u64).to_ne_bytes().to_vec();
    out.extend_from_slice(name.as_bytes());
    out.resize(HEADER, 0);
    out.extend_from_slice(body);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The requests of a process with `PyTorch` 2.15.0, as they were received on x86-64: before it
    /// recorded a trace, and while it did.
    const RECORDED: &[u8] = b"\x18\0\0\0\0\0\0\0req\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\xc7\x02\0\0\x85\xaf\0\0";
    const RECORDED_LATER: &[u8] = b"\x18\0\0\0\0\0\0\0req\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\xc7\x02\0\0\x85\xaf\0\0";

    #[test]
    #[cfg(target_endian = "little")]
    fn recorded_requests_are_read() {
        for (recorded, can_record) in [(RECORDED, true), (RECORDED_LATER, false)] {
            let expected = Message::Request { can_record };
            assert_eq!(Message::parse(recorded), Some(expected));
        }
    }

    #[test]
    fn a_registration_is_read_and_answered() {
        let datagram = encode(REGISTRATION, &[7; FIXED]);
        let message = Message::parse(&datagram).unwrap();
        assert_eq!(message, Message::Registration);
        let answer = message.answer("A=1");
        assert_eq!(answer[..SIZE], 4_u64.to_ne_bytes());
        assert_eq!(answer[HEADER..], 1_i32.to_ne_bytes());
    }

    #[test]
    fn an_answer_has_the_type_of_the_request() {
        let message = Message::Request { can_record: true };
        let answer = message.answer("A=1\nB=2");
        assert_eq!(answer[..SIZE], 7_u64.to_ne_bytes());
        assert_eq!(answer[SIZE..HEADER], RECORDED[SIZE..HEADER]);
        assert_eq!(&answer[HEADER..], b"A=1\nB=2");
        assert_eq!(message.answer("").len(), HEADER);
    }

    #[test]
    fn other_datagrams_are_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut datagram = RECORDED.to_vec();
            change(&mut datagram);
            assert_eq!(Message::parse(&datagram), None, "{datagram:?}");
        };
        refused(&|it| it[0] += 1);
        refused(&|it| it.push(0));
        refused(&|it| it.truncate(HEADER));
        refused(&|it| it.clear());
        refused(&|it| it[SIZE] = b'R');
        refused(&|it| it[HEADER - 1] = 1);
        for count in [-1, 0, 1, 3, i32::MAX, i32::MIN] {
            refused(&|it| it[HEADER + ID..HEADER + 2 * ID].copy_from_slice(&count.to_ne_bytes()));
        }
        assert_eq!(Message::parse(&encode(REGISTRATION, &[0; FIXED + 1])), None);
        let large = encode(REQUEST, &vec![0; FIXED + (MAX_IDS + 1) * ID]);
        assert_eq!(Message::parse(&large), None);
    }

    proptest! {
        #[test]
        fn any_datagram_is_read_or_refused(
            name in prop::sample::select(vec![REGISTRATION, REQUEST, "other"]),
            body in prop::collection::vec(any::<u8>(), 0..64),
            size in prop::option::of(any::<u64>()),
        ) {
            let mut datagram = encode(name, &body);
            if let Some(size) = size {
                datagram[..SIZE].copy_from_slice(&size.to_ne_bytes());
            }
            let _ = Message::parse(&datagram);
        }
    }
}
