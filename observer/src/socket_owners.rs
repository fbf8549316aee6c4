//! Looks for the processes of sockets: a process has a socket open if one of the links in its
//! directory `fd` has the socket's inode.
//!
//! A process may have very many links. The links are therefore read only if there are sockets whose
//! process is unknown, and within a limit of processor time. After the limit is reached, the search
//! continues at the next scan. The counters of a socket do not depend on when its process is found.

use crate::clock;
use crate::cost_limit::CostLimit;
use crate::measure::is_denial;
use crate::notices::Notices;
use crate::process::Key;
use crate::process_table::ProcessTable;
use crate::session::Session;
use crate::traffic::TrafficTable;

/// The number of links that are read at once.
const LINKS_AT_ONCE: usize = 1024;

/// The search for the processes of sockets. A round of the search visits all observed processes.
#[derive(Debug)]
pub struct OwnerSearch {
    /// The number of the last round that has begun.
    round: u64,
    /// Where an interrupted round continues: the process, and the number of the open file.
    position: Option<(Key, i32)>,
    cost: CostLimit,
}

impl OwnerSearch {
    /// Creates the search of a run that began at the time `began`, in seconds since boot.
    #[must_use]
    pub fn new(began: f64) -> Self {
        Self {
            round: 0,
            position: None,
            cost: CostLimit::new(began),
        }
    }

    /// Returns the number of the last round that has begun.
    #[must_use]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Looks at the observed processes, in the order in which they were found, until the round is
    /// complete, the process of each wanted socket is found, the processor time is used up, or a
    /// signal arrives.
    pub fn run(
        &mut self,
        table: &mut TrafficTable,
        processes: &mut ProcessTable,
        notices: &mut Notices,
        session: &mut Session,
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
                if !self.cost.allows_more(now) || !session.poll() {
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
        table.end_round(self.round, now);
    }
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
            table.assign(key, &found.inodes);
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
