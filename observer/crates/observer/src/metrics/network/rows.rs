//! The rows of network: JSON Lines. src/catalog/network.yaml describes their columns.

use encode::json::{clean, push_known, push_text};
use linux::proc::net_dev::Interface;
use linux::proc::net_snmp::value;

use crate::metrics::network::infiniband::{Port, PortCounters};
use crate::metrics::network::traffic_table::Flow;
use crate::sampling::json_rows::{begin, push_decimals, push_pid};
use crate::sampling::process::Process;
use crate::sampling::traffic::Traffic;

/// The columns of the section `tcp`, and their sources: the group and the name in `net/snmp`, or in
/// `net/netstat` for `TcpExt`.
const TCP: [(&str, &str, &str); 8] = [
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
    begin(out, time, "interface");
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
    begin(out, time, "tcp");
    push_text(out, "scope", Some(scope));
    for (column, group, name) in TCP {
        let text = if group == "Tcp" { snmp } else { netstat };
        let found = value(text, group.as_bytes(), name.as_bytes());
        if found.is_none() {
            report(name);
        }
        push_known(out, column, found);
    }
    out.push(b'}');
}

/// Appends the row of a process and a peer. If `flow` is `None`, the sockets of the process are
/// unknown.
pub fn push_socket(out: &mut Vec<u8>, time: &str, process: &Process, flow: Option<&Flow>) {
    let connections = flow.map(|flow| flow.connections);
    let traffic = flow.map(|flow| flow.traffic);
    let peer = flow.map(|flow| flow.peer.to_string());
    begin(out, time, "socket");
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
    begin(out, time, "infiniband");
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
