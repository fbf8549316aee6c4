//! The use of the observed containers, as the kernel accounts it for their cgroups. The summary of
//! a run has it in its first line, for the card of the run.

use std::collections::BTreeMap;

use encode::json::{push_key, push_known, push_string};
use encode::number::push_scaled;
use linux::cgroup::location::locate;
use linux::cgroup::usage_files::{Usage, UsageFiles};

use crate::sampling::accounts::Sum;
use crate::sampling::containers::{ContainerId, Containers};
use crate::sampling::measure::Meter;
use crate::sampling::process::Process;
use crate::sampling::row::{millionths, nanoseconds, thousandths};

/// The maximum bytes of the first line of a summary, with its line feed. The kubelet cuts the
/// termination message to 12 KiB, divided by the number of all containers of the pod (kubernetes
/// `pkg/kubelet/status/status_manager.go`, `normalizeStatus`): with 12 containers, the first line
/// stays complete.
const MAX_LINE: usize = 1000;
/// The bytes that are kept for the end of the line: `],"containers_left_out":1024}` and the line
/// feed.
const END: usize = 32;
/// The maximum number of containers whose files stay open. A container has up to 8 files.
const MAX_CONTAINERS: usize = 16;
/// The maximum number of processes through which the files of one start of a container are tried.
const MAX_TRIES: u32 = 8;

/// The maximum seconds for which cgroups are expected to exist after the end of their container.
const REMOVAL_SECONDS: f64 = 2.0;

/// The observed containers.
#[derive(Default)]
pub struct ContainerUses {
    known: BTreeMap<ContainerId, ContainerUse>,
}

/// A container, with all of its starts.
#[derive(Default)]
struct ContainerUse {
    /// The files of the cgroups of the current start; `None` before they are opened, and after the
    /// cgroups have been removed.
    files: Option<UsageFiles>,
    /// The number of processes through which the files could not be opened.
    failures: u32,
    /// When the first process of the current start began, and when a process of the container was
    /// last seen, or seen to end, in seconds since boot.
    began: f64,
    seen: f64,
    /// Whether the files were last read when a process of the container had ended, or at the end of
    /// the run, or show the same use soon after that.
    is_final: bool,
    /// When the files were last read at such an end, in seconds since boot.
    ended: f64,
    /// The use in the current start.
    now: Usage,
    /// The use and the seconds in all earlier starts.
    before: Usage,
    seconds_before: f64,
}

impl ContainerUses {
    /// Opens the files of a container through one of its processes at the time `now`, unless they
    /// are open. The first process of the container started at `began`; both are in seconds since
    /// boot. Nothing is opened if the container shares its cgroups with the observer.
    pub fn open(
        &mut self,
        container: ContainerId,
        process: &mut Process,
        meter: &mut Meter,
        (began, now): (f64, f64),
    ) {
        let is_known = self.known.contains_key(&container);
        if !is_known && self.known.len() >= MAX_CONTAINERS {
            return;
        }
        let known = self.known.entry(container).or_default();
        if known.files.is_some() || known.failures >= MAX_TRIES {
            return;
        }
        match open_files(process, meter) {
            Some(files) => known.begin(files, began, now),
            None => known.failures += 1,
        }
    }

    /// Reads the use of all containers at the time `now`, in seconds since boot. The use of a
    /// container that has ended stays. `is_end` says whether the run ends.
    pub fn read(&mut self, now: f64, is_end: bool) {
        for known in self.known.values_mut() {
            known.read(now, is_end);
        }
    }

    /// Reads the use of a container in which a process has ended. The container runtime removes the
    /// cgroups soon after the last one.
    pub fn read_last(&mut self, container: ContainerId, now: f64) {
        if let Some(known) = self.known.get_mut(&container) {
            known.read(now, true);
            known.seen = now;
        }
    }

    /// Says that a process of a container lives at the time `now`, in seconds since boot.
    pub fn see(&mut self, container: ContainerId, now: f64) {
        if let Some(known) = self.known.get_mut(&container) {
            known.seen = now;
        }
    }

