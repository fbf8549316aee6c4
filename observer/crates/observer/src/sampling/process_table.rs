//! The table of the processes of the pod. Each scan updates the table and selects the processes to
//! observe.

use std::collections::BTreeMap;

use encode::json::{clean, push_string};
use encode::number::float;
use linux::clock::{self, WallTime};
use linux::proc::files::Task;
use linux::proc::stat::{self, Stat};
use target_command::TargetCommand;

use crate::runtime::declaration::ProcessFiles;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::accounts::{Sums, credit_from};
use crate::sampling::capacity::Capacity;
use crate::sampling::container_time::ContainerTimes;
use crate::sampling::container_use::ContainerUses;
use crate::sampling::containers::{ContainerId, Containers, program_name};
use crate::sampling::last_use::LastUse;
use crate::sampling::measure::Meter;
use crate::sampling::process::{Access, Key, Process};
use crate::sampling::program::is_interpreter;
use crate::sampling::row;

/// The maximum bytes of a new name once the names of all processes take too much memory.
const SHORT_NAME: usize = 16;
/// The maximum number of ancestors that are looked at. A reused id can create a cycle.
const MAX_ANCESTORS: usize = 64;
/// The maximum number of threads that are looked at to find a living one.
const MAX_TRIES: usize = 64;
/// The seconds after its start in which a process may belong to the container runtime. The kubelet
/// waits this long for a container to start (`runtimeRequestTimeout`, 2 minutes by default). On a
/// node with many new pods, runc has been seen to take 24 seconds.
const RUNTIME_AGE: f64 = 120.0;
/// The name of the two processes that the tool of gpu-nvidia adds to the target's container
/// (observer/gpu). They are no part of the application. A process of the application that gives
/// itself this name has no rows.
const GPU_READER: &[u8] = b"ridealong-gpu";
/// The number of processes between two polls for a signal.
const PROCESSES_BETWEEN_POLLS: usize = 64;

/// The processes of the pod.
pub struct ProcessTable {
    /// The reader of processes.
    pub meter: Meter,
    /// The containers of the pod.
    pub containers: Containers,
    /// All processes, whether observed or not.
    pub all: BTreeMap<Key, Process>,
    /// The processes that this scan measured.
    pub observed: Vec<Key>,
    /// The number of living processes of the target, and of processes that this scan has skipped.
    pub live_targets: usize,
    /// The number of processes that were ever observed.
    pub total: u64,
    /// The number of processes that this scan has skipped because of the memory limit.
    pub left_out: usize,
    /// Whether names are cut because of the memory limit.
    pub cuts_names: bool,
    /// When this scan began, in seconds since boot.
    pub now: f64,
    /// When this scan began, by the wall clock.
    pub time: WallTime,
    /// The resource use by program.
    pub sums: Sums,
    /// The processes for which no observed process waits.
    pub last_use: LastUse,
    /// The processor times of containers.
    container_times: ContainerTimes,
    /// The use of the observed containers.
    pub container_uses: ContainerUses,
    keys: BTreeMap<i32, Key>,
    last_key: Key,
    /// The bytes of the names of all processes.
    name_bytes: usize,
    scan_number: u64,
    last_scan: Option<f64>,
    ids: Vec<i32>,
    capacity: Capacity,
    reads: ProcessFiles,
    command: Option<TargetCommand>,
}

impl ProcessTable {
    /// Creates a table without processes.
    pub fn new(
        meter: Meter,
        containers: Containers,
        capacity: Capacity,
        settings: &Settings,
        command: Option<TargetCommand>,
    ) -> Self {
        Self {
            meter,
            containers,
            capacity,
            all: BTreeMap::new(),
            observed: Vec::new(),
            live_targets: 0,
            total: 0,
            left_out: 0,
            cuts_names: false,
            now: clock::since_boot(),
            time: WallTime::now(),
            sums: Sums::default(),
            last_use: LastUse::new(clock::since_boot()),
            container_times: ContainerTimes::default(),
            container_uses: ContainerUses::default(),
            keys: BTreeMap::new(),
            last_key: 0,
            name_bytes: 0,
            scan_number: 0,
            last_scan: None,
            ids: Vec::new(),
            reads: settings.metric.reads,
            command,
        }
    }

    /// Returns the first observed process.
    pub fn first_observed(&self) -> Option<i32> {
        let process = self.observed.iter().find_map(|key| self.all.get(key));
        process.map(|process| process.pid)
    }

