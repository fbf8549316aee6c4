//! The use of the node's block devices over an interval, as a document of `iostat -dxmy -o JSON`
//! (sysstat 12.6, iostat.c).

use std::fs::read_dir;

use encode::json::{clean, push_string};
use encode::number::{float, push_decimal};
use linux::proc::diskstats::{Device, Requests, parse_line};
use linux::proc::words::lines;

use crate::sampling::columns::{Column, Columns, Part, Section};
use crate::sampling::row::row;

/// The maximum number of devices with sums. A node can get any number of devices with new names.
const MAX_DEVICES: usize = 4096;

/// The name of a device.
pub const NAME: Part = Part::Column(
    Column::new(
        "device",
        true,
        "a block device of the node, which all pods of the node share",
    )
    .key(),
);

/// The rows of the devices. iostat has other names for these columns: `disk_device`, and `rMB/s`
/// and `aqu-sz` for `rmb_s` and `aqu_sz`.
pub const DEVICE: Section = Section {
    name: "device",
    of: "device",
    title: None,
    description: "the block devices of the node, which all its pods share",
    columns: Columns::new(&[NAME, Part::Shared(VALUES)]),
};

/// The counters of all devices at one time, by name.
pub type Devices = Vec<(String, Device)>;

/// The properties of the node that a document contains.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name of the node.
    pub node: String,
    /// The kernel's name.
    pub system: String,
    /// The kernel's release.
    pub release: String,
    /// The processor's architecture.
    pub machine: String,
    /// The number of processors.
    pub processors: u64,
}

/// Parses the text of `/proc/diskstats`.
pub fn devices(text: &[u8]) -> Devices {
    lines(text)
        .filter_map(parse_line)
        .map(|(name, device)| (clean(name), device))
        .collect()
}

/// Returns the names of all devices except partitions, from `/sys/block`; `None` if the directory
/// cannot be listed.
pub fn whole_devices() -> Option<Vec<String>> {
    let entries = read_dir("/sys/block").ok()?;
    Some(
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect(),
    )
}

/// Builds a document for an interval of `seconds` seconds. Devices that never completed a request,
/// and devices that are not in `whole`, such as partitions, are omitted. If `whole` is `None`,
/// partitions are included.
pub fn document(
    host: &Host,
    date: &str,
    seconds: f64,
    before: &Devices,
    now: &Devices,
    whole: Option<&[String]>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048);
    out.extend_from_slice(b"{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n");
    for (key, value) in [
        ("nodename", &host.node),
        ("sysname", &host.system),
        ("release", &host.release),
        ("machine", &host.machine),
    ] {
        out.extend_from_slice(format!("\t\t\t\"{key}\": ").as_bytes());
        push_string(&mut out, value);
        out.extend_from_slice(b",\n");
    }
    out.extend_from_slice(format!("\t\t\t\"number-of-cpus\": {},\n", host.processors).as_bytes());
    out.extend_from_slice(format!("\t\t\t\"date\": \"{date}\",\n").as_bytes());
    out.extend_from_slice(b"\t\t\t\"statistics\": [\n\n\t\t\t\t{\n\t\t\t\t\t\"disk\": [\n");
    push_rows(&mut out, seconds, before, now, whole);
    out.extend_from_slice(b"\n\t\t\t\t\t]\n\t\t\t\t}\n\t\t\t]\n\t\t}\n\t]\n}}");
    out
}

fn push_rows(
    out: &mut Vec<u8>,
    seconds: f64,
    before: &Devices,
    now: &Devices,
    whole: Option<&[String]>,
) {
    let is_whole = |name: &str| {
        whole.is_none_or(|whole| whole.iter().any(|known| *known == name.replace('/', "!")))
    };
    let mut busy: Vec<_> = now
        .iter()
        .filter(|(name, device)| device.has_completed_requests() && is_whole(name))
        .collect();
    busy.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (at, (name, device)) in busy.into_iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b",\n");
        }
        let known = start_of(name, device, before);
        push_row(out, name, seconds, &known, device);
    }
}

/// Returns the counters of a device at the beginning of an interval. They are 0 if the device has
/// come meanwhile.
fn start_of(name: &str, device: &Device, before: &Devices) -> Device {
    let known = before.iter().find(|(known, _)| known == name);
    known
        .map(|(_, known)| *known)
        .filter(|known| !device.has_replaced(known))
        .unwrap_or_default()
}