    /// Appends the containers to the first line of a summary, as far as they fit: those with the
    /// most processor time first.
    pub fn push(&self, line: &mut Vec<u8>, containers: &Containers, sums: &[Sum]) {
        let is_shown = |known: &ContainerUse| containers.has_names && known.began > 0.0;
        let mut all: Vec<(&ContainerId, &ContainerUse)> = self
            .known
            .iter()
            .filter(|(_, known)| is_shown(known))
            .collect();
        all.sort_by_key(|(_, known)| std::cmp::Reverse(known.total().cpu));
        push_key(line, "containers");
        line.push(b'[');
        let mut left_out = 0;
        let mut is_first = true;
        for (id, known) in all {
            let mut item = Vec::new();
            push_container(&mut item, containers.name(*id), known);
            millionths(&mut item, ",\"run_delay\":", run_delay(*id, sums));
            item.push(b'}');
            if line.len() + 1 + item.len() + END > MAX_LINE {
                left_out += 1;
                continue;
            }
            if !std::mem::replace(&mut is_first, false) {
                line.push(b',');
            }
            line.extend_from_slice(&item);
        }
        line.push(b']');
        if left_out > 0 {
            push_known(line, "containers_left_out", Some(left_out));
        }
    }
}

impl ContainerUse {
    fn begin(&mut self, files: UsageFiles, began: f64, now: f64) {
        self.before = self.total();
        self.seconds_before = self.seconds();
        self.now = Usage::default();
        self.files = Some(files);
        self.failures = 0;
        self.began = began;
        self.seen = now;
        self.is_final = false;
        self.read(now, false);
    }

    fn read(&mut self, now: f64, is_final: bool) {
        let Some(files) = &self.files else { return };
        let mut found = self.now;
        if files.read(&mut found) {
            self.take(found, now, is_final);
        } else {
            self.files = None;
        }
    }

    /// Takes the use at the time `now`. A scan follows the end of the first process of a container,
    /// mostly before the container runtime has removed the cgroups: it finds the same use again.
    fn take(&mut self, found: Usage, now: f64, is_final: bool) {
        if is_final {
            self.ended = now;
        }
        let is_same = found == self.now && now - self.ended < REMOVAL_SECONDS;
        self.is_final = is_final || (self.is_final && is_same);
        self.now = found;
    }

    fn seconds(&self) -> f64 {
        self.seconds_before + (self.seen - self.began).max(0.0)
    }

    /// The use in all starts: the sum of counters, the greatest peak, and the last limits.
    fn total(&self) -> Usage {
        let (before, now) = (self.before, self.now);
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Usage {
            cpu: sum(before.cpu, now.cpu),
            cpu_limit: now.cpu_limit,
            periods: sum(before.periods, now.periods),
            throttled_periods: sum(before.throttled_periods, now.throttled_periods),
            throttled: sum(before.throttled, now.throttled),
            io_full: sum(before.io_full, now.io_full),
            memory_peak: before.memory_peak.max(now.memory_peak),
            memory_limit: now.memory_limit,
            oom_kill: sum(before.oom_kill, now.oom_kill),
        }
    }
}

fn open_files(process: &mut Process, meter: &mut Meter) -> Option<UsageFiles> {
    let pid = process.file_id;
    let measured = process.measured.as_mut()?;
    let read = |meter: &mut Meter, path: String| Some(meter.files.read_whole(&path).ok()?.to_vec());
    let own = read(meter, "self/cgroup".to_owned())?;
    let cgroup = read(meter, format!("{pid}/cgroup"))?;
    let mountinfo = read(meter, format!("{pid}/mountinfo"))?;
    if own == cgroup {
        return None;
    }
    let location = locate(&cgroup, &mountinfo);
    let (root, _guard) = meter.with_access(&mut measured.io_access, measured.identity, |meter| {
        meter.files.open_root(pid)
    });
    let files = UsageFiles::open(&mut meter.files, &root.ok()?, &location);
    // Without mounts of cgroups in the container, nothing can be read.
    files.read(&mut Usage::default()).then_some(files)
}

/// The number of decimals of the seconds for which a container was observed.
const CENTI: u32 = 2;

/// Appends the beginning of an object with the use of a container.
fn push_container(item: &mut Vec<u8>, name: &str, known: &ContainerUse) {
    let (usage, seconds) = (known.total(), known.seconds());
    item.extend_from_slice(b"{\"container\":");
    push_string(item, name);
    push_key(item, "seconds");
    // Seconds since boot are positive and have few digits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    push_scaled(item, (seconds * 100.0).round() as u64, CENTI);
    push_key(item, "final");
    item.extend_from_slice(if known.is_final { b"true" } else { b"false" });
    nanoseconds(item, ",\"cpu_usage\":", usage.cpu);
    thousandths(item, ",\"cpu_limit\":", usage.cpu_limit);
    push_known(item, "nr_periods", usage.periods);
    push_known(item, "nr_throttled", usage.throttled_periods);
    nanoseconds(item, ",\"throttled\":", usage.throttled);
    millionths(item, ",\"io_full\":", usage.io_full);
    push_known(item, "memory_peak", usage.memory_peak);
    push_known(item, "memory_limit", usage.memory_limit);
    push_known(item, "oom_kill", usage.oom_kill);
}

