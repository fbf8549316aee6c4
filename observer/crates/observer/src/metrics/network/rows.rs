//! The rows of network.

use encode::json::clean;
use linux::proc::net_dev::Interface;
use linux::proc::net_snmp::value;

use crate::metrics::network::infiniband::{Port, PortCounters};
use crate::metrics::network::traffic_table::Flow;
use crate::sampling::process::Process;
use crate::sampling::row::{id, number, row, text, thousandths};
use crate::sampling::traffic::Traffic;

row! {
    /// the network interfaces of the pod that have sent or received packets
    pub INTERFACE: "interface" of "interface", "Network";
    /// Appends the row of an interface.
    pub fn push_interface(out, time: &str, scope: &str, interface: &Interface<'_>)
    for thing(time) {
        let Interface { name, received, sent } = interface;
        /// the interface
        interface: text(&*clean(name)) => key();
        /// pod, or node if the pod uses the network of its node
        scope: text(scope) => export_name("ridealong.scope");
        /// bytes received
        rx_bytes: number(received.bytes) => counter("bytes").title("Received");
        /// bytes sent
        tx_bytes: number(sent.bytes) => counter("bytes").title("Sent");
        /// packets received
        rx_packets: number(received.packets) => counter("count").title("Packets received");
        /// packets sent
        tx_packets: number(sent.packets) => counter("count").title("Packets sent");
        /// packets received with errors
        rx_errors: number(received.errors) => counter("count").title("Receive errors");
        /// packets that could not be sent because of errors
        tx_errors: number(sent.errors) => counter("count").title("Send errors");
        /// received packets that were dropped, for example because a queue was full
        rx_dropped: number(received.dropped) => counter("count").title("Received and dropped");
        /// packets that were dropped instead of sent
        tx_dropped: number(sent.dropped) => counter("count").title("Dropped instead of sent");
    }
}

row! {
    /// the TCP connections of the pod, all together
    pub TCP: "tcp" of "pod", "Network";
    /// Appends the row of the section `tcp`, from the texts of `net/snmp` and `net/netstat`.
    /// `report` gets the name of each value that is missing in these texts.
    pub fn push_tcp(
        out,
        time: &str,
        scope: &str,
        [snmp, netstat]: [&[u8]; 2],
        report: &mut dyn FnMut(&'static str),
    )
    for thing(time) {
        let mut find = |text: &[u8], group: &[u8], name: &'static str| {
            let found = value(text, group, name.as_bytes());
            if found.is_none() {
                report(name);
            }
            found
        };
        /// pod, or node if the pod uses the network of its node
        scope: text(scope) => export_name("ridealong.scope");
        /// segments received
        in_segments: number(find(snmp, b"Tcp", "InSegs"))
            => counter("count").title("Segments received");
        /// segments sent, without those that were sent again
        out_segments: number(find(snmp, b"Tcp", "OutSegs"))
            => counter("count").title("Segments sent");
        /// segments sent again
        retransmitted: number(find(snmp, b"Tcp", "RetransSegs"))
            => counter("count").title("Segments sent again");
        /// connections that could not be opened
        attempt_fails: number(find(snmp, b"Tcp", "AttemptFails"))
            => counter("count").title("Connections not opened");
        /// open connections that were reset
        estab_resets: number(find(snmp, b"Tcp", "EstabResets"))
            => counter("count").title("Connections reset");
        /// segments received with errors
        in_errors: number(find(snmp, b"Tcp", "InErrs"))
            => counter("count").title("Segments with errors");
        /// how often the acknowledgement of a segment did not arrive in time, so that the
        /// connection waited and then sent slowly
        timeouts: number(find(netstat, b"TcpExt", "TCPTimeouts"))
            => counter("count").title("Timeouts of acknowledgements");
        /// connections to the pod that were dropped, for example because too many waited to be
        /// accepted
        listen_drops: number(find(netstat, b"TcpExt", "ListenDrops"))
            => counter("count").title("Connections dropped");
    }
}

row! {
    /// the TCP connections of each process to each peer; without an open connection, only if the
    /// counters have grown
    pub SOCKET: "socket" of "process", "Network";
    /// Appends the row of a process and a peer to a section with the columns of [`SOCKET`]. If
    /// `flow` is `None`, the sockets of the process are unknown.
    pub fn push_socket(
        out,
        time: &str,
        section: &str,
        process: &Process,
        flow: Option<&Flow>,
    )
    for process_in(section, time, id(process.pid), &process.tail) {
        let connections = flow.map(|flow| flow.connections);
        let peer = flow.map(|flow| flow.peer.to_string());
        /// the address of the other end; the word pod for another process of the pod, the word
        /// other for all peers after the first 32
        peer: text(peer.as_deref()) => key().export_name("network.peer.address").summed();
        /// TCP sockets to the peer that the process has open
        sockets: number(connections.map(|found| found.sockets))
            => gauge("count").title("Open sockets");
        /// bytes that the peer has not acknowledged yet
        send_queue: number(connections.map(|found| found.send_queue))
            => gauge("bytes").title("Send queue");
        /// bytes that the process has not read yet
        receive_queue: number(connections.map(|found| found.receive_queue))
            => gauge("bytes").title("Receive queue");
        /// round-trip time, the mean of the sockets weighted by the bytes that they have sent
        rtt: thousandths(connections.and_then(|found| found.rtt()))
            => gauge("ms").title("Round-trip time").mean();
        ..TRAFFIC: push_traffic(flow.map(|flow| flow.traffic));
    }
}

row! {
    /// The bytes and retransmitted segments of sockets.
    TRAFFIC;
    /// Appends bytes and retransmitted segments.
    pub fn push_traffic(out, traffic: Option<Traffic>) {
        /// bytes sent, without those that were sent again; includes closed sockets
        bytes_sent: number(traffic.map(|found| found.sent))
            => counter("bytes").title("Sent").export_name("process.network.io")
            .attribute("network.io.direction", "transmit");
        /// bytes received; includes closed sockets
        bytes_received: number(traffic.map(|found| found.received))
            => counter("bytes").title("Received").export_name("process.network.io")
            .attribute("network.io.direction", "receive");
        /// segments sent again; includes closed sockets
        retransmitted: number(traffic.map(|found| found.retransmitted))
            => counter("count").title("Segments sent again");
    }
}

row! {
    /// the ports of the InfiniBand devices of the node, if the pod can see them
    pub INFINIBAND: "infiniband" of "device", "Network";
    /// Appends the row of a port of an InfiniBand device.
    pub fn push_port(out, time: &str, port: &Port, counters: &PortCounters) for thing(time) {
        /// the device
        device: text(&*port.device) => key();
        /// the number of the port
        port: number(port.number) => key();
        /// node: the counters include the traffic of all pods of the node
        scope: text("node") => export_name("ridealong.scope");
        /// bytes received
        rx_bytes: number(counters.received) => counter("bytes").title("Received");
        /// bytes sent
        tx_bytes: number(counters.sent) => counter("bytes").title("Sent");
        /// packets received
        rx_packets: number(counters.packets_received) => counter("count").title("Packets received");
        /// packets sent
        tx_packets: number(counters.packets_sent) => counter("count").title("Packets sent");
        /// packets received with errors
        port_rcv_errors: number(counters.receive_errors)
            => counter("count").title("Receive errors");
        /// packets that were not sent because the port was down or congested
        port_xmit_discards: number(counters.discarded)
            => counter("count").title("Packets not sent");
        /// errors of the physical link
        symbol_error: number(counters.symbol_errors)
            => counter("count").title("Errors of the link");
    }
}
