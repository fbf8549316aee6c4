//! The TCP sockets of the network namespace, and the traffic of each observed process to each of
//! its peers. From one reading to the next, a socket is recognized by its cookie, even after its
//! process has closed it and while the kernel still sends the last bytes.
//!
//! A process gets the growth of a socket's counters up to a reading after which it still had the
//! socket open. The growth after the last such reading belongs to the process that has the socket
//! next. If there is none, and the socket is closed, the growth belongs to the last process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use linux::proc::files::OpenSocket;
use linux::sock_diag::message::TcpSocket;

use crate::sampling::process::Key;
use crate::sampling::traffic::Traffic;

/// The maximum number of peers of a process that have rows. All further peers share a row.
const MAX_PEERS: usize = 32;
/// The number of readings without a socket after which it is forgotten, if the kernel does not tell
/// when it is closed. A reading may miss a socket if others are closed at the same time.
const MAX_ABSENCE: u64 = 2;
/// Seconds until the second search for the process of a socket, if the first search found none.
/// This time doubles after each further search.
const FIRST_GAP: f64 = 5.0;
/// The maximum seconds between two searches for the process of a socket.
const MAX_GAP: f64 = 300.0;

/// The other end of a connection, without its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of the observer's network namespace.
    Pod,
    /// Another address.
    Address(IpAddr),
    /// All peers that share a row, because the process or the pod has too many peers.
    Other,
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod => out.write_str("pod"),
            Self::Address(address) => write!(out, "{address}"),
            Self::Other => out.write_str("other"),
        }
    }
}

/// The connections of a process to a peer at the last reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// The sockets that the process has open.
    pub sockets: u64,
    /// Bytes that are not sent yet, or not acknowledged yet.
    pub send_queue: u64,
    /// Bytes that the process has not read yet.
    pub receive_queue: u64,
    round_trips: RoundTrips,
}

/// Sums for the mean of round-trip times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RoundTrips {
    weighted: u128,
    weight: u128,
    sum: u128,
    count: u128,
}

impl Connections {
    fn take(&mut self, socket: &Socket) {
        self.sockets += u64::from(socket.inode != 0);
        self.send_queue += u64::from(socket.send_queue);
        self.receive_queue += u64::from(socket.receive_queue);
        if socket.rtt > 0 {
            let (rtt, weight) = (u128::from(socket.rtt), u128::from(socket.now.sent));
            let mean = &mut self.round_trips;
            mean.weighted += rtt * weight;
            mean.weight += weight;
            mean.sum += rtt;
            mean.count += 1;
        }
    }

    /// Returns the mean round-trip time in microseconds, weighted by the bytes that were sent. If
    /// no bytes were sent, all sockets have the same weight. `None` if no socket has a measured
    /// time.
    pub fn rtt(&self) -> Option<u64> {
        let RoundTrips {
            weighted,
            weight,
            sum,
            count,
        } = self.round_trips;
        let mean = weighted.checked_div(weight).or(sum.checked_div(count))?;
        u64::try_from(mean).ok()
    }
}

/// The traffic of a process to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The peer.
    pub peer: Peer,
    /// The traffic since the start of each socket, including closed sockets.
    pub traffic: Traffic,
    /// The connections at the last reading.
    pub connections: Connections,
    printed: Option<Traffic>,
}

impl Flow {
    fn is_due(&self) -> bool {
        self.connections.sockets > 0 || self.printed != Some(self.traffic)
    }
}

/// An observed process.
#[derive(Debug, Default)]
pub struct ProcessTraffic {
    /// Whether the sockets of the process are unknown, because its open files cannot be read.
    pub is_hidden: bool,
    /// The position of the sum of the process's program in [`crate::sampling::accounts::Sums`].
    pub sum: Option<usize>,
    flows: Vec<Flow>,
    growth: Traffic,
    sockets: usize,
}

impl ProcessTraffic {
    /// Returns the flows that have a row now: the flows with open sockets, and the flows whose
    /// traffic has grown since the last row.
    pub fn take_flows_to_print(&mut self) -> impl Iterator<Item = &Flow> {
        self.flows.iter_mut().filter_map(|flow| {
            let is_due = flow.is_due();
            flow.printed = Some(flow.traffic);
            is_due.then_some(&*flow)
        })
    }

    /// Returns the position of the flow to a peer, and adds a flow for a new peer. `total` is the
    /// number of flows of all processes, and `most` is its limit. Only flows to [`Peer::Other`] may
    /// exceed the limits.
    fn find(&mut self, peer: Peer, total: &mut usize, most: usize) -> usize {
        let is_full = self.flows.len() >= MAX_PEERS || *total >= most;
        let mut known = self.flows.iter();
        if let Some(at) = known.position(|flow| flow.peer == peer) {
            return at;
        }
        if is_full && peer != Peer::Other {
            return self.find(Peer::Other, total, most);
        }
        self.flows.push(Flow {
            peer,
            traffic: Traffic::default(),
            connections: Connections::default(),
            printed: None,
        });
        *total += 1;
        self.flows.len() - 1
    }
}

