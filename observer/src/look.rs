//! One look at all the processes of the pod: who is there, and which of them are observed.

use std::collections::BTreeMap;

use crate::accounts::{Sums, credit_of};
use crate::capacity::Capacity;
use crate::clock;
use crate::json::{clean, push_string};
use crate::measure::Meter;
use crate::places::{Place, Places, program_name};
use crate::proc::files::Task;
use crate::proc::stat::{self, Stat};
use crate::process::{Access, Key, Process};
use crate::program::is_interpreter;
use crate::session::Session;
use crate::settings::{Metric, Settings};
use crate::target_command::TargetCommand;

/// After so many processes it is looked whether the observer is told to end.
const PROCESSES_AT_ONCE: usize = 64;

/// The processes of the pod.
pub struct Processes {
    /// Reads them.
    pub meter: Meter,
    /// Their containers.
    pub places: Places,
    /// What is known of each.
    pub all: BTreeMap<Key, Process>,
    /// Those of this look that have rows.
    pub shown: Vec<Key>,
    /// How many processes of the target live.
    pub live_targets: usize,
    /// How many processes were observed until now.
    pub total: u64,
    /// How many processes this look leaves out, for want of memory.
    pub left_out: usize,
    /// When this look began, in seconds since boot.
    pub now: f64,
    /// What they have used.
    pub sums: Sums,
    keys: BTreeMap<i32, Key>,
    last_key: Key,
    look: u64,
    last_look: Option<f64>,
    ids: Vec<i32>,
    capacity: Capacity,
    metric: Metric,
    command: Option<TargetCommand>,
}

impl Processes {
    /// No processes yet.
    #[must_use]
    pub fn new(
        meter: Meter,
        places: Places,
        capacity: Capacity,
        settings: &Settings,
        command: Option<TargetCommand>,
    ) -> Self {
        Self {
            meter,
            places,
            capacity,
            all: BTreeMap::new(),
            shown: Vec::new(),
            live_targets: 0,
            total: 0,
            left_out: 0,
            now: clock::since_boot(),
            sums: Sums::default(),
            keys: BTreeMap::new(),
            last_key: 0,
            look: 0,
            last_look: None,
            ids: Vec::new(),
            metric: settings.metric,
            command,
        }
    }

    /// Looks at all processes. False when the observer is told to end, or no process is to be seen.
    pub fn look(&mut self, session: &mut Session) -> bool {
        self.now = clock::since_boot();
        self.look += 1;
        self.live_targets = 0;
        self.left_out = 0;
        self.shown.clear();
        self.meter.threads_left = self.capacity.threads;
        self.meter.threads_left_out = 0;
        let mut ids = std::mem::take(&mut self.ids);
        self.meter.files.list_processes(&mut ids);
        let mut is_whole = !ids.is_empty();
        for (at, pid) in ids.iter().enumerate() {
            if at % PROCESSES_AT_ONCE == PROCESSES_AT_ONCE - 1 && !session.pause(0.0) {
                is_whole = false;
                break;
            }
            self.visit(*pid, session);
            // It was seen among the threads of a process.
            if session.is_told() {
                break;
            }
        }
        self.ids = ids;
        if is_whole && !session.is_told() {
            self.remove_ended();
            self.last_look = Some(self.now);
        }
        is_whole && !session.is_told()
    }

    fn visit(&mut self, pid: i32, session: &mut Session) {
        if pid == 1 && self.places.is_pod {
            return;
        }
        // The name in the text is borrowed from the reader, which reads more before it is taken.
        let mut text = [0; 1024];
        let Ok(read) = self.meter.files.read(Task::Process(pid), "stat") else {
            return;
        };
        let length = read.len().min(text.len());
        text[..length].copy_from_slice(&read[..length]);
        let Some(stat) = stat::parse(&text[..length]) else {
            return;
        };
        // A container that is being made: the runtime's own process, before it becomes the
        // application.
        if stat.comm.starts_with(b"runc:[") {
            return;
        }
        let Some(key) = self.key_of(pid, stat.start) else {
            self.left_out += 1;
            // It may be the target's.
            self.live_targets += 1;
            return;
        };
        let Some(mut process) = self.all.remove(&key) else {
            return;
        };
        self.take(&mut process, &stat, session);
        self.all.insert(key, process);
    }

    /// A process's key: a new one where another process had its id. `None` where there is no memory
    /// for one more.
    fn key_of(&mut self, pid: i32, start: u64) -> Option<Key> {
        let known = self
            .keys
            .get(&pid)
            .filter(|key| self.all.get(key).is_some_and(|known| known.start == start));
        if let Some(key) = known {
            return Some(*key);
        }
        if self.all.len() >= self.capacity.processes {
            return None;
        }
        self.last_key += 1;
        self.keys.insert(pid, self.last_key);
        self.all.insert(
            self.last_key,
            Process {
                pid,
                start,
                ..Process::default()
            },
        );
        Some(self.last_key)
    }

    fn take(&mut self, process: &mut Process, stat: &Stat<'_>, session: &mut Session) {
        let parent = self.keys.get(&stat.ppid).copied();
        if is_replaced(process, stat) {
            self.identify(process, stat, parent);
        }
        process.faults = stat.minflt;
        process.is_zombie |= stat.state == b'Z' && stat.threads < 2;
        process.seen = self.look;
        process.parent = parent;
        if !process.is_zombie
            && process
                .place
                .is_some_and(|place| self.places.is_target(place))
        {
            self.live_targets += 1;
        }
        if !process.is_observed {
            return;
        }
        let is_new = self
            .meter
            .take_stat(process, stat, self.now, self.last_look);
        self.total += u64::from(is_new);
        if self.meter.measure(process, self.now, session) {
            // Its key is the one that its id has now.
            self.shown.extend(self.keys.get(&process.pid));
        }
    }