    /// Scans all processes. Returns false if a signal stops the observer, or if `/proc` lists no
    /// process.
    pub fn scan(&mut self, session: &mut Session) -> bool {
        self.now = clock::since_boot();
        self.time = WallTime::now();
        // A container that starts again has other cgroups, which this scan opens.
        self.container_uses.read(self.now, false);
        self.scan_number += 1;
        self.live_targets = 0;
        self.left_out = 0;
        self.observed.clear();
        self.meter.threads_left = self.capacity.threads;
        self.meter.threads_left_out = 0;
        let mut ids = std::mem::take(&mut self.ids);
        self.meter.files.list_processes(&mut ids, || session.poll());
        let mut is_whole = !ids.is_empty();
        for (at, pid) in ids.iter().enumerate() {
            if at % PROCESSES_BETWEEN_POLLS == PROCESSES_BETWEEN_POLLS - 1 && !session.poll() {
                is_whole = false;
                break;
            }
            self.visit(*pid, session);
            // The signal may have arrived while threads were read.
            if session.is_stopping() {
                break;
            }
        }
        self.ids = ids;
        if is_whole && !session.is_stopping() {
            self.remove_ended();
            let ticks = self.meter.machine.ticks;
            self.container_times
                .end_scan(&self.all, &mut self.sums, ticks);
            self.last_scan = Some(self.now);
        }
        is_whole && !session.is_stopping()
    }

    fn visit(&mut self, pid: i32, session: &mut Session) {
        if pid == 1 && self.containers.is_pod {
            return;
        }
        // The text is copied because the buffer of the reader is reused for the next file.
        let mut text = [0; 1024];
        let Ok(read) = self.meter.files.read(Task::Process(pid), "stat") else {
            return;
        };
        let length = read.len().min(text.len());
        text[..length].copy_from_slice(&read[..length]);
        let Some(mut stat) = stat::parse(&text[..length]) else {
            return;
        };
        if stat.comm == GPU_READER || self.is_of_runtime(pid, &stat) {
            return;
        }
        let Some(key) = self.key_of(pid, stat.start) else {
            self.left_out += 1;
            // The process may belong to the target.
            self.live_targets += 1;
            return;
        };
        let Some(mut process) = self.all.remove(&key) else {
            return;
        };
        process.file_id = self.find_file_id(pid, &mut stat);
        self.take(&mut process, &stat, session);
        self.all.insert(key, process);
    }

    /// Whether a process belongs to the container runtime runc. Until it executes the application,
    /// the process that runs in a new container has such a name (libcontainer/nsenter/nsexec.c).
    /// Any process can give itself this name. Therefore only a process counts that has no parent in
    /// the pod, has just started, and had no other name before.
    fn is_of_runtime(&self, pid: i32, stat: &Stat<'_>) -> bool {
        let age = self.now - float(stat.start) / self.meter.machine.ticks;
        let is_named = stat.comm.starts_with(b"runc:[");
        is_named && stat.ppid == 0 && age < RUNTIME_AGE && self.known(pid, stat.start).is_none()
    }

    /// Returns the id under which the files of a process can be read. If its first thread has
    /// ended, this is the id of a living thread, and the address of the stack in `stat` is replaced
    /// by that of this thread.
    fn find_file_id(&mut self, pid: i32, stat: &mut Stat<'_>) -> i32 {
        if stat.state != b'Z' || stat.gauges.threads < 2 {
            return pid;
        }
        let mut tids = Vec::new();
        // An error leaves the list empty.
        let _ = self.meter.files.list_threads(pid, MAX_TRIES, &mut tids);
        let mut others = tids.into_iter().filter(|tid| *tid != pid);
        let Some(tid) = others.find(|tid| self.meter.has_memory(*tid)) else {
            return pid;
        };
        // Each thread has a directory in /proc, although only those of first threads are listed.
        let text = self.meter.files.read(Task::Process(tid), "stat");
        if let Some(found) = text.ok().and_then(stat::parse) {
            stat.stack = found.stack;
        }
        tid
    }

    /// Returns the key of a process that is in the table.
    fn known(&self, pid: i32, start: u64) -> Option<Key> {
        let key = *self.keys.get(&pid)?;
        self.all
            .get(&key)
            .filter(|process| process.start == start)
            .map(|_| key)
    }