/// A socket.
#[derive(Debug)]
struct Socket {
    inode: u32,
    destination: IpAddr,
    peer: Peer,
    send_queue: u32,
    receive_queue: u32,
    rtt: u32,
    now: Traffic,
    /// The part of `now` that the flow already includes.
    settled: Traffic,
    /// The number of the last reading that found the socket.
    seen: u64,
    owner: Option<Owner>,
    search: Search,
    /// Whether a reading found the socket open after a search had not found its process. Otherwise
    /// the process may have closed it during the search.
    outlived_search: bool,
}

/// The last process that was found to have a socket open.
#[derive(Clone, Copy, Debug)]
struct Owner {
    key: Key,
    /// The number of the open file.
    file: i32,
    /// The position of the flow, if it is already known.
    flow: Option<usize>,
    /// The number of the last reading after which the process had the socket open.
    checked: u64,
    /// The number of readings that found the socket open without this process; 0 as long as the
    /// process has it.
    absences: u32,
}

impl Socket {
    /// Whether a search has found that no observed process has the socket open.
    fn is_foreign(&self) -> bool {
        self.lacks_owner() && !self.search.is_first()
    }

    /// Whether the process that has the socket open is unknown.
    fn lacks_owner(&self) -> bool {
        self.owner.is_none_or(|owner| owner.absences > 0)
    }

    /// Whether another process has the socket, or had it before it was closed. If a process closes
    /// a socket just after a reading, the next reading does not find the socket open.
    fn is_handed_over(&self) -> bool {
        self.owner.is_some_and(|owner| owner.absences > 1)
    }

    /// Whether the growth of the counters belongs to the owner.
    fn grows_for(&self, owner: &Owner) -> bool {
        let has_it = owner.absences == 0 && owner.checked >= self.seen;
        has_it || (self.inode == 0 && !self.is_handed_over())
    }

    fn new(found: &TcpSocket, round: u64) -> Self {
        Self {
            inode: found.inode,
            destination: found.destination,
            peer: peer_of(found),
            send_queue: 0,
            receive_queue: 0,
            rtt: 0,
            now: Traffic::default(),
            settled: Traffic::default(),
            seen: 0,
            owner: None,
            search: Search {
                round,
                ..Search::default()
            },
            outlived_search: false,
        }
    }
}

/// The search for the process of a socket.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// The number of the last round that had begun when the socket was found, or of the last round
    /// that did not find its process. A round visits all observed processes.
    round: u64,
    /// The time from which the process is looked for, in seconds since boot.
    due: f64,
    /// Seconds from the last search to the next search; 0 before the end of the first search.
    gap: f64,
}

impl Search {
    /// Whether no search has failed yet. A search fails if it ends and has not found the process.
    fn is_first(&self) -> bool {
        self.gap <= 0.0
    }
}

/// A check whether a process still has a socket open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The process.
    pub key: Key,
    /// The number of the open file.
    pub file: i32,
    /// The inode of the socket.
    pub inode: u32,
    cookie: u64,
}

/// The sockets, and the traffic of the observed processes.
#[derive(Default)]
pub struct TrafficTable {
    sockets: BTreeMap<u64, Socket>,
    processes: BTreeMap<Key, ProcessTraffic>,
    /// The number of flows of all processes.
    flows: usize,
    /// The maximum number of sockets, and also of flows.
    most: usize,
    /// The cookies of the sockets whose processes are looked for, by inode.
    wanted: BTreeMap<u32, u64>,
    readings: u64,
    /// Whether the sockets of a process are hidden: a socket without a process may belong to it.
    has_hidden: bool,
    /// The sockets that this reading may replace if the table is full, in the reverse order:
    /// whether a socket may be of an observed process, the last reading that found it, and its
    /// cookie. `None` until the first is replaced.
    replaceable: Option<Vec<(bool, u64, u64)>>,
    /// The sockets and bytes that are missing from the flows.
    pub omissions: Omissions,
}

/// The sockets and bytes that are missing from the flows, or are in the flows to [`Peer::Other`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    /// The traffic of sockets whose process was not found before they were closed, or before the
    /// end, since their last process had them. It may be of processes that are not observed.
    pub unaccounted: Traffic,
    /// The number of sockets in `unaccounted`.
    pub unaccounted_sockets: u64,
    /// The number of sockets in the flows to [`Peer::Other`].
    pub other_peers: u64,
    /// The number of sockets that the last reading left out.
    pub sockets: u64,
}

impl TrafficTable {
    /// Begins a reading of all sockets. The table has at most `most` sockets at once, and at most
    /// `most` flows, apart from the flows to [`Peer::Other`].
    pub fn begin_reading(&mut self, most: usize) {
        self.most = most;
        self.readings += 1;
        self.omissions.sockets = 0;
        self.wanted.clear();
        self.replaceable = None;
    }

