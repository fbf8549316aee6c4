//! network: the traffic of the pod's interfaces, of its TCP connections, and of each process by
//! peer.

pub mod infiniband;
pub mod rows;
pub mod socket_owners;
pub mod traffic_table;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use encode::json::{push_key, push_known, push_member};
use linux::clock;
use linux::proc::files::Files;
use linux::proc::net_dev::interfaces;
use linux::proc::sockstat::tcp_in_use;
use linux::sock_diag::client::{Client, Hearing};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;

use self::infiniband::Port;
use self::rows::{push_interface, push_port, push_socket, push_tcp, push_traffic};
use self::socket_owners::OwnerSearch;
use self::traffic_table::TrafficTable;
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::accounts::Sum;
use crate::sampling::columns::Rows;
use crate::sampling::json_rows::write_header;
use crate::sampling::omissions::Maximum;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::begin_program;
use crate::sampling::sampler::{self, Run, Sampler};
use crate::sampling::traffic::Traffic;

const INFINIBAND: &str = "/sys/class/infiniband";
/// Bytes of the row of a process and a peer, without the names of the process.
pub const ROW_BYTES: usize = 256;
/// Bytes of the rows of interfaces, TCP and InfiniBand, for the prediction of a timepoint.
const OTHER_ROWS: usize = 4096;
/// Bytes that the container runtime adds to a row.
pub const PREFIX: usize = 48;
/// Seconds that the last reading of the sockets, after the signal to end, may take.
const LAST_READING: f64 = 0.2;
/// The most interfaces that have rows. A node has one for each of its pods.
const MAX_INTERFACES: usize = 64;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "network",
        description: "traffic of the pod's interfaces and of its TCP connections, and of the application's processes by peer",
        help: "traffic of the pod's interfaces and of its TCP connections, and of the application's processes by peer",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
            MetricOption::Timeout,
        ],
        reads: ProcessFiles::Stat,
        reads_sockets: true,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[rows::INTERFACE, rows::TCP, rows::SOCKET, rows::INFINIBAND],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let network = Network::new(&settings, rows::SOCKET.name);
    sampler::run(network, settings, session);
}

/// The sockets of the processes, and the other things that have rows.
pub struct Network {
    client: Result<Client, Errno>,
    /// The network whose interfaces have rows: `pod` or `node`.
    pub scope: &'static str,
    /// The section of the rows of sockets.
    section: &'static str,
    table: TrafficTable,
    owners: OwnerSearch,
    ports: Vec<Port>,
    /// Whether the last reading of the sockets succeeded.
    has_reading: bool,
    /// Whether any reading of the sockets succeeded. Otherwise the sums are unknown.
    has_sums: bool,
    /// Whether messages about closed sockets were lost.
    has_lost: bool,
    notices: Notices,
    left_out: LeftOut,
}

/// The largest number of sockets or interfaces that were left out, by reason.
#[derive(Default)]
struct LeftOut {
    sockets: Maximum,
    /// Sockets that are in the row of the peer `other`.
    peers: Maximum,
    /// Sockets that were closed before their process was found.
    unaccounted: Maximum,
    interfaces: Maximum,
}

impl Sampler for Network {
    const INITIAL_ROW_BYTES: f64 = 1024.0;
    const HAS_RATES: bool = false;

    fn write_header(
        &mut self,
        settings: &Settings,
        session: &mut Session,
        _processes: Option<&ProcessTable>,
    ) {
        write_header(settings, session, &[("scope", self.scope)]);
        self.report_unheard(settings, session);
    }

    fn estimate_bytes(&self, process: &Process) -> usize {
        // A process may have several rows. The capacity for sockets limits the number of all rows.
        ROW_BYTES + process.tail.len()
    }

    fn predict_bytes(&self, processes: &ProcessTable) -> usize {
        let rows = |key: &Key| {
            let tail = processes.all.get(key).map_or(0, |found| found.tail.len());
            self.table.due_flows(*key) * (ROW_BYTES + PREFIX + tail)
        };
        OTHER_ROWS + processes.observed.iter().map(rows).sum::<usize>()
    }

