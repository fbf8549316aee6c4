//! `/proc/net/sockstat` and `/proc/net/sockstat6`: the sockets of a network namespace.

use super::words::{lines, number_after};

/// Returns the number of TCP sockets that are in use: those that listen, and those with a peer.
/// `None` if the file does not have it.
///
/// ```
/// use linux::proc::sockstat::tcp_in_use;
/// let text = b"sockets: used 322\nTCP: inuse 163 orphan 0 tw 38 alloc 198 mem 33\n";
/// assert_eq!(tcp_in_use(text), Some(163));
/// ```
pub fn tcp_in_use(text: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| {
        let of_ipv4 = number_after(line, b"TCP: inuse ");
        of_ipv4.or_else(|| number_after(line, b"TCP6: inuse "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_have_a_line() {
        // Linux 6.18.
        let v4 = b"sockets: used 17\nTCP: inuse 2 orphan 0 tw 0 alloc 6 mem 0\n\
            UDP: inuse 3 mem 0\nUDPLITE: inuse 4\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n";
        let v6 = b"TCP6: inuse 5\nUDP6: inuse 7\nUDPLITE6: inuse 0\nRAW6: inuse 0\nFRAG6: inuse 0 memory 0\n";
        assert_eq!(tcp_in_use(v4), Some(2));
        assert_eq!(tcp_in_use(v6), Some(5));
    }

    #[test]
    fn a_file_without_the_line_is_unknown() {
        for text in [
            &b""[..],
            b"UDP: inuse 3 mem 0\n",
            b"TCP: inuse\n",
            b"TCP: inuse x\n",
            b"TCP: orphan 0\n",
        ] {
            assert_eq!(tcp_in_use(text), None);
        }
    }
}