    /// Whether the table has no sockets.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Adds or updates a socket that the reading found at the time `now`, in seconds since boot.
    /// `round` is the number of the last round of the search for processes that has begun.
    pub fn take(&mut self, found: &TcpSocket, now: f64, round: u64) {
        let is_known = self.sockets.contains_key(&found.cookie);
        // If the process has already closed the socket, the process cannot be found.
        if !is_known && found.inode == 0 {
            return;
        }
        if !is_known && self.sockets.len() >= self.most && !self.replace_one() {
            self.omissions.sockets += 1;
            return;
        }
        // A process can end a connection and open another with the same socket. The kernel then
        // counts from 0 again.
        let is_reused = self.sockets.get(&found.cookie).is_some_and(|socket| {
            socket.destination != found.destination || found.info.received < socket.now.received
        });
        if is_reused && let Some(before) = self.sockets.remove(&found.cookie) {
            self.conclude(before);
        }
        let socket = self
            .sockets
            .entry(found.cookie)
            .or_insert_with(|| Socket::new(found, round));
        if found.inode != 0
            && let Some(owner) = &mut socket.owner
            && owner.absences > 0
        {
            owner.absences = owner.absences.saturating_add(1);
        }
        socket.outlived_search |= found.inode != 0 && !socket.search.is_first();
        socket.inode = found.inode;
        socket.send_queue = found.send_queue;
        socket.receive_queue = found.receive_queue;
        socket.rtt = found.info.rtt;
        socket.now = socket.now.max(Traffic::of(found));
        socket.seen = self.readings;
        if socket.lacks_owner() && found.inode != 0 && socket.search.due <= now {
            self.wanted.insert(found.inode, found.cookie);
        }
    }

    /// Makes room for another socket: forgets a socket of no observed process, or else the one that
    /// has been absent for the longest time. Returns false if there is none.
    fn replace_one(&mut self) -> bool {
        let Self {
            sockets,
            replaceable,
            readings,
            ..
        } = self;
        let list = replaceable.get_or_insert_with(|| {
            let mut list: Vec<(bool, u64, u64)> = sockets
                .iter()
                .filter_map(|(cookie, socket)| {
                    let is_absent = *readings - socket.seen >= MAX_ABSENCE;
                    let key = (!socket.is_foreign(), socket.seen, *cookie);
                    (is_absent || socket.is_foreign()).then_some(key)
                })
                .collect();
            list.sort_unstable_by_key(|entry| std::cmp::Reverse(*entry));
            list
        });
        while let Some((is_own, seen, cookie)) = list.pop() {
            // The reading may have found an absent socket again.
            let found = sockets.get(&cookie);
            if found.is_some_and(|socket| !is_own || socket.seen == seen) {
                let replaced = sockets.remove(&cookie);
                if let Some(socket) = replaced.filter(|socket| socket.owner.is_some()) {
                    self.conclude(socket);
                }
                return true;
            }
        }
        false
    }

    /// Whether the reading has found a new socket whose peer may be an own address of the pod.
    pub fn has_new_peers(&self) -> bool {
        let is_new = |cookie: &u64| {
            let socket = self.sockets.get(cookie);
            socket.is_some_and(|socket| socket.search.is_first() && socket.peer != Peer::Pod)
        };
        self.wanted.values().any(is_new)
    }

    /// Replaces the peers of wanted sockets by [`Peer::Pod`] if they are in `own`, the addresses of
    /// the pod itself.
    pub fn mark_own(&mut self, own: &BTreeSet<IpAddr>) {
        for cookie in self.wanted.values() {
            if let Some(socket) = self.sockets.get_mut(cookie)
                && let Peer::Address(address) = socket.peer
                && own.contains(&address)
            {
                socket.peer = Peer::Pod;
            }
        }
    }

    /// Whether there are sockets whose processes are to be looked for.
    pub fn has_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Assigns to a process those wanted sockets that it has open.
    pub fn assign(&mut self, key: Key, open: &[OpenSocket]) {
        self.processes.entry(key).or_default().is_hidden = false;
        for OpenSocket { file, inode } in open {
            let cookie = self.wanted.remove(inode);
            if let Some(socket) = cookie.and_then(|cookie| self.sockets.get_mut(&cookie)) {
                let before = socket.owner.filter(|owner| owner.key == key);
                socket.owner = Some(Owner {
                    key,
                    file: *file,
                    flow: before.and_then(|owner| owner.flow),
                    checked: self.readings,
                    absences: 0,
                });
            }
        }
    }

    /// Returns the sockets whose owners are to be checked after this reading: first the sockets
    /// whose counters have grown, and of these first those whose last check is the oldest.
    pub fn due_checks(&self) -> Vec<Check> {
        let check = |(cookie, socket): (&u64, &Socket)| {
            let owner = socket.owner.filter(|owner| owner.absences == 0)?;
            let is_idle = socket.now == socket.settled;
            let is_absent = socket.seen < self.readings;
            let is_due = socket.inode != 0 && owner.checked < self.readings;
            let check = Check {
                key: owner.key,
                file: owner.file,
                inode: socket.inode,
                cookie: *cookie,
            };
            (is_due && !(is_idle && is_absent)).then_some((is_idle, owner.checked, check))
        };
        let mut due: Vec<(bool, u64, Check)> = self.sockets.iter().filter_map(check).collect();
        due.sort_unstable_by_key(|(is_idle, checked, check)| (*is_idle, *checked, check.key));
        due.into_iter().map(|(_, _, check)| check).collect()
    }

    /// Notes that a process still has a socket open.
    pub fn confirm(&mut self, check: &Check) {
        let socket = self.sockets.get_mut(&check.cookie);
        if let Some(owner) = socket.and_then(|socket| socket.owner.as_mut()) {
            owner.checked = self.readings;
        }
    }