    fn skip_scan(&mut self) {
        // Sockets that are closed before there is a process to observe are not part of the run.
        if let Ok(client) = &mut self.client {
            client.visit_closed(|_| ());
        }
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.read_sockets(run, None);
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        self.print_interfaces(run, &time);
        self.print_tcp(run, &time);
        self.print_sockets(run, keys, &time);
        for port in &self.ports {
            let (notices, log) = (&mut self.notices, &mut run.session.log);
            let counters = port.read(&mut |name| {
                let device = &port.device;
                notices.report(format!("{name} of {device} cannot be read"), log);
            });
            push_port(log.line(), &time, port, &counters);
            log.end_line();
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        self.close(run);
        run.processes.close_accounts();
        let mut whole = run.begin_whole();
        self.push_whole(&mut whole, run);
        whole.push(b'}');
        let mut lines = vec![whole];
        lines.extend(self.program_lines(&run.processes));
        lines
    }
}

impl Network {
    /// Begins to read sockets. Their rows are in the section `section`, which has the columns of
    /// [`rows::SOCKET`].
    pub fn new(settings: &Settings, section: &'static str) -> Self {
        Self {
            // Each message about a closed socket costs processor time in the kernel. In the network
            // of a node, most sockets belong to other programs, so these messages are not
            // requested.
            client: Client::open(!settings.has_host_network),
            scope: if settings.has_host_network {
                "node"
            } else {
                "pod"
            },
            section,
            table: TrafficTable::default(),
            owners: OwnerSearch::new(clock::since_boot()),
            ports: infiniband::ports(Path::new(INFINIBAND)),
            has_reading: false,
            has_sums: false,
            has_lost: false,
            notices: Notices::default(),
            left_out: LeftOut::default(),
        }
    }

    /// Reports that the kernel does not send messages about closed sockets, if they were requested.
    pub fn report_unheard(&self, settings: &Settings, session: &mut Session) {
        let hears_closed = self.client.as_ref().is_ok_and(Client::hears_closed);
        if self.client.is_ok() && !hears_closed && !settings.has_host_network {
            let reason = "the last bytes of closed sockets are missing";
            session
                .log
                .note(&format!("{reason}: this kernel does not report them"));
        }
    }

    /// Reads the sockets for the last time, and adds them to the sums of the programs.
    pub fn close(&mut self, run: &mut Run<'_>) {
        if run.progress.has_header {
            self.read_sockets(run, Some(clock::since_boot() + LAST_READING));
            self.table.close_all();
            self.add_growth(run);
        }
    }

