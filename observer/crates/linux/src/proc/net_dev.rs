//! `/proc/net/dev`: the interfaces of a network namespace.

use super::words::{lines, number, words};

/// The counters of an interface since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface<'a> {
    /// The name of the interface.
    pub name: &'a [u8],
    /// The counters of received packets.
    pub received: Direction,
    /// The counters of sent packets.
    pub sent: Direction,
}

/// The counters of the packets that were received, or of the packets that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets with errors.
    pub errors: u64,
    /// Packets that were dropped, for example because a queue was full.
    pub dropped: u64,
}

/// Returns the interfaces, in the kernel's order. Lines that do not describe an interface are
/// skipped.
pub fn interfaces(text: &[u8]) -> impl Iterator<Item = Interface<'_>> {
    lines(text).filter_map(parse_line)
}

fn parse_line(line: &[u8]) -> Option<Interface<'_>> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = words(&line[..colon]).next()?;
    // net/core/net-procfs.c, dev_seq_printf_stats: eight columns received, then eight sent.
    let mut columns = words(&line[colon + 1..]).map_while(number);
    let received = direction(&mut columns)?;
    let sent = direction(&mut columns.skip(4))?;
    Some(Interface {
        name,
        received,
        sent,
    })
}

fn direction(columns: &mut impl Iterator<Item = u64>) -> Option<Direction> {
    Some(Direction {
        bytes: columns.next()?,
        packets: columns.next()?,
        errors: columns.next()?,
        dropped: columns.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_interface() {
        // Linux 6.18.
        let text = b"Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo: 68128190  113044    0    0    0     0          0         0 68128190  113044    0    0    0     0       0          0\n  \
            eth0:5100  41    1    2    3     4          5         6 7200  52    8    9    10     11       12          13\n";
        let found: Vec<Interface> = interfaces(text).collect();
        let direction = |bytes, packets, errors, dropped| Direction {
            bytes,
            packets,
            errors,
            dropped,
        };
        let expected = [
            Interface {
                name: b"lo",
                received: direction(68_128_190, 113_044, 0, 0),
                sent: direction(68_128_190, 113_044, 0, 0),
            },
            Interface {
                name: b"eth0",
                received: direction(5100, 41, 1, 2),
                sent: direction(7200, 52, 8, 9),
            },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn other_lines_are_skipped() {
        let text = b"eth0: 1 2 3 4 5 6 7 8 9 10 11\n: 1 2 3 4 5 6 7 8 9 10 11 12\neth0: x\neth0\n";
        assert_eq!(interfaces(text).count(), 0);
    }
}
