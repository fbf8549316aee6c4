//! Looks for the processes of sockets: a process has a socket open if one of the links in its
//! directory `fd` has the socket's inode.
//!
//! A process may have very many links. The links are therefore read only if there are sockets whose
//! process is unknown, and within a limit of processor time. After the limit is reached, the search
//! continues at the next scan. The counters of a socket do not depend on when its process is found.
//!
//! A process can close a socket that another process also has, or hand it to another process: a
//! child inherits it, or a process receives it in a message (`SCM_RIGHTS`). After each reading of
//! the counters, the link of each socket is therefore read again, also within a limit of processor
//! time.

use linux::clock;

use crate::metrics::network::traffic_table::{Check, TrafficTable};
use crate::runtime::cost_limit::CostLimit;
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::sampling::measure::is_denial;
use crate::sampling::process::Key;
use crate::sampling::process_table::ProcessTable;

/// The number of links that are read at once.
const LINKS_AT_ONCE: usize = 1024;
/// The number of sockets that are checked at once.
const CHECKS_AT_ONCE: usize = 64;

/// The search for the processes of sockets. A round of the search visits all observed processes.
#[derive(Debug)]
pub struct OwnerSearch {
    /// The number of the last round that has begun.
    round: u64,
    /// Where an interrupted round continues: the process, and the number of the open file.
    position: Option<(Key, i32)>,
    cost: CostLimit,
    cost_of_checks: CostLimit,
}

impl OwnerSearch {
    /// Creates the search of a run that began at the time `began`, in seconds since boot.
    pub fn new(began: f64) -> Self {
        Self {
            round: 0,
            position: None,
            cost: CostLimit::new(began),
            cost_of_checks: CostLimit::new(began),
        }
    }

    /// Returns the number of the last round that has begun.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Checks whether the processes of the sockets still have them open. The sockets whose check is
    /// due first come first, until the processor time is used up, or as [`OwnerSearch::run`].
    pub fn check(
        &mut self,
        table: &mut TrafficTable,
        processes: &mut ProcessTable,
        session: &mut Session,
        deadline: Option<f64>,
    ) {
        let now = processes.now;
        for checks in table.due_checks().chunks(CHECKS_AT_ONCE) {
            if !self.cost_of_checks.allows_more(now) || !may_continue(session, deadline) {
                return;
            }
            let cpu = clock::own_cpu();
            for check in checks {
                if has_open(check, processes) {
                    table.confirm(check);
                } else {
                    table.release(check, now, self.round);
                }
            }
            self.cost_of_checks.count(clock::own_cpu() - cpu);
        }
    }

    /// Looks at the observed processes, in the order in which they were found, until the round is
    /// complete, the process of each wanted socket is found, or the processor time is used up. The
    /// search also ends at the time `deadline`, or without one when a signal arrives.
    pub fn run(
        &mut self,
        table: &mut TrafficTable,
        processes: &mut ProcessTable,
        notices: &mut Notices,
        session: &mut Session,
        deadline: Option<f64>,
    ) {
        if !table.has_wanted() {
            return;
        }
        let now = processes.now;
        let mut keys = processes.observed.clone();
        keys.sort_unstable();
        let (first, mut file) = self.position.take().unwrap_or_else(|| {
            self.round += 1;
            (0, 0)
        });
        for key in keys.into_iter().filter(|key| *key >= first) {
            let mut next = Some(if key == first { file } else { 0 });
            while let Some(from) = next {
                if !self.cost.allows_more(now) || !may_continue(session, deadline) {
                    self.position = Some((key, from));
                    return;
                }
                let cpu = clock::own_cpu();
                next = look(key, from, table, processes, notices, session);
                self.cost.count(clock::own_cpu() - cpu);
                if !table.has_wanted() {
                    return;
                }
            }
            file = 0;
        }
        // The list of processes is of the last scan. The process of a socket may be newer if the
        // sockets are read after that scan, at the end of the run.
        if deadline.is_none() {
            table.end_round(self.round, now);
        }
    }
}

fn may_continue(session: &mut Session, deadline: Option<f64>) -> bool {
    deadline.map_or_else(|| session.poll(), |end| clock::since_boot() < end)
}

/// Whether a process still has a socket open under the same number. If the kernel denies the read,
/// the process counts as having it.
fn has_open(check: &Check, processes: &mut ProcessTable) -> bool {
    let ProcessTable { meter, all, .. } = processes;
    let process = all.get_mut(&check.key);
    let Some(process) = process.filter(|process| !process.is_zombie) else {
        return false;
    };
    let pid = process.file_id;
    let Some(measured) = process.measured.as_mut() else {
        return true;
    };
    let identity = measured.identity;
    let (found, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
        meter.files.read_socket(pid, check.file)
    });
    found.map_or(true, |inode| inode == Some(check.inode))
}

/// Looks at some of the open files of a process. Returns the number of the file at which the next
/// look continues, if there are more.
fn look(
    key: Key,
    from: i32,
    table: &mut TrafficTable,
    processes: &mut ProcessTable,
    notices: &mut Notices,
    session: &mut Session,
) -> Option<i32> {
    let ProcessTable { meter, all, .. } = processes;
    let process = all.get_mut(&key).filter(|process| !process.is_zombie)?;
    let pid = process.file_id;
    let measured = process.measured.as_mut()?;
    meter.read_status(pid, measured)?;
    let identity = measured.identity;
    let (found, guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
        meter.files.list_sockets(pid, from, LINKS_AT_ONCE)
    });
    drop(guard);
    match found {
        Ok(found) => {
            table.assign(key, &found.sockets);
            found.next
        }
        Err(error) => {
            // The open files of a process that is ending belong to root.
            if is_denial(error) && meter.has_memory(pid) {
                table.hide(key);
                let reason = error.desc();
                let reason = format!("the sockets of a process cannot be read: {reason}");
                notices.report(reason, &mut session.log);
            }
            None
        }
    }
}