/// The sectors that devices have read and written since the beginning of a run, by the name of the
/// device, in the order in which they were found. They include devices that were removed, and
/// devices that came later.
#[derive(Debug, Default)]
pub struct DeviceSums {
    last: Devices,
    sums: Vec<(String, Sectors)>,
}

/// Sectors of 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// Sectors that were read.
    pub read: u64,
    /// Sectors that were written.
    pub written: u64,
}

impl DeviceSums {
    /// Creates the sums of a run that begins with these counters.
    pub fn new(first: Devices) -> Self {
        let sums = first
            .iter()
            .map(|(name, _)| (name.clone(), Sectors::default()))
            .collect();
        Self { last: first, sums }
    }

    /// Adds the growth of the counters since the last call.
    pub fn update(&mut self, now: &Devices) {
        for (name, device) in now {
            let before = start_of(name, device, &self.last);
            let growth = Sectors {
                read: device.reads.sectors.saturating_sub(before.reads.sectors),
                written: device.writes.sectors.saturating_sub(before.writes.sectors),
            };
            let has_room = self.sums.len() < MAX_DEVICES;
            if let Some((_, sum)) = self.sums.iter_mut().find(|(known, _)| known == name) {
                sum.read = sum.read.saturating_add(growth.read);
                sum.written = sum.written.saturating_add(growth.written);
            } else if has_room {
                self.sums.push((name.clone(), growth));
            }
        }
        self.last.clone_from(now);
    }

    /// Returns the devices that have read or written data.
    pub fn used(&self) -> impl Iterator<Item = &(String, Sectors)> {
        let is_used = |(_, sum): &&(String, Sectors)| *sum != Sectors::default();
        self.sums.iter().filter(is_used)
    }
}

fn push_row(out: &mut Vec<u8>, name: &str, seconds: f64, before: &Device, now: &Device) {
    out.extend_from_slice(b"\t\t\t\t\t\t{\"disk_device\": ");
    push_string(out, name);
    push_values(out, seconds, before, now);
    out.push(b'}');
}

/// Appends a value under its name in the output of iostat.
fn iostat(out: &mut Vec<u8>, _key: &str, name: &str, value: f64) {
    out.extend_from_slice(format!(", \"{name}\": ").as_bytes());
    push_decimal(out, value);
}