    /// Returns the key of a process. A process that is not in the table gets a new key, even if an
    /// earlier process had the same id. `None` if the table is full.
    fn key_of(&mut self, pid: i32, start: u64) -> Option<Key> {
        if let Some(key) = self.known(pid, start) {
            return Some(key);
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
                file_id: pid,
                start,
                ..Process::default()
            },
        );
        Some(self.last_key)
    }

    fn take(&mut self, process: &mut Process, stat: &Stat<'_>, session: &mut Session) {
        let parent = self.keys.get(&stat.ppid).copied();
        if is_replaced(process, stat) || self.has_new_title(process, stat) {
            self.name_bytes -= process.name_bytes();
            self.identify(process, stat, parent);
            self.name_bytes += process.name_bytes();
        }
        process.faults = stat.counters.minflt;
        process.is_zombie |= has_ended(stat);
        process.seen = self.scan_number;
        process.parent = parent;
        if !process.is_zombie
            && process
                .container
                .is_some_and(|container| self.containers.is_target(container))
        {
            self.live_targets += 1;
        }
        if !process.is_observed {
            return;
        }
        let is_new = self
            .meter
            .take_stat(process, stat, self.now, self.last_scan);
        self.total += u64::from(is_new);
        if self.meter.measure(process, self.now, session) {
            // `keys` contains the key of this process under its id.
            let Some(key) = self.keys.get(&process.pid).copied() else {
                return;
            };
            self.observed.push(key);
            // With target-command, a container also has processes that are not observed.
            let has_whole_containers =
                self.reads == ProcessFiles::Counters && self.command.is_none();
            if let Some(container) = process.container
                && is_new
                && stat.ppid == 0
                && has_whole_containers
            {
                self.container_times
                    .open(container, process, &mut self.meter);
            }
            if self.reads.sums_processor_time() {
                self.see_use(process, is_new);
            }
            let is_lost = self.reads.sums_processor_time() && !self.has_observed_parent(process);
            if is_lost && !process.is_zombie && !self.last_use.has(key) {
                self.last_use.keep(key, process, &mut self.meter);
            }
        }
    }

    /// Sees that the container of a process lives. Opens its accounts if the process is new, unless
    /// they are open.
    fn see_use(&mut self, process: &mut Process, is_new: bool) {
        let Some(container) = process.container else {
            return;
        };
        if is_new {
            let began = self.start_of(container, process.start);
            let (meter, times) = (&mut self.meter, (began, self.now));
            self.container_uses.open(container, process, meter, times);
        }
        if !process.is_zombie {
            self.container_uses.see(container, self.now);
        }
    }

    /// Returns when the first living process of a container started, in seconds since boot. One of
    /// its processes started at `start`, in ticks.
    fn start_of(&self, container: ContainerId, start: u64) -> f64 {
        let others = self
            .all
            .values()
            .filter(|process| process.container == Some(container) && !process.is_zombie);
        let first = others.map(|process| process.start).fold(start, u64::min);
        float(first) / self.meter.machine.ticks
    }

    /// Whether the parent of a process or one of its further ancestors was ever observed. Such an
    /// ancestor has the use of the process in its counters of children at the end.
    fn has_observed_parent(&self, process: &Process) -> bool {
        let mut parent = process.parent;
        for _ in 0..MAX_ANCESTORS {
            let Some(found) = parent.and_then(|key| self.all.get(&key)) else {
                return false;
            };
            if found.measured.is_some() {
                return true;
            }
            parent = found.parent;
        }
        false
    }

    /// Reads the counters of the processes for which no observed process waits. Returns whether one
    /// of them has ended that had no parent in the pod.
    pub fn read_last_use(&mut self, session: &mut Session) -> bool {
        let Self {
            last_use,
            container_times,
            container_uses,
            all,
            meter,
            ..
        } = self;
        let ended = last_use.read(all, meter, session);
        let (cpu, now) = (clock::own_cpu(), clock::since_boot());
        container_uses.read(now, false);
        // The container runtime removes the cgroup soon.
        for container in ended.containers {
            container_uses.read_last(container, now);
        }
        last_use.count_cost(clock::own_cpu() - cpu);
        if ended.has_first {
            container_times.read();
        }
        ended.has_first
    }

    /// Whether the program has another name now, because the process has written a title over its
    /// command line. A process does so soon after its start, or never. Therefore its command line
    /// is read again after 1, 2, 4 and so on scans.
    fn has_new_title(&mut self, process: &mut Process, stat: &Stat<'_>) -> bool {
        process.scans_of_name = process.scans_of_name.saturating_add(1);
        let is_due = process.scans_of_name.is_power_of_two() && !has_ended(stat);
        if !is_due || gave_memory_back(process, stat) || self.cuts_names {
            return false;
        }
        let name = program_name(&mut self.meter.files, process.file_id, stat.comm);
        let name = clean(&name);
        process.program.as_ref().is_some_and(|known| *known != name)
    }

    /// Determines the container and the program of a process. A new process inherits the container
    /// of its parent.
    fn identify(&mut self, process: &mut Process, stat: &Stat<'_>, parent: Option<Key>) {
        let has_executed = process.stack != stat.stack || *process.comm != *stat.comm;
        self.end_program(process, has_executed);
        process.stack = stat.stack;
        process.comm = stat.comm.into();
        process.scans_of_name = 0;
        let inherited = parent
            .and_then(|parent| self.all.get(&parent))
            .and_then(|parent| Some((parent.container?, parent.attempt)));
        let is_first = process.container.is_none();
        if is_first || stat.ppid == 0 {
            let found = inherited.or_else(|| {
                let is_zombie = has_ended(stat);
                let files = &mut self.meter.files;
                let id = (process.file_id, process.start);
                self.containers.of(files, id, is_zombie)
            });
            // The mounts of a process cannot be read after its first thread has ended. The process
            // then keeps its known container.
            if let Some((container, attempt)) = found {
                process.container = Some(container);
                process.attempt = attempt;
            }
        }
        if !has_ended(stat) || process.program.is_none() {
            let name = program_name(&mut self.meter.files, process.file_id, stat.comm);
            process.program = Some(clean(self.cut_name(&name)));
            process.is_matching = self
                .command
                .as_ref()
                .is_none_or(|command| command.matches(&name));
        }
        let program = process.program.as_deref().unwrap_or_default();
        if let Some(container) = process.container {
            self.containers.mark_observer(container, program, stat.ppid);
        }
        let is_matching = process.is_matching;
        process.is_observed = process
            .container
            .is_some_and(|container| self.should_observe(container, is_matching));
        if process.is_observed {
            self.write_tail(process);
        }
    }

    /// Returns the part of a name to store: the whole name, or its first [`SHORT_NAME`] bytes if
    /// there is not enough memory.
    fn cut_name<'a>(&mut self, name: &'a [u8]) -> &'a [u8] {
        if self.name_bytes < self.capacity.names || name.len() <= SHORT_NAME {
            return name;
        }
        self.cuts_names = true;
        &name[..SHORT_NAME]
    }

    /// Adds the resource use of a process to the sum of its old program, and resets the values
    /// that depend on the program. The new program has new memory, and possibly another user.
    fn end_program(&mut self, process: &mut Process, has_executed: bool) {
        self.sums.account(process);
        if let Some(measured) = &mut process.measured {
            if has_executed {
                measured.executions = measured.executions.wrapping_add(1);
                measured.thread_rows.clear();
            }
            measured.peak = 0;
            measured.fd_access = Access::Unknown;
            measured.io_access = Access::Unknown;
        }
    }

    /// Whether a process in this container is to be observed. Without a target-command, all
    /// processes of the target are observed. With a target-command, the matching processes of the
    /// whole pod are observed. The processes of observers are never observed.
    fn should_observe(&self, container: ContainerId, is_matching: bool) -> bool {
        if !self.reads.observes_processes() || self.containers.is_observer(container) {
            return false;
        }
        if self.command.is_some() {
            is_matching
        } else {
            self.containers.is_target(container)
        }
    }

    fn write_tail(&self, process: &mut Process) {
        let mut command = Vec::new();
        push_string(&mut command, &clean(&process.comm));
        process.command = command.into();
        let mut tail = b",\"container\":".to_vec();
        match process.container.filter(|_| self.containers.has_names) {
            Some(container) => push_string(&mut tail, self.containers.name(container)),
            None => tail.extend_from_slice(b"null"),
        }
        tail.extend_from_slice(b",\"program\":");
        push_string(&mut tail, process.program.as_deref().unwrap_or_default());
        row::attempt(&mut tail, ",\"attempt\":", process.attempt);
        tail.push(b'}');
        process.tail = tail.into();
    }

    /// Removes the processes that have ended. Before that, adds their resource use to the `credit`
    /// of their parents.
    fn remove_ended(&mut self) {
        let scan = self.scan_number;
        let ended: Vec<Key> = self
            .all
            .iter()
            .filter(|(_, process)| process.seen != scan)
            .map(|(key, _)| *key)
            .collect();
        for key in &ended {
            self.credit_parent(*key);
        }
        for key in ended {
            let Some(mut process) = self.all.remove(&key) else {
                continue;
            };
            self.sums.close(&mut process);
            self.name_bytes -= process.name_bytes();
            if self.keys.get(&process.pid) == Some(&key) {
                self.keys.remove(&process.pid);
            }
        }
    }

    /// Adds the resource use of an ended process to the `credit` of its parent. After the parent
    /// has waited for the process, the parent's counters of children also include this use.
    /// Therefore `Sums::close` subtracts the credit from these counters. If the parent has also
    /// ended, the nearest ancestor gets the credit that lives, or whose counters were read after it
    /// had waited for children ([`LastUse`]).
    fn credit_parent(&mut self, key: Key) {
        let Some(process) = self.all.get(&key) else {
            return;
        };
        if process.credit.is_none() {
            return;
        }
        let credit = credit_from(process);
        let mut parent = process.parent;
        // The loop is bounded, because a reused id can create a cycle of ancestors.
        for _ in 0..self.all.len() {
            let Some(found) = parent.and_then(|key| self.all.get_mut(&key)) else {
                return;
            };
            if found.seen == self.scan_number {
                found.credit.get_or_insert_default().add(credit);
                return;
            }
            if let Some(measured) = &mut found.measured
                && measured.new_children().cpu > 0
            {
                measured.late_credit.add(credit);
                return;
            }
            parent = found.parent;
        }
    }

    /// Reads the threads of the processes that get rows in this timepoint.
    pub fn read_thread_rows(&mut self, keys: &[Key], min_interval: f64) {
        self.meter.threads_left = self.capacity.threads;
        for key in keys {
            if let Some(process) = self.all.get_mut(key) {
                self.meter.read_thread_rows(process, self.now, min_interval);
            }
        }
    }

    /// Returns the maximum number of processes and threads that can be watched.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Adds the use of all processes until now to the sums.
    pub fn update_accounts(&mut self) {
        for process in self.all.values_mut() {
            self.sums.account(process);
        }
    }

    /// Adds the use of the living processes to the sums. Call this method at the end of the log.
    pub fn close_accounts(&mut self) {
        for process in self.all.values_mut() {
            self.sums.close(process);
        }
        self.container_times.read();
        self.container_uses.read(clock::since_boot(), true);
        let ticks = self.meter.machine.ticks;
        self.container_times.close_all(&mut self.sums, ticks);
    }
}

