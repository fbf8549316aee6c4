//! Fuzzes the parser of the datagrams that processes of `PyTorch` send to torch-trace.

use ridealong_observer::metrics::torch_trace::message::{HEADER, MAX_DATAGRAM, Message};

pub fn run(data: &[u8]) {
    // The size is rarely right by chance.
    let mut datagram = data.to_vec();
    if let (Some(rest), Some(size)) = (data.len().checked_sub(HEADER), datagram.first_chunk_mut()) {
        *size = (rest as u64).to_ne_bytes();
    }
    for datagram in [data, &datagram] {
        if let Some(message) = Message::parse(datagram) {
            assert!(datagram.len() <= MAX_DATAGRAM);
            assert!(message.answer("A=1").len() >= HEADER);
        }
    }
}