row! {
    /// The values of a device.
    VALUES;
    /// Appends the values of a device.
    fn push_values(out, seconds: f64, before: &Device, now: &Device) {
        let reads = Growth::of(&before.reads, &now.reads);
        let writes = Growth::of(&before.writes, &now.writes);
        let discards = Growth::of(&before.discards, &now.discards);
        let flushes = Growth::of(&before.flushes, &now.flushes);
        let mib = |growth: &Growth| growth.sectors / 2048.0 / seconds;
        /// reads/s
        r_s: iostat("r/s", reads.completed / seconds) => gauge("1/s").title("Reads");
        /// writes/s
        w_s: iostat("w/s", writes.completed / seconds) => gauge("1/s").title("Writes");
        /// discards/s
        d_s: iostat("d/s", discards.completed / seconds) => gauge("1/s").title("Discards");
        /// flushes/s
        f_s: iostat("f/s", flushes.completed / seconds) => gauge("1/s").title("Flushes");
        /// MiB/s read
        rmb_s: iostat("rMB/s", mib(&reads)) => gauge("MiB/s").title("Read");
        /// MiB/s written
        wmb_s: iostat("wMB/s", mib(&writes)) => gauge("MiB/s").title("Written");
        /// MiB/s discarded
        dmb_s: iostat("dMB/s", mib(&discards)) => gauge("MiB/s").title("Discarded");
        /// reads merged/s
        rrqm_s: iostat("rrqm/s", reads.merged / seconds) => gauge("1/s").title("Reads merged");
        /// writes merged/s
        wrqm_s: iostat("wrqm/s", writes.merged / seconds) => gauge("1/s").title("Writes merged");
        /// discards merged/s
        drqm_s: iostat("drqm/s", discards.merged / seconds)
            => gauge("1/s").title("Discards merged");
        /// % of reads merged
        rrqm: iostat("rrqm", reads.merged_share())
            => gauge("percent").title("Share of reads merged");
        /// % of writes merged
        wrqm: iostat("wrqm", writes.merged_share())
            => gauge("percent").title("Share of writes merged");
        /// % of discards merged
        drqm: iostat("drqm", discards.merged_share())
            => gauge("percent").title("Share of discards merged");
        /// average milliseconds for a read
        r_await: iostat("r_await", reads.each(reads.milliseconds))
            => gauge("ms").title("Time of a read");
        /// average milliseconds for a write
        w_await: iostat("w_await", writes.each(writes.milliseconds))
            => gauge("ms").title("Time of a write");
        /// average milliseconds for a discard
        d_await: iostat("d_await", discards.each(discards.milliseconds))
            => gauge("ms").title("Time of a discard");
        /// average milliseconds for a flush
        f_await: iostat("f_await", flushes.each(flushes.milliseconds))
            => gauge("ms").title("Time of a flush");
        // A KiB is two sectors.
        /// average size of a read, in KiB
        rareq_sz: iostat("rareq-sz", reads.each(reads.sectors) / 2.0)
            => gauge("KiB").title("Size of a read");
        /// average size of a write, in KiB
        wareq_sz: iostat("wareq-sz", writes.each(writes.sectors) / 2.0)
            => gauge("KiB").title("Size of a write");
        /// average size of a discard, in KiB
        dareq_sz: iostat("dareq-sz", discards.each(discards.sectors) / 2.0)
            => gauge("KiB").title("Size of a discard");
        let waiting = milliseconds(before.weighted, now.weighted);
        /// average number of requests in the queue
        aqu_sz: iostat("aqu-sz", waiting / 1000.0 / seconds) => gauge("count").title("Queue");
        /// % of the interval during which the device had requests
        util: iostat("util", milliseconds(before.busy, now.busy) / 10.0 / seconds)
            => gauge("percent").title("Utilization");
    }
}

/// The growth of the counters of one kind of request.
struct Growth {
    completed: f64,
    merged: f64,
    sectors: f64,
    milliseconds: f64,
}

impl Growth {
    fn of(before: &Requests, now: &Requests) -> Self {
        Self {
            completed: float(now.completed.saturating_sub(before.completed)),
            merged: float(now.merged.saturating_sub(before.merged)),
            sectors: float(now.sectors.saturating_sub(before.sectors)),
            milliseconds: milliseconds(before.milliseconds, now.milliseconds),
        }
    }

    /// Returns the average amount per request; 0 without requests.
    fn each(&self, amount: f64) -> f64 {
        if self.completed > 0.0 {
            amount / self.completed
        } else {
            0.0
        }
    }

    /// Returns the percentage of requests that were merged into other requests.
    fn merged_share(&self) -> f64 {
        let all = self.merged + self.completed;
        if all > 0.0 {
            100.0 * self.merged / all
        } else {
            0.0
        }
    }
}

