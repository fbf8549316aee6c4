//! The rows of network: JSON Lines. src/catalog/network.yaml describes their columns.

use encode::json::{clean, push_known, push_text};
use linux::proc::net_dev::Interface;
use linux::proc::net_snmp::value;

use crate::metrics::network::infiniband::{Port, PortCounters};
use crate::metrics::network::traffic_table::Flow;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals, push_pid};
use crate::sampling::process::Process;
use crate::sampling::traffic::Traffic;

/// The rows of interfaces.
pub const INTERFACE: Section = Section {
    name: "interface",
    columns: &[
        "interface",
        "scope",
        "rx_bytes",
        "tx_bytes",
        "rx_packets",
        "tx_packets",
        "rx_errors",
        "tx_errors",
        "rx_dropped",
        "tx_dropped",
    ],
};

/// The rows of all TCP connections together.
pub const TCP: Section = Section {
    name: "tcp",
    columns: &[
        "scope",
        "in_segments",
        "out_segments",
        "retransmitted",
        "attempt_fails",
        "estab_resets",
        "in_errors",
        "timeouts",
        "listen_drops",
    ],
};

/// The rows of the TCP connections of a process to a peer.
pub const SOCKET: Section = Section {
    name: "socket",
    columns: &[
        "container",
        "program",
        "pid",
        "peer",
        "sockets",
        "send_queue",
        "receive_queue",
        "rtt",
        "bytes_sent",
        "bytes_received",
        "retransmitted",
    ],
};

/// The rows of ports of InfiniBand devices.
pub const INFINIBAND: Section = Section {
    name: "infiniband",
    columns: &[
        "device",
        "port",
        "scope",
        "rx_bytes",
        "tx_bytes",
        "rx_packets",
        "tx_packets",
        "port_rcv_errors",
        "port_xmit_discards",
        "symbol_error",
    ],
};

/// The columns of the section `tcp`, and their sources: the group and the name in `net/snmp`, or in
/// `net/netstat` for `TcpExt`.
const TCP_SOURCES: [(&str, &str, &str); 8] = [
    ("in_segments", "Tcp", "InSegs"),
    ("out_segments", "Tcp", "OutSegs"),
    ("retransmitted", "Tcp", "RetransSegs"),
    ("attempt_fails", "Tcp", "AttemptFails"),
    ("estab_resets", "Tcp", "EstabResets"),
    ("in_errors", "Tcp", "InErrs"),
    ("timeouts", "TcpExt", "TCPTimeouts"),
    ("listen_drops", "TcpExt", "ListenDrops"),
];

/// Appends the row of an interface.
pub fn push_interface(out: &mut Vec<u8>, time: &str, scope: &str, interface: &Interface<'_>) {
    let Interface {
        name,
        received,
        sent,
    } = interface;
    begin(out, time, &INTERFACE);
    push_text(out, "interface", Some(&clean(name)));
    push_text(out, "scope", Some(scope));
    push_known(out, "rx_bytes", Some(received.bytes));
    push_known(out, "tx_bytes", Some(sent.bytes));
    push_known(out, "rx_packets", Some(received.packets));
    push_known(out, "tx_packets", Some(sent.packets));
    push_known(out, "rx_errors", Some(received.errors));
    push_known(out, "tx_errors", Some(sent.errors));
    push_known(out, "rx_dropped", Some(received.dropped));
    push_known(out, "tx_dropped", Some(sent.dropped));
    out.push(b'}');
}

