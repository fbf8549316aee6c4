//! The sums of the summary, by container and program. The sums include every observed process, even
//! if it has no row in any timepoint.

use std::collections::BTreeMap;

use crate::sampling::account::{Account, Credit};
use crate::sampling::containers::ContainerId;
use crate::sampling::process::{Measured, Process};
use crate::sampling::traffic::Traffic;

/// The maximum number of programs with their own sums. All later programs of a container share one
/// sum, because a pod can create any number of names.
const MAX_PROGRAMS: usize = 2048;
/// The name of the shared sum of later programs.
const OTHERS: &str = "(other programs)";

/// The resource use of all processes of a program in a container.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// The container.
    pub container: ContainerId,
    /// The program.
    pub program: String,
    /// The number of processes that ran the program.
    pub processes: u64,
    /// The largest resident size, in KiB.
    pub peak: u64,
    /// Ticks of processor time.
    pub cpu: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Context switches.
    pub switches: u64,
    /// Nanoseconds on run queues.
    pub wait: u64,
    /// The traffic of the TCP sockets of these processes.
    pub traffic: Traffic,
    /// Whether the traffic of some of its processes is unknown.
    pub hides_traffic: bool,
    /// Whether some bytes are unknown, and can no longer become known.
    pub is_hidden: bool,
    /// Whether some context switches and run-queue times are unknown.
    pub has_too_many_threads: bool,
    /// The resource use of children that the sums of their own programs do not include.
    pub unaccounted: Unaccounted,
    /// The number of the program's processes whose bytes cannot be read now.
    hiding: u64,
}

/// The resource use of children that the sums of their own programs do not include, and for which
/// their parents have waited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unaccounted {
    /// Ticks of processor time.
    pub cpu: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// The sums of all programs.
#[derive(Default)]
pub struct Sums {
    list: Vec<Sum>,
    known: BTreeMap<(ContainerId, String), usize>,
}

impl Sums {
    /// The sums, in the order in which they were created.
    pub fn list(&self) -> &[Sum] {
        &self.list
    }

    /// Adds to the sum of a process's program the resource use of the process since the previous
    /// call. Call this method before the process executes another program, and when the process has
    /// ended.
    pub fn account(&mut self, process: &mut Process) {
        // If the process was observed earlier, its use was added before it executed this program.
        if !process.is_observed {
            return;
        }
        let (Some(container), Some(program)) = (process.container, &process.program) else {
            return;
        };
        let at = self.find(container, program);
        let Some(measured) = &mut process.measured else {
            return;
        };
        let sum = &mut self.list[at];
        begin(&mut measured.account, at, sum);
        add(measured, sum);
    }

    /// Adds the remaining resource use of a process, and the unaccounted use of its children. Call
    /// this method when the process has ended, or when the observer ends.
    pub fn close(&mut self, process: &mut Process) {
        self.account(process);
        let Some(measured) = &process.measured else {
            return;
        };
        let Some(sum) = measured.account.sum.and_then(|at| self.list.get_mut(at)) else {
            return;
        };
        // The kernel adds the use of a child to the parent's counters of children only when the
        // parent waits for the child.
        let mut credit = process.credit.unwrap_or_default();
        credit.add(measured.late_credit.at_most(measured.new_children()));
        let rest = measured.children().without(credit);
        sum.unaccounted.cpu += rest.cpu;
        sum.unaccounted.read += rest.read;
        sum.unaccounted.written += rest.written;
    }

    /// Adds traffic to a sum, whose position [`Sums::find`] has returned. With `is_hidden`, the
    /// traffic of the process is unknown, and so is that of its program from then on.
    pub fn add_traffic(&mut self, at: usize, growth: Traffic, is_hidden: bool) {
        if let Some(sum) = self.list.get_mut(at) {
            sum.traffic.add(growth);
            sum.hides_traffic |= is_hidden;
        }
    }

    /// Adds processor time of a container that no process accounts for, in ticks, to the program
    /// that was found first in the container.
    pub fn add_unaccounted_cpu(&mut self, container: ContainerId, ticks: u64) {
        let mut own = self.list.iter_mut();
        if let Some(sum) = own.find(|sum| sum.container == container) {
            sum.unaccounted.cpu = sum.unaccounted.cpu.saturating_add(ticks);
        }
    }

    /// Returns the position of the sum of a program in the list. A new program gets a sum.
    pub fn find(&mut self, container: ContainerId, program: &str) -> usize {
        let is_log_full = self.list.len() >= MAX_PROGRAMS;
        let key = (container, program.to_owned());
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let key = if is_log_full {
            (container, OTHERS.to_owned())
        } else {
            key
        };
        *self
            .known
            .entry(key)
            .or_insert_with_key(|(container, program)| {
                self.list.push(Sum {
                    container: *container,
                    program: program.clone(),
                    ..Sum::default()
                });
                self.list.len() - 1
            })
    }
}

/// Moves the account of a process to the program that the process runs now. If the bytes of the
/// previous program are hidden, the bytes of the new program are also unknown, because the kernel
/// reports only the total of the process.
fn begin(account: &mut Account, at: usize, sum: &mut Sum) {
    if account.sum == Some(at) {
        return;
    }
    account.sum = Some(at);
    sum.processes += 1;
    sum.is_hidden |= account.is_hidden;
    account.is_hidden = false;
}