/// Returns the growth of a counter of milliseconds, which the kernel prints as a 32-bit number. A
/// counter that falls by less than half of this range has gone back, because the kernel rounds and
/// adds up the times of all processors; its growth is 0. A counter that falls by more has passed
/// its end.
fn milliseconds(before: u64, now: u64) -> f64 {
    // Only the low 32 bits are the kernel's value.
    #[allow(clippy::cast_possible_truncation)]
    let (before, now) = (before as u32, now as u32);
    if now < before && before - now <= u32::MAX / 2 {
        return 0.0;
    }
    f64::from(now.wrapping_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn host() -> Host {
        let text = |text: &str| text.to_owned();
        Host {
            node: text("vm"),
            system: text("Linux"),
            release: text("6.18"),
            machine: text("x86_64"),
            processors: 2,
        }
    }

    const BEFORE: &[u8] = b" 254 0 vda 100 10 2000 50 200 0 4000 80 0 4294967290 500 0 0 0 0 0 0\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 254 1 vda1 9 0 0 0 9 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const NOW: &[u8] = b" 254 0 vda 200 110 6096 250 200 0 4000 80 0 994 4500 0 0 0 0 3 6\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 254 1 vda1 9 0 0 0 9 0 0 0 0 0 0 0 0 0 0 0 0\n";

    fn disks(before: &[u8], now: &[u8]) -> Value {
        let whole = ["vda".to_owned(), "loop0".to_owned()];
        let text = document(
            &host(),
            "11/22/26",
            2.0,
            &devices(before),
            &devices(now),
            Some(&whole),
        );
        let document: Value = serde_json::from_slice(&text).unwrap();
        document["sysstat"]["hosts"][0]["statistics"][0]["disk"].clone()
    }

    #[test]
    fn the_columns_are_written_under_their_names_in_iostat() {
        let mut row = Vec::new();
        let device = Device::default();
        push_row(&mut row, "sda", 1.0, &device, &device);
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&row).unwrap();
        let to_column = |name: &String| name.to_lowercase().replace(['/', '-'], "_");
        let mut written: Vec<String> = row.keys().map(to_column).collect();
        let name = |part: &Part| match part {
            Part::Column(column) => column.name.to_owned(),
            Part::Shared(_) => panic!(),
        };
        let mut declared: Vec<String> = VALUES.parts.iter().map(name).collect();
        declared.push("disk_device".to_owned());
        written.sort_unstable();
        declared.sort_unstable();
        assert_eq!(written, declared);
    }

    #[test]
    fn values_are_rates_over_the_interval() {
        let disks = disks(BEFORE, NOW);
        assert_eq!(
            disks.as_array().unwrap().len(),
            1,
            "the document omits the partition and the unused device"
        );
        for (key, expected) in [
            ("r/s", 50.0),
            ("w/s", 0.0),
            ("f/s", 1.5),
            ("rMB/s", 1.0),
            ("rrqm/s", 50.0),
            ("rrqm", 50.0),
            ("r_await", 2.0),
            ("w_await", 0.0),
            ("f_await", 2.0),
            ("rareq-sz", 20.48),
            ("aqu-sz", 2.0),
            ("util", 50.0),
        ] {
            assert_eq!(disks[0][key], expected, "{key}");
        }
    }

    #[test]
    fn a_replaced_device_counts_from_zero() {
        let disks = disks(NOW, b"254 0 vda 20 0 40 0 0 0 0 0 0 0 0\n");
        assert_eq!(disks[0]["r/s"], 10.0);
    }

    #[test]
    fn a_counter_of_milliseconds_that_goes_back_has_not_passed_its_end() {
        assert!(milliseconds(1000, 999).abs() < f64::EPSILON);
        assert!(milliseconds(u64::from(u32::MAX), 1 << 31).abs() < f64::EPSILON);
        assert!((milliseconds(u64::from(u32::MAX), 9) - 10.0).abs() < f64::EPSILON);
        let line = |ms: u64| format!("8 0 sda 1 0 8 {ms} {} 0 8 {ms} 0 {ms} {ms}\n", 900 + ms % 2);
        let text = document(
            &host(),
            "11/22/26",
            2.0,
            &devices(line(500).as_bytes()),
            &devices(line(499).as_bytes()),
            None,
        );
        let text = String::from_utf8(text).unwrap();
        for key in ["r_await", "w_await", "aqu-sz", "util"] {
            assert!(text.contains(&format!("\"{key}\": 0.00")), "{key}: {text}");
        }
    }

    #[test]
    fn sums_include_devices_that_come_again_and_devices_that_come_later() {
        let line = |name: &str, read: u64, written: u64| {
            format!("8 0 {name} {read} 0 {read} 0 {written} 0 {written} 0 0 0 0\n")
        };
        let mut sums = DeviceSums::new(devices(line("sda", 100, 100).as_bytes()));
        for text in [
            line("sda", 110, 100) + &line("sdb", 5, 0),
            line("sdb", 5, 7),
            // Another device has the name sda. It has written more than the first, and read less.
            line("sda", 3, 200) + &line("sdb", 5, 7),
            line("sda", 4, 200),
        ] {
            sums.update(&devices(text.as_bytes()));
        }
        let sectors = |read, written| Sectors { read, written };
        let used: Vec<_> = sums.used().cloned().collect();
        let expected = [("sda", sectors(14, 200)), ("sdb", sectors(5, 7))];
        assert_eq!(used, expected.map(|(name, sum)| (name.to_owned(), sum)));
    }

    #[test]
    fn a_node_without_devices_has_a_document() {
        assert_eq!(disks(b"", b""), serde_json::json!([]));
    }
}