/// Whether a process is new, or may have executed another program since the last scan. An execution
/// changes the address of the stack, and usually also the kernel's name of the process. If the
/// kernel hides the address, and an interpreter executes itself with another script, neither value
/// changes. Therefore, if the address is hidden, an interpreter with new page faults counts as
/// replaced.
fn is_replaced(process: &Process, stat: &Stat<'_>) -> bool {
    if process.seen > 0 && (has_ended(stat) || gave_memory_back(process, stat)) {
        // A zombie has no stack.
        return false;
    }
    if process.seen == 0 || *process.comm != *stat.comm || process.stack != stat.stack {
        return true;
    }
    stat.stack == 0 && process.faults != stat.counters.minflt && is_interpreter(stat.comm)
}

/// Whether a process exits and has no memory any more, and so neither a stack nor a command line.
/// It still closes its files, and is no zombie yet (kernel/exit.c, `do_exit`). This takes some time
/// if the process had much memory.
fn gave_memory_back(process: &Process, stat: &Stat<'_>) -> bool {
    process.stack != 0 && stat.stack == 0 && *process.comm == *stat.comm
}

/// Whether a process has ended with all of its threads, and its parent has not waited for it yet.
fn has_ended(stat: &Stat<'_>) -> bool {
    stat.state == b'Z' && stat.gauges.threads < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a process that was seen with a stack, and its state with another one.
    fn is_replaced_by(comm: &str, stack: u64) -> bool {
        let line = |comm: &str, stack| {
            let zeros = "0 ".repeat(24);
            format!("16 ({comm}) R {zeros}{stack} {zeros}")
        };
        let (before, after) = (line("python", 4096), line(comm, stack));
        let before = stat::parse(before.as_bytes()).unwrap();
        let after = stat::parse(after.as_bytes()).unwrap();
        assert_eq!((before.stack, after.stack), (4096, stack));
        let process = Process {
            seen: 1,
            stack: before.stack,
            comm: before.comm.into(),
            ..Process::default()
        };
        is_replaced(&process, &after)
    }

    #[test]
    fn a_process_that_exits_has_not_executed_another_program() {
        assert!(!is_replaced_by("python", 4096));
        assert!(!is_replaced_by("python", 0));
        assert!(is_replaced_by("python", 8192));
        assert!(is_replaced_by("sh", 0));
    }
}