fn add(measured: &mut Measured, sum: &mut Sum) {
    let Measured { account, now, .. } = measured;
    match (account.is_hidden, measured.is_hidden) {
        (false, true) => sum.hiding += 1,
        (true, false) => sum.hiding = sum.hiding.saturating_sub(1),
        _ => {}
    }
    account.is_hidden = measured.is_hidden;
    add_growth(&mut sum.cpu, &mut account.cpu, now.stat.cpu());
    if let Some(io) = now.io {
        add_growth(&mut sum.read, &mut account.read, io.read);
        add_growth(&mut sum.written, &mut account.written, io.written);
    }
    if let Some(switches) = now.switches {
        let count = switches.voluntary.saturating_add(switches.involuntary);
        add_growth(&mut sum.switches, &mut account.switches, count);
        add_growth(&mut sum.wait, &mut account.wait, switches.wait.unwrap_or(0));
    }
    sum.has_too_many_threads |= measured.has_too_many_threads;
    sum.peak = sum.peak.max(measured.peak);
}

fn add_growth(sum: &mut u64, before: &mut u64, now: u64) {
    *sum += now.saturating_sub(*before);
    *before = now.max(*before);
}

impl Sum {
    /// Whether the number of bytes is unknown.
    pub fn hides_bytes(&self) -> bool {
        self.is_hidden || self.hiding > 0
    }

    /// Adds another sum, without its number of processes. The peak becomes the larger of the two
    /// peaks.
    pub fn add(&mut self, other: &Self) {
        self.peak = self.peak.max(other.peak);
        self.cpu += other.cpu;
        self.read += other.read;
        self.written += other.written;
        self.switches += other.switches;
        self.wait += other.wait;
        self.traffic.add(other.traffic);
        self.hides_traffic |= other.hides_traffic;
        self.is_hidden |= other.hides_bytes();
        self.has_too_many_threads |= other.has_too_many_threads;
        self.unaccounted.cpu += other.unaccounted.cpu;
        self.unaccounted.read += other.unaccounted.read;
        self.unaccounted.written += other.unaccounted.written;
    }
}

/// Returns the ticks of processor time that [`Sums::close`] would add to the sums if the process
/// ended now.
pub fn pending_cpu(process: &Process) -> u64 {
    let Some(measured) = &process.measured else {
        return 0;
    };
    let credit = process.credit.unwrap_or_default();
    let stat = &measured.now.stat;
    let own = stat.cpu().saturating_sub(measured.account.cpu);
    own + stat.children_cpu().saturating_sub(credit.cpu)
}

/// Returns the credit that an ended process gives to its parent: the use of the process and of its
/// own children. The parent's counters of children include this use after the parent has waited for
/// the process.
pub fn credit_from(process: &Process) -> Credit {
    let own = process.credit.unwrap_or_default();
    let Some(measured) = &process.measured else {
        return own;
    };
    let now = &measured.now;
    let io = now.io.unwrap_or_default();
    // The credit that the process has from its own children may exceed its counters of children,
    // which are out of date if they could not be read, or if the process was no longer observed.
    Credit {
        cpu: now
            .stat
            .cpu()
            .saturating_add(own.cpu.max(now.stat.children_cpu())),
        read: (io.read + own.read).max(measured.io_with_children.read),
        written: (io.written + own.written).max(measured.io_with_children.written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::counters::Counters;
    use linux::proc::io::Io;
    use linux::proc::stat::StatCounters;

    fn process(program: &str, cpu: u64, io: Option<Io>) -> Process {
        let now = Counters {
            stat: StatCounters {
                utime: cpu,
                ..StatCounters::default()
            },
            io,
            ..Counters::default()
        };
        let measured = Measured {
            now,
            is_hidden: io.is_none(),
            ..Measured::default()
        };
        Process {
            program: Some(program.to_owned()),
            container: Some(0),
            is_observed: true,
            measured: Some(Box::new(measured)),
            ..Process::default()
        }
    }

    #[test]
    fn a_process_counts_for_each_program_that_it_ran() {
        let mut sums = Sums::default();
        let mut one = process("sh", 5, Some(Io::default()));
        sums.account(&mut one);
        sums.account(&mut one);
        one.program = Some("lmp".to_owned());
        one.measured.as_mut().unwrap().now.stat.utime = 12;
        sums.account(&mut one);
        let found: Vec<_> = sums
            .list()
            .iter()
            .map(|sum| (sum.program.as_str(), sum.processes, sum.cpu))
            .collect();
        assert_eq!(found, [("sh", 1, 5), ("lmp", 1, 7)]);
    }

    #[test]
    fn bytes_that_were_hidden_and_can_be_read_again_are_known() {
        let mut sums = Sums::default();
        let mut one = process("a", 0, None);
        sums.account(&mut one);
        assert!(sums.list()[0].hides_bytes());
        let measured = one.measured.as_mut().unwrap();
        measured.is_hidden = false;
        measured.now.io = Some(Io {
            read: 1,
            written: 2,
            cancelled: 0,
        });
        sums.account(&mut one);
        assert!(!sums.list()[0].hides_bytes());
        assert_eq!((sums.list()[0].read, sums.list()[0].written), (1, 2));
    }

    #[test]
    fn bytes_are_unknown_after_a_program_that_hid_its_bytes() {
        let mut sums = Sums::default();
        let mut one = process("a", 0, None);
        sums.account(&mut one);
        one.program = Some("b".to_owned());
        let measured = one.measured.as_mut().unwrap();
        measured.is_hidden = false;
        measured.now.io = Some(Io::default());
        sums.account(&mut one);
        assert!(sums.list()[1].hides_bytes());
    }

    #[test]
    fn later_programs_share_one_sum() {
        let mut sums = Sums::default();
        for number in 0..3000 {
            sums.account(&mut process(&number.to_string(), 1, None));
        }
        assert_eq!(sums.list().len(), MAX_PROGRAMS + 1);
        let others = &sums.list()[MAX_PROGRAMS];
        assert_eq!(
            (others.program.as_str(), others.cpu),
            (OTHERS, 3000 - MAX_PROGRAMS as u64)
        );
    }
}
