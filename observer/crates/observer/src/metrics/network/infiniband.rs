//! The ports of the node's InfiniBand devices, in `/sys/class/infiniband` (in Linux's
//! documentation, ABI/stable/sysfs-class-infiniband).

use std::fs;
use std::path::{Path, PathBuf};

use encode::json::clean;
use linux::proc::words::{number, words};

/// The maximum number of ports that are read. There is a maximum because the firmware of a device
/// may take a long time to return each counter.
const MAX_PORTS: usize = 32;
/// The data of a port are counted in words of this many bytes.
const WORD: u64 = 4;

/// A port.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// The name of the device.
    pub device: String,
    /// The number of the port.
    pub number: u64,
    counters: PathBuf,
}

/// The counters of a port since it was reset. `None` is a counter that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Bytes received.
    pub received: Option<u64>,
    /// Bytes sent.
    pub sent: Option<u64>,
    /// Packets received.
    pub packets_received: Option<u64>,
    /// Packets sent.
    pub packets_sent: Option<u64>,
    /// Packets received with errors.
    pub receive_errors: Option<u64>,
    /// Packets that were not sent because the port was down or congested.
    pub discarded: Option<u64>,
    /// Minor errors of the link.
    pub symbol_errors: Option<u64>,
}

/// Returns the ports, sorted by device and number. The list is empty if the folder cannot be read.
pub fn ports(folder: &Path) -> Vec<Port> {
    let mut ports: Vec<Port> = names(folder)
        .flat_map(|device| {
            let below = folder.join(&device).join("ports");
            let found: Vec<Port> = names(&below)
                .filter_map(|name| {
                    Some(Port {
                        device: clean(device.as_bytes()),
                        number: number(name.as_bytes())?,
                        counters: below.join(name).join("counters"),
                    })
                })
                .collect();
            found
        })
        .collect();
    ports.sort_by(|one, other| (&one.device, one.number).cmp(&(&other.device, other.number)));
    ports.truncate(MAX_PORTS);
    ports
}

fn names(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

impl Port {
    /// Reads the counters. `report` gets the name of each file that cannot be read, or contains no
    /// number.
    pub fn read(&self, report: &mut dyn FnMut(&'static str)) -> PortCounters {
        let mut read = |name: &'static str| {
            let text = fs::read(self.counters.join(name)).unwrap_or_default();
            let value = words(&text).next().and_then(number);
            if value.is_none() {
                report(name);
            }
            value
        };
        let bytes = |words: Option<u64>| words.map(|words| words.saturating_mul(WORD));
        PortCounters {
            received: bytes(read("port_rcv_data")),
            sent: bytes(read("port_xmit_data")),
            packets_received: read("port_rcv_packets"),
            packets_sent: read("port_xmit_packets"),
            receive_errors: read("port_rcv_errors"),
            discarded: read("port_xmit_discards"),
            symbol_errors: read("symbol_error"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_its_counters() {
        let name = format!("ridealong-infiniband-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        for port in ["mlx5_1/ports/1", "mlx5_0/ports/2", "mlx5_0/ports/1"] {
            let counters = folder.join(port).join("counters");
            fs::create_dir_all(&counters).unwrap();
            for (name, text) in [
                ("port_rcv_data", "250\n"),
                ("port_xmit_data", "18446744073709551615\n"),
                ("port_rcv_packets", "3\n"),
                ("port_xmit_packets", "4\n"),
                ("port_rcv_errors", "5\n"),
                ("symbol_error", "6\n"),
            ] {
                fs::write(counters.join(name), text).unwrap();
            }
        }
        fs::create_dir_all(folder.join("mlx5_2")).unwrap();
        let found = ports(&folder);
        let names: Vec<_> = found
            .iter()
            .map(|port| (port.device.as_str(), port.number))
            .collect();
        assert_eq!(names, [("mlx5_0", 1), ("mlx5_0", 2), ("mlx5_1", 1)]);
        let mut missing = Vec::new();
        let counters = found[0].read(&mut |name| missing.push(name));
        fs::remove_dir_all(&folder).unwrap();
        let expected = PortCounters {
            received: Some(1000),
            sent: Some(u64::MAX),
            packets_received: Some(3),
            packets_sent: Some(4),
            receive_errors: Some(5),
            discarded: None,
            symbol_errors: Some(6),
        };
        assert_eq!((counters, missing), (expected, vec!["port_xmit_discards"]));
        assert_eq!(ports(&folder), []);
    }
}