    /// Reads all sockets, finds the processes of new ones, and adds the growth of their counters.
    /// The reading ends early at the time `deadline`, or without one if a signal arrives.
    fn read_sockets(&mut self, run: &mut Run<'_>, deadline: Option<f64>) {
        let Self {
            client,
            table,
            owners,
            notices,
            ..
        } = self;
        let session = &mut *run.session;
        self.has_reading = false;
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                notices.report(explain(*error), &mut session.log);
                return;
            }
        };
        let hearing = hear_closed(client, table, notices, session);
        self.has_lost |= hearing == Hearing::Lost;
        table.begin_reading(run.processes.capacity().sockets);
        let round = owners.round();
        // The first reading always asks the kernel, so that it is known whether it answers.
        let files = &mut run.processes.meter.files;
        let visited = if self.has_sums && table.is_empty() && !has_sockets(files) {
            Ok(())
        } else {
            client.visit_sockets(
                |socket| table.take(socket, run.processes.now, round),
                || deadline.map_or_else(|| session.pause(0.0), |end| clock::since_boot() < end),
            )
        };
        match visited {
            Ok(()) => {}
            Err(Errno::ECANCELED) => return,
            Err(error) => {
                notices.report(explain(error), &mut session.log);
                return;
            }
        }
        self.has_reading = true;
        self.has_sums = true;
        if table.has_new_peers() {
            table.mark_own(&own_addresses());
        }
        let processes = &mut run.processes;
        owners.check(table, processes, session, deadline);
        owners.run(table, processes, notices, session, deadline);
        table.settle(hearing == Hearing::Complete);
        self.add_growth(run);
        let all = &run.processes.all;
        self.table.forget_ended(|key| all.contains_key(&key));
        self.report_omissions(run);
    }

    /// Adds the growth of the counters to the sums of the programs.
    fn add_growth(&mut self, run: &mut Run<'_>) {
        let ProcessTable { all, sums, .. } = &mut run.processes;
        self.table.drain_growth(|key, traffic, growth| {
            // If the process now executes a program that is not observed, its sockets stay with the
            // program that opened them.
            let process = all.get(&key).filter(|process| process.is_observed);
            let program =
                process.and_then(|process| process.container.zip(process.program.as_deref()));
            if let Some((container, program)) = program {
                traffic.sum = Some(sums.find(container, program));
            }
            if let Some(at) = traffic.sum {
                sums.add_traffic(at, growth, traffic.is_hidden);
            }
        });
    }

    fn report_omissions(&mut self, run: &mut Run<'_>) {
        let omissions = self.table.omissions;
        let log = &mut run.session.log;
        if self.left_out.sockets.is_due(omissions.sockets) {
            let count = omissions.sockets;
            log.note(&format!("{count} sockets are left out: there are too many"));
        }
        if self.left_out.peers.is_due(omissions.other_peers) {
            let count = omissions.other_peers;
            log.note(&format!(
                "{count} sockets are in rows with the peer other: their process has too many peers"
            ));
        }
        if self
            .left_out
            .unaccounted
            .is_due(omissions.unaccounted_sockets)
        {
            let count = omissions.unaccounted_sockets;
            let bytes = omissions.unaccounted.bytes();
            log.note(&format!(
                "{count} sockets with {bytes} bytes were closed before their process was found"
            ));
        }
    }

    fn print_interfaces(&mut self, run: &mut Run<'_>, time: &str) {
        let (notices, log) = (&mut self.notices, &mut run.session.log);
        let text = match run.processes.meter.files.read_whole("net/dev") {
            Ok(text) => text,
            Err(error) => {
                let reason = error.desc();
                notices.report(format!("net/dev cannot be read: {reason}"), log);
                return;
            }
        };
        let is_used = |packets: u64| packets > 0;
        let mut used = interfaces(text)
            .filter(|found| is_used(found.received.packets) || is_used(found.sent.packets));
        for interface in used.by_ref().take(MAX_INTERFACES) {
            push_interface(log.line(), time, self.scope, &interface);
            log.end_line();
        }
        let left_out = used.count() as u64;
        if self.left_out.interfaces.is_due(left_out) {
            log.note(&format!(
                "{left_out} interfaces are left out: only the first {MAX_INTERFACES} have rows"
            ));
        }
    }

    fn print_tcp(&mut self, run: &mut Run<'_>, time: &str) {
        let files = &mut run.processes.meter.files;
        let snmp = files.read_whole("net/snmp").unwrap_or_default().to_vec();
        let netstat = files.read_whole("net/netstat").unwrap_or_default();
        let (notices, log) = (&mut self.notices, &mut run.session.log);
        let mut missing = Vec::new();
        push_tcp(
            log.line(),
            time,
            self.scope,
            [&snmp, netstat],
            &mut |name| {
                missing.push(name);
            },
        );
        log.end_line();
        if !missing.is_empty() {
            let names = missing.join(", ");
            notices.report(format!("net/snmp and net/netstat have no {names}"), log);
        }
    }

    /// Prints the rows of each process: a row for each peer, or a row without a peer if the sockets
    /// of the process are unknown.
    fn print_sockets(&mut self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let log = &mut run.session.log;
        for key in keys {
            let Some(process) = run.processes.all.get(key) else {
                continue;
            };
            let traffic = self.table.of_process(*key);
            let is_hidden = traffic.as_ref().is_some_and(|traffic| traffic.is_hidden);
            if !self.has_reading || is_hidden {
                push_socket(log.line(), time, self.section, process, None);
                log.end_line();
                continue;
            }
            let Some(traffic) = traffic else { continue };
            for flow in traffic.take_flows_to_print() {
                push_socket(log.line(), time, self.section, process, Some(flow));
                log.end_line();
            }
        }
    }

    /// Appends the traffic of the whole run to a line of the summary.
    pub fn push_whole(&self, line: &mut Vec<u8>, run: &Run<'_>) {
        push_member(line, "scope", self.scope);
        let mut total = Sum::default();
        for sum in run.processes.sums.list() {
            total.add(sum);
        }
        push_traffic(line, self.known_traffic(&total));
        let omissions = self.table.omissions;
        if omissions.unaccounted_sockets > 0 {
            let unaccounted = omissions.unaccounted;
            push_known(line, "unaccounted_bytes_sent", Some(unaccounted.sent));
            let received = Some(unaccounted.received);
            push_known(line, "unaccounted_bytes_received", received);
        }
        if self.has_lost {
            push_key(line, "misses_closed_sockets");
            line.extend_from_slice(b"true");
        }
    }

    /// The traffic of a sum; `None` if the traffic of some processes is unknown.
    pub fn known_traffic(&self, sum: &Sum) -> Option<Traffic> {
        (self.has_sums && !sum.hides_traffic).then_some(sum.traffic)
    }

    /// The lines of the summary for the programs, those with the most bytes first.
    fn program_lines(&self, processes: &ProcessTable) -> Vec<Vec<u8>> {
        let mut sums: Vec<&Sum> = processes.sums.list().iter().collect();
        sums.sort_by_key(|sum| (std::cmp::Reverse(sum.traffic.bytes()), &sum.program));
        let line = |sum: &Sum| {
            let mut line = Vec::new();
            let container = processes.containers.known_name(sum.container);
            begin_program(&mut line, &sum.program, container);
            push_known(&mut line, "processes", Some(sum.processes));
            push_traffic(&mut line, self.known_traffic(sum));
            line.push(b'}');
            line
        };
        sums.into_iter().map(line).collect()
    }
}