    /// Notes that a process no longer has a socket open. The process that has it now is looked for
    /// from the time `now`; `round` is the number of the last round that has begun.
    pub fn release(&mut self, check: &Check, now: f64, round: u64) {
        let Some(socket) = self.sockets.get_mut(&check.cookie) else {
            return;
        };
        if let Some(owner) = &mut socket.owner {
            owner.absences = 1;
        }
        socket.search = Search {
            round,
            due: now,
            gap: 0.0,
        };
        self.wanted.insert(check.inode, check.cookie);
    }

    /// Marks a process as hidden, because its open files cannot be read.
    pub fn hide(&mut self, key: Key) {
        self.processes.entry(key).or_default().is_hidden = true;
        self.has_hidden = true;
    }

    /// Ends a round of the search, which has visited all observed processes. Wanted sockets that
    /// were found before the round began belong to none of these processes. Their processes are
    /// looked for again later.
    pub fn end_round(&mut self, round: u64, now: f64) {
        for cookie in self.wanted.values() {
            let Some(socket) = self.sockets.get_mut(cookie) else {
                continue;
            };
            let search = &mut socket.search;
            if search.round < round {
                search.gap = (2.0 * search.gap).clamp(FIRST_GAP, MAX_GAP);
                search.due = now + search.gap;
                search.round = round;
            }
        }
    }

    /// Ends a complete reading: adds the growth of each socket to the flow of its process, and
    /// forgets the sockets that are gone. The growth of a socket whose process is unknown, or was
    /// not checked, waits for a later reading.
    ///
    /// A socket is also absent from the readings if its connection has ended and its process still
    /// has it open. With `hears_closed`, the table therefore keeps absent sockets until
    /// [`TrafficTable::close`].
    pub fn settle(&mut self, hears_closed: bool) {
        self.has_hidden = self.processes.values().any(|process| process.is_hidden);
        for process in self.processes.values_mut() {
            process.sockets = 0;
            for flow in &mut process.flows {
                flow.connections = Connections::default();
            }
        }
        let Self {
            sockets,
            processes,
            flows,
            most,
            readings,
            omissions,
            ..
        } = self;
        for socket in sockets.values_mut() {
            let Some((process, at)) = settle(socket, processes, (&mut *flows, *most), omissions)
            else {
                continue;
            };
            process.sockets += 1;
            if socket.seen == *readings && !socket.lacks_owner() {
                process.flows[at].connections.take(socket);
            }
        }
        if !hears_closed {
            let gone = |_: &u64, socket: &mut Socket| *readings - socket.seen >= MAX_ABSENCE;
            let gone: Vec<(u64, Socket)> = sockets.extract_if(.., gone).collect();
            for (_, socket) in gone {
                if socket.owner.is_some() {
                    self.conclude(socket);
                }
            }
        }
    }

    /// Removes a socket that was closed, and adds its last bytes to its flow or to the omissions.
    pub fn close(&mut self, closed: &TcpSocket) {
        let last = Traffic::of(closed);
        let Some(mut socket) = self.sockets.remove(&closed.cookie) else {
            self.omissions.count(last);
            return;
        };
        socket.now = socket.now.max(last);
        self.conclude(socket);
    }

    /// Adds the remaining growth of the open sockets to their flows or to the omissions. Call this
    /// method once, at the end.
    pub fn close_all(&mut self) {
        for socket in std::mem::take(&mut self.sockets).into_values() {
            if socket.owner.is_some() || socket.search.is_first() {
                self.conclude(socket);
            }
        }
    }

    /// Adds the remaining growth of a socket that was removed from the table to its flow, or to the
    /// omissions if it may belong to another process.
    fn conclude(&mut self, mut socket: Socket) {
        let is_of_others = socket.owner.is_none() && socket.outlived_search;
        if socket.owner.is_some() && !socket.is_handed_over() {
            socket.inode = 0;
            settle(
                &mut socket,
                &mut self.processes,
                (&mut self.flows, self.most),
                &mut self.omissions,
            );
        } else if !is_of_others || self.has_hidden {
            self.omissions.count(socket.now.since(socket.settled));
        }
    }

    /// Visits the processes whose traffic has grown since the last call or is hidden, and those
    /// without a sum: a process may send its first bytes just before it ends. The visitor gets the
    /// process and its growth, and sets the sum of the process if it knows it.
    pub fn drain_growth(&mut self, mut visit: impl FnMut(Key, &mut ProcessTraffic, Traffic)) {
        for (key, process) in &mut self.processes {
            let growth = std::mem::take(&mut process.growth);
            if growth != Traffic::default() || process.is_hidden || process.sum.is_none() {
                visit(*key, process, growth);
            }
        }
    }

    /// Forgets the processes that have ended and have no sockets in the table.
    pub fn forget_ended(&mut self, is_alive: impl Fn(Key) -> bool) {
        let flows = &mut self.flows;
        self.processes.retain(|key, process| {
            let is_kept = process.sockets > 0 || is_alive(*key);
            if !is_kept {
                *flows -= process.flows.len();
            }
            is_kept
        });
    }

    /// Returns the traffic of a process; `None` if no search has visited the process yet.
    pub fn of_process(&mut self, key: Key) -> Option<&mut ProcessTraffic> {
        self.processes.get_mut(&key)
    }

