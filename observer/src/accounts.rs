//! The sums of the summary, by container and program, of every process that was seen, also of those
//! of which no timepoint is printed.

use std::collections::BTreeMap;

use crate::places::Place;
use crate::process::{Measured, Process};

/// The programs that have sums of their own. Those that come later, of a pod that makes up ever new
/// names, are summed together.
const MOST_PROGRAMS: usize = 2048;
/// What the others are called together.
const OTHERS: &str = "(other programs)";

/// The part of a process's counters that is in the sums already, in the counters' units.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    sum: Option<usize>,
    is_hidden: bool,
    cpu: u64,
    read: u64,
    written: u64,
    switches: u64,
}

/// What children that have ended were seen to use: ticks, and bytes at the storage layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    cpu: u64,
    read: u64,
    written: u64,
}

/// What the processes of a program have used in a container.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// The container.
    pub place: Place,
    /// The program.
    pub program: String,
    /// How many processes ran it.
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
    /// Whether some bytes are not known.
    pub is_hidden: bool,
    /// Whether some context switches are not known.
    pub is_crowded: bool,
    /// What children used that no row shows.
    pub unaccounted: Unaccounted,
    /// How many of its processes hide their bytes now.
    hiding: u64,
}

/// What children used that a process waited for, and that no row shows.
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
    known: BTreeMap<(Place, String), usize>,
}

impl Sums {
    /// The sums, in the order in which their programs were seen first.
    #[must_use]
    pub fn list(&self) -> &[Sum] {
        &self.list
    }

    /// Adds what a process used since the last time to its program's sum: before it executes
    /// another, and at its end.
    pub fn account(&mut self, process: &mut Process) {
        // What it did as a program that is observed was accounted when it became another.
        if !process.is_observed {
            return;
        }
        let (Some(place), Some(program)) = (process.place, &process.program) else {
            return;
        };
        let at = self.find(place, program);
        let Some(measured) = &mut process.measured else {
            return;
        };
        let sum = &mut self.list[at];
        begin(&mut measured.account, at, sum);
        add(measured, sum);
    }

    /// Closes the account of a process that has ended, or of any process at the end of the log.
    pub fn settle(&mut self, process: &mut Process) {
        self.account(process);
        let Some(measured) = &process.measured else {
            return;
        };
        let Some(sum) = measured.account.sum.and_then(|at| self.list.get_mut(at)) else {
            return;
        };
        // Children that the process never waited for are in no counter of its.
        let credit = process.credit.unwrap_or_default();
        let rest = &mut sum.unaccounted;
        rest.cpu += measured.now.children_cpu().saturating_sub(credit.cpu);
        if let Some(own) = measured.now.io {
            rest.read += measured
                .whole
                .read
                .saturating_sub(own.read)
                .saturating_sub(credit.read);
            rest.written += measured
                .whole
                .written
                .saturating_sub(own.written)
                .saturating_sub(credit.written);
        }
    }

    fn find(&mut self, place: Place, program: &str) -> usize {
        let is_full = self.list.len() >= MOST_PROGRAMS;
        let key = (place, program.to_owned());
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let key = if is_full {
            (place, OTHERS.to_owned())
        } else {
            key
        };
        *self
            .known
            .entry(key)
            .or_insert_with_key(|(place, program)| {
                self.list.push(Sum {
                    place: *place,
                    program: program.clone(),
                    ..Sum::default()
                });
                self.list.len() - 1
            })
    }
}

/// Gives a process's account to the program that it runs now. Of what was hidden of one program it
/// is not known what the next one did.
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
    add_growth(&mut sum.cpu, &mut account.cpu, now.cpu());
    if let Some(io) = now.io {
        add_growth(&mut sum.read, &mut account.read, io.read);
        add_growth(&mut sum.written, &mut account.written, io.written);
    }
    if let Some(switches) = now.switches {
        let count = switches.voluntary.saturating_add(switches.involuntary);
        add_growth(&mut sum.switches, &mut account.switches, count);
    }
    sum.is_crowded |= measured.is_crowded;
    sum.peak = sum.peak.max(measured.peak);
}

fn add_growth(sum: &mut u64, before: &mut u64, now: u64) {
    *sum += now.saturating_sub(*before);
    *before = now.max(*before);
}

impl Sum {
    /// Whether its bytes cannot be said.
    #[must_use]
    pub fn hides_bytes(&self) -> bool {
        self.is_hidden || self.hiding > 0
    }

    /// Adds another sum; the peak is that of the larger.
    pub fn add(&mut self, other: &Self) {
        self.peak = self.peak.max(other.peak);
        self.cpu += other.cpu;
        self.read += other.read;
        self.written += other.written;
        self.switches += other.switches;
        self.is_hidden |= other.hides_bytes();
        self.is_crowded |= other.is_crowded;
        self.unaccounted.cpu += other.unaccounted.cpu;
        self.unaccounted.read += other.unaccounted.read;
        self.unaccounted.written += other.unaccounted.written;
    }
}

/// What a process that has ended adds to the credit of the process that waited for it, whose
/// counters of children include all of it now.
#[must_use]
pub fn credit_of(process: &Process) -> Credit {
    let own = process.credit.unwrap_or_default();
    let Some(measured) = &process.measured else {
        return own;
    };
    let now = &measured.now;
    let io = now.io.unwrap_or_default();
    // What it was credited itself may be more than its counters have, which were not read when it
    // was not observed, or could not be.
    Credit {
        cpu: now.cpu().saturating_add(own.cpu.max(now.children_cpu())),
        read: (io.read + own.read).max(measured.whole.read),
        written: (io.written + own.written).max(measured.whole.written),
    }
}

impl Credit {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;
    use crate::proc::io::Io;

    fn process(program: &str, cpu: u64, io: Option<Io>) -> Process {
        let now = Counters {
            utime: cpu,
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
            place: Some(0),
            is_observed: true,
            measured: Some(Box::new(measured)),
            ..Process::default()
        }
    }

    #[test]
    fn a_process_counts_for_each_program_that_it_was() {
        let mut sums = Sums::default();
        let mut one = process("sh", 5, Some(Io::default()));
        sums.account(&mut one);
        sums.account(&mut one);
        one.program = Some("lmp".to_owned());
        one.measured.as_mut().unwrap().now.utime = 12;
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
    fn bytes_that_one_program_hid_may_be_the_next_ones() {
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
    fn ever_new_names_are_summed_together() {
        let mut sums = Sums::default();
        for number in 0..3000 {
            sums.account(&mut process(&number.to_string(), 1, None));
        }
        assert_eq!(sums.list().len(), MOST_PROGRAMS + 1);
        let others = &sums.list()[MOST_PROGRAMS];
        assert_eq!(
            (others.program.as_str(), others.cpu),
            (OTHERS, 3000 - MOST_PROGRAMS as u64)
        );
    }
}