/// Closes the sockets about which the kernel has sent a message since the last reading.
fn hear_closed(
    client: &mut Client,
    table: &mut TrafficTable,
    notices: &mut Notices,
    session: &mut Session,
) -> Hearing {
    let hearing = client.visit_closed(|socket| table.close(socket));
    if hearing == Hearing::Lost {
        let reason = "the last bytes of some closed sockets are missing: too many were closed";
        notices.report(format!("{reason} between two samples"), &mut session.log);
    }
    hearing
}

/// Reports whether the network namespace has TCP sockets, or whether this is unknown. Reading two
/// small files takes much less time than asking for the sockets.
fn has_sockets(files: &mut Files) -> bool {
    let v4 = files.read_whole("net/sockstat").map(tcp_in_use);
    // A kernel without IPv6 does not have the second file.
    let v6 = match files.read_whole("net/sockstat6").map(tcp_in_use) {
        Err(Errno::ENOENT) => Ok(Some(0)),
        found => found,
    };
    (v4, v6) != (Ok(Some(0)), Ok(Some(0)))
}

/// Returns a sentence with the reason why the sockets are unknown.
fn explain(error: Errno) -> String {
    let reason = match error {
        Errno::ENOENT | Errno::EOPNOTSUPP => "this kernel has no sock_diag for TCP",
        error => error.desc(),
    };
    format!("the sockets of processes cannot be read: {reason}")
}

/// Returns the addresses of the network namespace. The set is empty if they cannot be read.
pub fn own_addresses() -> BTreeSet<IpAddr> {
    let address = |storage: nix::sys::socket::SockaddrStorage| {
        let v4 = storage
            .as_sockaddr_in()
            .map(|found| IpAddr::from(found.ip()));
        v4.or_else(|| Some(IpAddr::from(storage.as_sockaddr_in6()?.ip())))
    };
    let interfaces = getifaddrs().into_iter().flatten();
    interfaces
        .filter_map(|interface| address(interface.address?))
        .collect()
}