    /// The number of the flows of a process that have a row now.
    pub fn due_flows(&self, key: Key) -> usize {
        let process = self.processes.get(&key);
        process.map_or(0, |process| {
            process.flows.iter().filter(|flow| flow.is_due()).count()
        })
    }
}

impl Omissions {
    fn count(&mut self, traffic: Traffic) {
        if traffic.bytes() > 0 {
            self.unaccounted.add(traffic);
            self.unaccounted_sockets += 1;
        }
    }
}

/// Adds the growth of a socket to the flow of its owner, unless it may belong to another process.
/// Returns the owner, and the position of the flow; `None` if no process was found yet.
fn settle<'a>(
    socket: &mut Socket,
    processes: &'a mut BTreeMap<Key, ProcessTraffic>,
    (flows, most): (&mut usize, usize),
    omissions: &mut Omissions,
) -> Option<(&'a mut ProcessTraffic, usize)> {
    let mut owner = socket.owner?;
    let process = processes.entry(owner.key).or_default();
    // If the process was forgotten meanwhile, its flows were removed.
    let at = owner
        .flow
        .filter(|at| *at < process.flows.len())
        .unwrap_or_else(|| {
            let at = process.find(socket.peer, flows, most);
            omissions.other_peers += u64::from(process.flows[at].peer == Peer::Other);
            at
        });
    owner.flow = Some(at);
    socket.owner = Some(owner);
    if socket.grows_for(&owner) {
        let growth = socket.now.since(socket.settled);
        socket.settled = socket.now;
        process.growth.add(growth);
        process.flows[at].traffic.add(growth);
    }
    Some((process, at))
}