/// Appends the row of the section `tcp`, from the texts of `net/snmp` and `net/netstat`. `report`
/// gets the name of each value that is missing in these texts.
pub fn push_tcp(
    out: &mut Vec<u8>,
    time: &str,
    scope: &str,
    [snmp, netstat]: [&[u8]; 2],
    report: &mut dyn FnMut(&'static str),
) {
    begin(out, time, &TCP);
    push_text(out, "scope", Some(scope));
    for (column, group, name) in TCP_SOURCES {
        let text = if group == "Tcp" { snmp } else { netstat };
        let found = value(text, group.as_bytes(), name.as_bytes());
        if found.is_none() {
            report(name);
        }
        push_known(out, column, found);
    }
    out.push(b'}');
}

/// Appends the row of a process and a peer to a section with the columns of [`SOCKET`]. If `flow`
/// is `None`, the sockets of the process are unknown.
pub fn push_socket(
    out: &mut Vec<u8>,
    time: &str,
    section: &Section,
    process: &Process,
    flow: Option<&Flow>,
) {
    let connections = flow.map(|flow| flow.connections);
    let traffic = flow.map(|flow| flow.traffic);
    let peer = flow.map(|flow| flow.peer.to_string());
    begin(out, time, section);
    push_pid(out, process);
    push_text(out, "peer", peer.as_deref());
    push_known(out, "sockets", connections.map(|found| found.sockets));
    push_known(out, "send_queue", connections.map(|found| found.send_queue));
    let receive_queue = connections.map(|found| found.receive_queue);
    push_known(out, "receive_queue", receive_queue);
    let rtt = connections.and_then(|found| found.rtt());
    push_decimals(out, "rtt", rtt, 3);
    push_traffic(out, traffic);
    out.extend_from_slice(&process.tail);
}

/// Appends bytes and retransmitted segments.
pub fn push_traffic(out: &mut Vec<u8>, traffic: Option<Traffic>) {
    push_known(out, "bytes_sent", traffic.map(|found| found.sent));
    push_known(out, "bytes_received", traffic.map(|found| found.received));
    let retransmitted = traffic.map(|found| found.retransmitted);
    push_known(out, "retransmitted", retransmitted);
}

/// Appends the row of a port of an InfiniBand device.
pub fn push_port(out: &mut Vec<u8>, time: &str, port: &Port, counters: &PortCounters) {
    let PortCounters {
        received,
        sent,
        packets_received,
        packets_sent,
        receive_errors,
        discarded,
        symbol_errors,
    } = counters;
    begin(out, time, &INFINIBAND);
    push_text(out, "device", Some(&port.device));
    push_known(out, "port", Some(port.number));
    push_text(out, "scope", Some("node"));
    push_known(out, "rx_bytes", *received);
    push_known(out, "tx_bytes", *sent);
    push_known(out, "rx_packets", *packets_received);
    push_known(out, "tx_packets", *packets_sent);
    push_known(out, "port_rcv_errors", *receive_errors);
    push_known(out, "port_xmit_discards", *discarded);
    push_known(out, "symbol_error", *symbol_errors);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use linux::proc::net_dev::interfaces;

    use super::*;
    use crate::sampling::json_rows::columns_of;

    fn columns(push: impl FnOnce(&mut Vec<u8>)) -> Vec<String> {
        let mut row = Vec::new();
        push(&mut row);
        columns_of(&row)
    }

    #[test]
    fn the_rows_have_the_declared_columns() {
        let text = b"a\nb\neth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        let eth0 = interfaces(text).next().unwrap();
        let process = Process {
            tail: (*b",\"container\":\"app\",\"program\":\"lmp\"}").into(),
            ..Process::default()
        };
        let port = Port::default();
        let interface = columns(|out| push_interface(out, "", "pod", &eth0));
        let tcp = columns(|out| push_tcp(out, "", "pod", [b"", b""], &mut |_| ()));
        let socket = columns(|out| push_socket(out, "", &SOCKET, &process, None));
        let infiniband = columns(|out| push_port(out, "", &port, &PortCounters::default()));
        assert_eq!(interface, INTERFACE.sorted_columns());
        assert_eq!(tcp, TCP.sorted_columns());
        assert_eq!(socket, SOCKET.sorted_columns());
        assert_eq!(infiniband, INFINIBAND.sorted_columns());
    }
}