    /// What a process is: its container, which it has from its parent, and its program, which
    /// changes when it executes another.
    fn identify(&mut self, process: &mut Process, stat: &Stat<'_>, parent: Option<Key>) {
        self.end_program(process);
        process.stack = stat.stack;
        process.comm = stat.comm.into();
        let inherited = parent
            .and_then(|parent| self.all.get(&parent))
            .and_then(|parent| parent.place);
        let is_first = process.place.is_none();
        if is_first || stat.ppid == 0 {
            let found = inherited.or_else(|| self.places.of(&mut self.meter.files, process.pid));
            // The mounts of a process cannot be read any more when its first thread has ended.
            process.place = found.or(process.place);
        }
        if stat.state != b'Z' || process.program.is_none() {
            let name = program_name(&mut self.meter.files, process.pid, stat.comm);
            process.program = Some(clean(&name));
            process.is_matching = self
                .command
                .as_ref()
                .is_none_or(|command| command.matches(&name));
        }
        let program = process.program.as_deref().unwrap_or_default();
        if let Some(place) = process.place {
            self.places.mark_observer(place, program, stat.ppid);
        }
        let is_matching = process.is_matching;
        process.is_observed = process
            .place
            .is_some_and(|place| self.is_wanted(place, is_matching));
        if process.is_observed {
            self.write_tail(process);
        }
    }

    /// Adds what a process used to the sums of its program before it becomes another one, with a
    /// memory of its own, and maybe another user.
    fn end_program(&mut self, process: &mut Process) {
        self.sums.account(process);
        if let Some(measured) = &mut process.measured {
            measured.peak = 0;
            measured.listing = Access::Unknown;
            measured.reading = Access::Unknown;
        }
    }

    /// Whether the processes of this program, in this container, are observed. With a
    /// target-command those of the whole pod that match; an observer never.
    fn is_wanted(&self, place: Place, is_matching: bool) -> bool {
        if self.metric != Metric::Perf || self.places.is_observer(place) {
            return false;
        }
        if self.command.is_some() {
            is_matching
        } else {
            self.places.is_target(place)
        }
    }

    fn write_tail(&self, process: &mut Process) {
        let mut command = Vec::new();
        push_string(&mut command, &clean(&process.comm));
        process.command = command.into();
        let mut tail = b",\"container\":".to_vec();
        match process.place.filter(|_| self.places.has_names) {
            Some(place) => push_string(&mut tail, self.places.name(place)),
            None => tail.extend_from_slice(b"null"),
        }
        tail.extend_from_slice(b",\"program\":");
        push_string(&mut tail, process.program.as_deref().unwrap_or_default());
        tail.push(b'}');
        process.tail = tail.into();
    }

    /// Removes the processes that have ended, after what they used is credited to the processes
    /// that waited for them.
    fn remove_ended(&mut self) {
        let look = self.look;
        let ended: Vec<Key> = self
            .all
            .iter()
            .filter(|(_, process)| process.seen != look)
            .map(|(key, _)| *key)
            .collect();
        for key in &ended {
            self.credit_parent(*key);
        }
        for key in ended {
            let Some(mut process) = self.all.remove(&key) else {
                continue;
            };
            self.sums.settle(&mut process);
            if self.keys.get(&process.pid) == Some(&key) {
                self.keys.remove(&process.pid);
            }
        }
    }

    /// Credits what a process used to its parent, which has waited for it, so that the parent's
    /// counters of children include it. If the parent has ended too, the nearest living ancestor
    /// did.
    fn credit_parent(&mut self, key: Key) {
        let Some(process) = self.all.get(&key) else {
            return;
        };
        if process.credit.is_none() {
            return;
        }
        let credit = credit_of(process);
        let mut parent = process.parent;
        // No line of ancestors is longer, even if an id that was used again makes a circle of it.
        for _ in 0..self.all.len() {
            let Some(found) = parent.and_then(|key| self.all.get_mut(&key)) else {
                return;
            };
            if found.seen == self.look {
                found.credit.get_or_insert_default().add(credit);
                return;
            }
            parent = found.parent;
        }
    }

    /// Reads the threads of processes that have rows now.
    pub fn read_thread_rows(&mut self, keys: &[Key], shortest: f64) {
        self.meter.threads_left = self.capacity.threads;
        for key in keys {
            if let Some(process) = self.all.get_mut(key) {
                self.meter.read_thread_rows(process, self.now, shortest);
            }
        }
    }

    /// How many processes and threads can be watched.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Adds to the sums what the processes that live have used until now.
    pub fn settle_all(&mut self) {
        for process in self.all.values_mut() {
            self.sums.settle(process);
        }
    }
}

/// Whether a process is new, or executed another program since the last look. Its stack is then
/// elsewhere; where the kernel hides that, its kernel name says so, but for one script of an
/// interpreter after another: no program begins without page faults.
fn is_replaced(process: &Process, stat: &Stat<'_>) -> bool {
    if process.seen == 0 || *process.comm != *stat.comm || process.stack != stat.stack {
        return true;
    }
    stat.stack == 0 && process.faults != stat.minflt && is_interpreter(stat.comm)
}