/// Returns the microseconds for which the observed processes of a container waited for a processor;
/// `None` if the time of a process is unknown.
fn run_delay(container: ContainerId, sums: &[Sum]) -> Option<u64> {
    let own = || sums.iter().filter(|sum| sum.container == container);
    let is_known = own().all(|sum| !sum.has_too_many_threads);
    is_known.then(|| own().map(|sum| sum.wait / 1000).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cpu: u64, memory_peak: u64) -> Usage {
        Usage {
            cpu: Some(cpu),
            cpu_limit: Some(2000),
            periods: Some(7),
            throttled_periods: Some(1),
            throttled: Some(1000),
            io_full: None,
            memory_peak: Some(memory_peak),
            memory_limit: Some(1 << 59),
            oom_kill: Some(1),
        }
    }

    #[test]
    fn a_reading_soon_after_the_end_with_the_same_use_is_final() {
        for (cpu, now, expected) in [(5, 10.1, true), (6, 10.1, false), (5, 12.5, false)] {
            let mut known = ContainerUse::default();
            known.take(usage(4, 100), 9.0, false);
            assert!(!known.is_final);
            known.take(usage(5, 100), 10.0, true);
            known.take(usage(cpu, 100), now, false);
            assert_eq!(known.is_final, expected, "{cpu} at {now}");
            known.take(usage(cpu, 100), now + 0.1, false);
            assert_eq!(known.is_final, expected, "a second time: {cpu} at {now}");
        }
    }

    #[test]
    fn a_container_that_starts_again_adds_to_its_use() {
        let mut known = ContainerUse {
            now: usage(5_000_000, 100),
            began: 10.0,
            seen: 14.0,
            before: usage(1_000_000, 300),
            seconds_before: 2.0,
            ..ContainerUse::default()
        };
        let total = known.total();
        assert_eq!((total.cpu, total.memory_peak), (Some(6_000_000), Some(300)));
        assert_eq!((total.throttled, total.oom_kill), (Some(2000), Some(2)));
        assert!((known.seconds() - 6.0).abs() < 1e-9);
        known.now.cpu = None;
        assert_eq!(known.total().cpu, Some(1_000_000));
    }

    #[test]
    fn the_time_of_a_container_ends_with_its_last_process() {
        let mut uses = ContainerUses::default();
        uses.known.entry(0).or_default().began = 10.0;
        let seconds = |uses: &ContainerUses| uses.known[&0].seconds();
        uses.see(0, 14.0);
        assert!((seconds(&uses) - 4.0).abs() < 1e-9);
        uses.read_last(0, 15.0);
        uses.read(16.0, false);
        uses.read(17.0, true);
        assert!((seconds(&uses) - 5.0).abs() < 1e-9);
        uses.see(1, 18.0);
        assert_eq!(
            uses.known.len(),
            1,
            "the use of this container could not be read"
        );
    }

    #[test]
    fn the_first_line_has_at_most_1000_bytes() {
        let mut uses = ContainerUses::default();
        let containers = Containers::named((0..16).map(|number| format!("{number:063}")));
        for id in 0..16 {
            let known = uses.known.entry(id).or_default();
            known.now = usage((1 << 62) + u64::try_from(id).unwrap(), 1 << 59);
            (known.began, known.seen) = (1e9, 2e9);
        }
        for length in [0, 400, 700, 990] {
            let mut line = format!("{{\"pod\":\"{}\"", "p".repeat(length)).into_bytes();
            uses.push(&mut line, &containers, &[]);
            line.push(b'}');
            let text = String::from_utf8(line).unwrap();
            let line: serde_json::Value = serde_json::from_str(&text).unwrap();
            let shown = line["containers"].as_array().unwrap();
            let is_short = text.len() < MAX_LINE;
            assert!(is_short || shown.is_empty(), "{} bytes", text.len());
            assert_eq!(line["containers_left_out"], 16 - shown.len());
            if let Some(first) = shown.first() {
                assert_eq!(first["container"], format!("{:063}", 15));
            }
            assert!(length > 600 || !shown.is_empty());
        }
    }

    #[test]
    fn the_delay_of_a_container_is_that_of_its_programs() {
        let sum = |container, wait, has_too_many_threads| {
            let mut sum = Sum::default();
            (sum.container, sum.wait) = (container, wait);
            sum.has_too_many_threads = has_too_many_threads;
            sum
        };
        let sums = [sum(0, 4000, false), sum(0, 3000, false), sum(1, 1000, true)];
        assert_eq!(run_delay(0, &sums), Some(7));
        assert_eq!(run_delay(1, &sums), None);
    }
}