fn peer_of(socket: &TcpSocket) -> Peer {
    if socket.destination.is_loopback() || socket.destination == socket.source {
        Peer::Pod
    } else {
        Peer::Address(socket.destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::sock_diag::tcp_info::TcpInfo;

    const MAX: usize = 100;

    /// A socket whose cookie and inode are `number`, with this many bytes sent.
    fn socket(number: u32, destination: &str, sent: u64) -> TcpSocket {
        TcpSocket {
            cookie: number.into(),
            inode: number,
            source: [10, 0, 0, 1].into(),
            destination: destination.parse().unwrap(),
            receive_queue: 1,
            send_queue: 2,
            info: TcpInfo {
                rtt: 100,
                retransmitted: 0,
                sent,
                received: 0,
            },
        }
    }

    /// The sockets with these numbers, as open files of a process.
    fn open(numbers: &[u32]) -> Vec<OpenSocket> {
        let file = |number: &u32| OpenSocket {
            file: i32::try_from(*number).unwrap(),
            inode: *number,
        };
        numbers.iter().map(file).collect()
    }

    /// Reads the sockets, and then looks at the open files of the processes and settles.
    fn read_of(table: &mut TrafficTable, sockets: &[TcpSocket], files: &[(Key, &[u32])]) {
        table.begin_reading(MAX);
        for socket in sockets {
            table.take(socket, 0.0, 0);
        }
        for check in table.due_checks() {
            if files
                .iter()
                .any(|(key, open)| *key == check.key && open.contains(&check.inode))
            {
                table.confirm(&check);
            } else {
                table.release(&check, 0.0, 0);
            }
        }
        for (key, numbers) in files {
            table.assign(*key, &open(numbers));
        }
        table.settle(false);
    }

    /// Reads the sockets, which all belong to process 1, and settles.
    fn read(table: &mut TrafficTable, sockets: &[TcpSocket]) {
        let inodes: Vec<u32> = sockets.iter().map(|socket| socket.inode).collect();
        read_of(table, sockets, &[(1, &inodes)]);
    }

    /// Returns the bytes that each process has sent since the last call. Sets the sum of each
    /// process.
    fn growth(table: &mut TrafficTable) -> Vec<(Key, u64)> {
        let mut all = Vec::new();
        table.drain_growth(|key, process, traffic| {
            process.sum = Some(0);
            all.push((key, traffic.sent));
        });
        all
    }

    fn printed(table: &mut TrafficTable, key: Key) -> Vec<(String, u64, u64)> {
        let process = table.of_process(key).unwrap();
        process
            .take_flows_to_print()
            .map(|flow| {
                let sockets = flow.connections.sockets;
                (flow.peer.to_string(), sockets, flow.traffic.sent)
            })
            .collect()
    }

    fn row(peer: &str, sockets: u64, sent: u64) -> (String, u64, u64) {
        (peer.to_owned(), sockets, sent)
    }

    #[test]
    fn the_sockets_of_a_peer_are_summed() {
        let mut table = TrafficTable::default();
        let sockets = [
            socket(1, "10.0.0.2", 10),
            socket(2, "10.0.0.2", 20),
            socket(3, "10.0.0.1", 5),
            socket(4, "127.0.0.1", 6),
        ];
        read(&mut table, &sockets);
        let expected = [row("10.0.0.2", 2, 30), row("pod", 2, 11)];
        assert_eq!(printed(&mut table, 1), expected);
        assert_eq!(growth(&mut table), [(1, 41)]);
        assert_eq!(growth(&mut table), []);
    }

    #[test]
    fn a_closed_socket_counts_with_its_last_bytes_and_without_connections() {
        let mut table = TrafficTable::default();
        read(&mut table, &[socket(1, "10.0.0.2", 10)]);
        // The process has closed the socket, but the kernel still sends its bytes.
        let closing = TcpSocket {
            inode: 0,
            ..socket(1, "10.0.0.2", 15)
        };
        read(&mut table, &[closing]);
        assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 0, 15)]);
        table.close(&socket(1, "10.0.0.2", 19));
        read(&mut table, &[]);
        assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 0, 19)]);
        assert_eq!(printed(&mut table, 1), [], "nothing has changed");
        assert_eq!(table.omissions, Omissions::default());
    }

    #[test]
    fn a_socket_that_one_reading_misses_is_not_counted_twice() {
        let mut table = TrafficTable::default();
        read(&mut table, &[socket(1, "10.0.0.2", 10)]);
        read(&mut table, &[]);
        read(&mut table, &[socket(1, "10.0.0.2", 11)]);
        assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 1, 11)]);
        read(&mut table, &[]);
        read(&mut table, &[]);
        assert!(table.sockets.is_empty());
    }

    /// A reset, or the ends of both directions, close a connection before its process closes the
    /// socket.
    #[test]
    fn an_open_socket_without_a_connection_is_kept_until_it_is_closed() {
        let mut table = TrafficTable::default();
        read(&mut table, &[socket(1, "10.0.0.2", 10)]);
        for _ in 0..5 {
            table.begin_reading(MAX);
            table.settle(true);
        }
        table.close(&socket(1, "10.0.0.2", 12));
        assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 0, 12)]);
        assert_eq!(table.omissions, Omissions::default());
        assert!(table.sockets.is_empty());
    }

    #[test]
    fn absent_sockets_are_replaced_if_there_is_no_room() {
        let mut table = TrafficTable::default();
        let take = |table: &mut TrafficTable, numbers: &[u32]| {
            table.begin_reading(3);
            for number in numbers {
                table.take(&socket(*number, "10.0.0.2", 10), 0.0, 0);
            }
            table.settle(true);
            let known: Vec<u64> = table.sockets.keys().copied().collect();
            (known, table.omissions.sockets)
        };
        assert_eq!(take(&mut table, &[1, 2]), (vec![1, 2], 0));
        assert_eq!(take(&mut table, &[2, 3]), (vec![1, 2, 3], 0));
        assert_eq!(take(&mut table, &[3, 4]), (vec![2, 3, 4], 0));
        assert_eq!(take(&mut table, &[4, 5, 6]), (vec![3, 4, 5], 1));
    }

    #[test]
    fn sockets_that_are_closed_before_their_process_is_found_are_unaccounted() {
        let mut table = TrafficTable::default();
        table.begin_reading(MAX);
        table.take(&socket(1, "10.0.0.2", 10), 0.0, 0);
        table.take(&socket(2, "10.0.0.2", 10), 0.0, 0);
        table.settle(false);
        table.close(&socket(1, "10.0.0.2", 12));
        table.close(&socket(3, "10.0.0.2", 5));
        table.close(&socket(4, "10.0.0.2", 0));
        assert_eq!(table.omissions.unaccounted.sent, 17);
        assert_eq!(table.omissions.unaccounted_sockets, 2);
        // Socket 2 is open after a complete round: it belongs to a process that is not observed.
        table.end_round(1, 0.0);
        table.begin_reading(MAX);
        table.take(&socket(2, "10.0.0.2", 10), 0.0, 0);
        table.close(&socket(2, "10.0.0.2", 99));
        assert_eq!(table.omissions.unaccounted.sent, 17);
    }

    #[test]
    fn a_closed_socket_without_a_process_may_belong_to_a_hidden_one() {
        let mut table = TrafficTable::default();
        table.begin_reading(MAX);
        table.take(&socket(1, "10.0.0.2", 10), 0.0, 0);
        table.take(&socket(2, "10.0.0.2", 20), 0.0, 0);
        table.hide(7);
        table.end_round(1, 0.0);
        table.settle(false);
        table.drain_growth(|key, process, _| {
            assert_eq!((key, process.is_hidden), (7, true));
            process.sum = Some(0);
        });
        let mut visits = 0;
        table.drain_growth(|_, _, _| visits += 1);
        assert_eq!(visits, 1, "a hidden process is visited each time");
        table.close(&socket(1, "10.0.0.2", 12));
        assert_eq!(table.omissions.unaccounted.sent, 12);
        // The process can be read, and the other socket is not among its files.
        table.begin_reading(MAX);
        table.take(&socket(2, "10.0.0.2", 20), 0.0, 0);
        table.assign(7, &[]);
        table.settle(false);
        table.close(&socket(2, "10.0.0.2", 20));
        assert_eq!(table.omissions.unaccounted.sent, 12);
    }

    #[test]
    fn open_sockets_that_were_not_looked_for_are_unaccounted() {
        let mut table = TrafficTable::default();
        read(&mut table, &[socket(1, "10.0.0.2", 10)]);
        table.begin_reading(MAX);
        table.take(&socket(2, "10.0.0.2", 20), 0.0, 0);
        table.settle(false);
        table.close_all();
        assert_eq!(table.omissions.unaccounted.sent, 20);
    }

    #[test]
    fn a_process_has_a_sum_before_its_first_bytes() {
        let mut table = TrafficTable::default();
        read(&mut table, &[socket(1, "10.0.0.2", 0)]);
        assert_eq!(growth(&mut table), [(1, 0)]);
        assert_eq!(growth(&mut table), []);
        table.close(&socket(1, "10.0.0.2", 7));
        assert_eq!(growth(&mut table), [(1, 7)]);
    }

    #[test]
    fn a_socket_counts_for_the_process_that_has_it() {
        let mut table = TrafficTable::default();
        let socket = |sent| socket(1, "10.0.0.2", sent);
        read_of(&mut table, &[socket(10)], &[(1, &[1])]);
        read_of(&mut table, &[socket(15)], &[(1, &[]), (2, &[1])]);
        assert_eq!(growth(&mut table), [(1, 10), (2, 5)]);
        assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 0, 10)]);
        assert_eq!(printed(&mut table, 2), [row("10.0.0.2", 1, 5)]);
        table.close(&socket(19));
        assert_eq!(growth(&mut table), [(2, 4)]);
        assert_eq!(table.omissions, Omissions::default());
        table.forget_ended(|key| key != 1);
        assert!(table.of_process(1).is_none());
        assert_eq!((table.flows, table.due_flows(2)), (1, 1));
    }

    #[test]
    fn the_growth_of_a_socket_waits_for_its_next_process() {
        let mut table = TrafficTable::default();
        let socket = |sent| socket(1, "10.0.0.2", sent);
        read_of(&mut table, &[socket(10)], &[(1, &[1])]);
        assert_eq!(growth(&mut table), [(1, 10)]);
        for sent in [12, 15] {
            read_of(&mut table, &[socket(sent)], &[(1, &[])]);
            assert_eq!(growth(&mut table), []);
        }
        table.forget_ended(|_| false);
        assert!(table.of_process(1).is_some(), "the last process is kept");
        read_of(&mut table, &[socket(16)], &[(2, &[1])]);
        assert_eq!(growth(&mut table), [(2, 6)]);
        assert_eq!(table.omissions, Omissions::default());
    }

    #[test]
    fn the_growth_of_a_socket_without_a_next_process_is_unaccounted() {
        for is_closed in [true, false] {
            let mut table = TrafficTable::default();
            let socket = |sent| socket(1, "10.0.0.2", sent);
            read_of(&mut table, &[socket(10)], &[(1, &[1])]);
            for sent in [12, 15] {
                read_of(&mut table, &[socket(sent)], &[(1, &[])]);
            }
            if is_closed {
                table.close(&socket(19));
                assert_eq!(table.omissions.unaccounted.sent, 9);
            } else {
                table.close_all();
                assert_eq!(table.omissions.unaccounted.sent, 5);
            }
            assert_eq!(table.omissions.unaccounted_sockets, 1);
            assert_eq!(growth(&mut table), [(1, 10)]);
        }
    }

    #[test]
    fn a_process_that_closes_a_socket_just_after_a_reading_has_its_last_bytes() {
        let mut table = TrafficTable::default();
        let socket = |sent| socket(1, "10.0.0.2", sent);
        read_of(&mut table, &[socket(10)], &[(1, &[1])]);
        read_of(&mut table, &[socket(12)], &[(1, &[])]);
        table.close(&socket(15));
        assert_eq!(growth(&mut table), [(1, 15)]);
        assert_eq!(table.omissions, Omissions::default());
    }

    #[test]
    fn the_growth_of_sockets_that_were_not_checked_waits() {
        let mut table = TrafficTable::default();
        let sockets = |sent| [socket(1, "10.0.0.2", sent), socket(2, "10.0.0.2", 1)];
        read(&mut table, &sockets(10));
        assert_eq!(growth(&mut table), [(1, 11)]);
        for sent in [12, 15] {
            table.begin_reading(MAX);
            for socket in sockets(sent) {
                table.take(&socket, 0.0, 0);
            }
            let inodes: Vec<u32> = table.due_checks().iter().map(|due| due.inode).collect();
            assert_eq!(inodes, [1, 2], "a socket that has grown is checked first");
            table.settle(false);
            assert_eq!(growth(&mut table), []);
            assert_eq!(printed(&mut table, 1), [row("10.0.0.2", 2, 11)]);
        }
        table.close_all();
        assert_eq!(growth(&mut table), [(1, 5)]);
        assert_eq!(table.omissions, Omissions::default());
    }

    #[test]
    fn a_process_may_have_a_socket_under_another_number() {
        let mut table = TrafficTable::default();
        let sockets: Vec<TcpSocket> = (1..=40)
            .map(|number| socket(number, &format!("10.0.1.{number}"), 1))
            .collect();
        read(&mut table, &sockets);
        let others = table.omissions.other_peers;
        table.begin_reading(MAX);
        table.take(&socket(40, "10.0.1.40", 5), 0.0, 0);
        let check = table.due_checks()[0];
        table.release(&check, 0.0, 0);
        table.assign(1, &open(&[40]));
        table.settle(false);
        assert_eq!(growth(&mut table), [(1, 44)]);
        assert_eq!(table.omissions.other_peers, others, "counted once");
    }

    #[test]
    fn the_process_of_a_socket_is_looked_for_less_and_less_often() {
        let mut table = TrafficTable::default();
        let mut searches = Vec::new();
        for now in 0..60 {
            table.begin_reading(MAX);
            table.take(
                &socket(1, "10.0.0.2", 10),
                f64::from(now),
                searches.len() as u64,
            );
            if table.has_wanted() {
                searches.push(now);
                table.end_round(searches.len() as u64, f64::from(now));
            }
        }
        assert_eq!(searches, [0, 5, 15, 35]);
    }

    #[test]
    fn a_socket_that_its_process_closes_during_the_search_is_unaccounted() {
        let socket = |sent| socket(1, "10.0.0.2", sent);
        for (readings, expected) in [(1, 12), (2, 0)] {
            let mut table = TrafficTable::default();
            for round in 1..=readings {
                table.begin_reading(MAX);
                table.take(&socket(10), 0.0, 0);
                table.end_round(round, 0.0);
            }
            table.close(&socket(12));
            assert_eq!(table.omissions.unaccounted.sent, expected);
        }
    }

    #[test]
    fn a_round_that_began_before_a_socket_was_found_does_not_delay_its_search() {
        let mut table = TrafficTable::default();
        table.begin_reading(MAX);
        table.take(&socket(1, "10.0.0.2", 10), 0.0, 7);
        table.end_round(7, 0.0);
        table.begin_reading(MAX);
        table.take(&socket(1, "10.0.0.2", 10), 1.0, 7);
        assert!(table.has_wanted());
    }

    #[test]
    fn the_peers_of_a_process_are_limited() {
        let mut table = TrafficTable::default();
        let sockets: Vec<TcpSocket> = (1..=40)
            .map(|number| socket(number, &format!("10.0.1.{number}"), 1))
            .collect();
        read(&mut table, &sockets);
        let rows = printed(&mut table, 1);
        assert_eq!(rows.len(), MAX_PEERS + 1);
        assert_eq!(rows[MAX_PEERS], row("other", 8, 8));
        assert_eq!(table.omissions.other_peers, 8);
    }

    #[test]
    fn the_sockets_of_the_table_are_limited() {
        let mut table = TrafficTable::default();
        table.begin_reading(MAX);
        for number in 1..=u32::try_from(MAX).unwrap() + 3 {
            table.take(&socket(number, "10.0.0.2", 1), 0.0, 0);
        }
        assert_eq!(table.omissions.sockets, 3);
    }

    #[test]
    fn a_new_socket_replaces_one_of_no_observed_process() {
        let mut table = TrafficTable::default();
        let mut take = |number| {
            table.begin_reading(2);
            table.take(&socket(number, "10.0.0.2", 1), 0.0, 0);
            table.assign(1, &open(if number == 2 { &[2] } else { &[] }));
            table.end_round(1, 0.0);
            table.settle(true);
            table.sockets.keys().copied().collect::<Vec<_>>()
        };
        assert_eq!(take(1), [1]);
        assert_eq!(take(2), [1, 2]);
        assert_eq!(take(3), [2, 3]);
        assert_eq!(take(4), [2, 4]);
    }

    #[test]
    fn a_socket_that_connects_again_is_counted_from_zero() {
        let mut table = TrafficTable::default();
        let received = |destination, sent, received| {
            let mut found = socket(1, destination, sent);
            found.info.received = received;
            found
        };
        read(&mut table, &[received("10.0.0.2", 100, 50)]);
        read(&mut table, &[received("10.0.0.3", 30, 60)]);
        read(&mut table, &[received("10.0.0.3", 20, 10)]);
        let expected = [row("10.0.0.2", 0, 100), row("10.0.0.3", 1, 50)];
        assert_eq!(printed(&mut table, 1), expected);
    }

    #[test]
    fn own_addresses_are_the_pod() {
        let mut table = TrafficTable::default();
        table.begin_reading(MAX);
        table.take(&socket(1, "10.0.9.1", 1), 0.0, 0);
        assert!(table.has_new_peers());
        table.mark_own(&BTreeSet::from([[10, 0, 9, 1].into()]));
        assert!(!table.has_new_peers());
        table.assign(1, &open(&[1]));
        table.settle(false);
        assert_eq!(printed(&mut table, 1), [row("pod", 1, 1)]);
    }

    #[test]
    fn the_mean_round_trip_time_is_weighted_by_the_bytes_sent() {
        let mut connections = Connections::default();
        assert_eq!(connections.rtt(), None);
        for (rtt, sent, expected) in [(0, 5, None), (300, 0, Some(300)), (100, 0, Some(200))] {
            connections.take(&with_rtt(rtt, sent));
            assert_eq!(connections.rtt(), expected);
        }
        connections.take(&with_rtt(1000, 1));
        connections.take(&with_rtt(200, 3));
        assert_eq!(connections.rtt(), Some(400));
    }

    fn with_rtt(rtt: u32, sent: u64) -> Socket {
        Socket {
            inode: 1,
            destination: [127, 0, 0, 1].into(),
            peer: Peer::Pod,
            send_queue: 0,
            receive_queue: 0,
            rtt,
            now: Traffic {
                sent,
                ..Traffic::default()
            },
            settled: Traffic::default(),
            seen: 0,
            owner: None,
            search: Search::default(),
            outlived_search: false,
        }
    }
}
