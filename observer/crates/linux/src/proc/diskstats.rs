//! Parses `/proc/diskstats` (kernel Documentation/admin-guide/iostats.rst). A sector is always
//! 512 bytes, even if the device has larger sectors.

use super::words::{number, words};

/// The counters of requests of one kind. Flushes have neither merges nor sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Completed requests.
    pub completed: u64,
    /// Requests that were merged into other requests.
    pub merged: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// The total time of these requests in milliseconds.
    pub milliseconds: u64,
}

/// The counters of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Reads.
    pub reads: Requests,
    /// Writes.
    pub writes: Requests,
    /// Discards, since Linux 4.18.
    pub discards: Requests,
    /// Flushes, since Linux 5.5.
    pub flushes: Requests,
    /// Milliseconds in which the device was busy.
    pub busy: u64,
    /// The time in which requests were in flight, multiplied by their number, in milliseconds.
    pub weighted: u64,
}

/// Parses one line into the device's name and its counters. `None` if a counter is not a number, or
/// if the line has fewer fields than Linux 2.6 writes.
pub fn parse_line(line: &[u8]) -> Option<(&[u8], Device)> {
    let mut fields = words(line).skip(2);
    let name = fields.next()?;
    let mut values = [0; 17];
    let mut count = 0;
    for (value, word) in values.iter_mut().zip(fields) {
        *value = number(word)?;
        count += 1;
    }
    if count < 11 {
        return None;
    }
    let device = Device {
        reads: requests(&values[0..4]),
        writes: requests(&values[4..8]),
        busy: values[9],
        weighted: values[10],
        discards: requests(&values[11..15]),
        flushes: Requests {
            completed: values[15],
            milliseconds: values[16],
            ..Requests::default()
        },
    };
    Some((name, device))
}

fn requests(values: &[u64]) -> Requests {
    match *values {
        [completed, merged, sectors, milliseconds] => Requests {
            completed,
            merged,
            sectors,
            milliseconds,
        },
        _ => Requests::default(),
    }
}

impl Device {
    /// Whether the device ever completed a request.
    pub fn has_completed_requests(&self) -> bool {
        self.completed() > 0
    }

    /// Whether this device has replaced the device `before`, which had the same name. The counters
    /// of a new device start at zero. The numbers of requests and sectors of one device never fall,
    /// because each processor only adds to them (block/genhd.c, `part_stat_read_all`).
    pub fn has_replaced(&self, before: &Self) -> bool {
        let has_fallen = |(now, before): (&Requests, &Requests)| {
            now.completed < before.completed || now.sectors < before.sectors
        };
        self.kinds().iter().zip(&before.kinds()).any(has_fallen)
    }

    fn completed(&self) -> u64 {
        let add = |sum: u64, kind: &Requests| sum.saturating_add(kind.completed);
        self.kinds().iter().fold(0, add)
    }

    fn kinds(&self) -> [Requests; 4] {
        [self.reads, self.writes, self.discards, self.flushes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of Linux 6.18.
    const VDA: &[u8] = b" 254       0 vda 483302 48849 17441858 297198 58591 538977 39513872 140930 0 34140 440648 17807 60 7832896 2426 2387 93";

    #[test]
    fn every_kind_of_request_is_parsed() {
        let (name, device) = parse_line(VDA).unwrap();
        assert_eq!(name, b"vda");
        let reads = Requests {
            completed: 483_302,
            merged: 48_849,
            sectors: 17_441_858,
            milliseconds: 297_198,
        };
        assert_eq!(device.reads, reads);
        assert_eq!(device.writes.sectors, 39_513_872);
        assert_eq!(device.discards.completed, 17_807);
        assert_eq!(
            (device.flushes.completed, device.flushes.milliseconds),
            (2387, 93)
        );
        assert_eq!((device.busy, device.weighted), (34_140, 440_648));
    }

    #[test]
    fn older_kernels_have_fewer_fields() {
        let (_, device) = parse_line(b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!(
            (device.busy, device.weighted, device.discards),
            (10, 11, Requests::default())
        );
        assert_eq!(parse_line(b"8 1 sda1 1 2 3 4"), None);
        assert_eq!(parse_line(b""), None);
    }
}
