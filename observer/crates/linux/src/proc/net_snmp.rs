//! `/proc/net/snmp` and `/proc/net/netstat`: pairs of lines, the first with names and the second
//! with values.

use super::words::{lines, number, words};

/// Returns the value of a name in a group such as `Tcp` or `TcpExt`; `None` if the name has no
/// value, or a negative value.
///
/// ```
/// use linux::proc::net_snmp::value;
/// let text = b"Tcp: MaxConn InSegs\nTcp: -1 42\n";
/// assert_eq!(value(text, b"Tcp", b"InSegs"), Some(42));
/// assert_eq!(value(text, b"Tcp", b"MaxConn"), None);
/// ```
pub fn value(text: &[u8], group: &[u8], name: &[u8]) -> Option<u64> {
    let mut pair = lines(text).filter_map(|line| {
        let rest = line.strip_prefix(group)?;
        rest.strip_prefix(b":")
    });
    let (names, values) = (pair.next()?, pair.next()?);
    let (_, value) = words(names)
        .zip(words(values))
        .find(|(known, _)| *known == name)?;
    number(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_below_its_name() {
        // Linux 6.18, shortened.
        let text = b"Ip: Forwarding DefaultTTL\nIp: 1 64\n\
            Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs OutSegs RetransSegs InErrs\n\
            Tcp: 1 200 120000 -1 182873 30300613 30247147 32284 273\n\
            UdpLite: InDatagrams\nUdpLite: 0\n";
        assert_eq!(value(text, b"Tcp", b"RetransSegs"), Some(32284));
        assert_eq!(value(text, b"Tcp", b"InErrs"), Some(273));
        assert_eq!(value(text, b"Ip", b"DefaultTTL"), Some(64));
        assert_eq!(value(text, b"Tcp", b"Other"), None);
        assert_eq!(value(text, b"Udp", b"InDatagrams"), None);
    }

    #[test]
    fn a_group_without_values_has_none() {
        assert_eq!(value(b"Tcp: InSegs\n", b"Tcp", b"InSegs"), None);
        assert_eq!(value(b"Tcp: InSegs\nTcp:\n", b"Tcp", b"InSegs"), None);
        assert_eq!(value(b"", b"Tcp", b"InSegs"), None);
    }
}
