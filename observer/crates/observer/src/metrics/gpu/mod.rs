//! The metric gpu: what the application's processes use of GPUs, and the state of these GPUs. The
//! drivers amdgpu, i915 and xe, and others of the kernel's DRM subsystem, describe the use of each
//! open GPU in `/proc/PID/fdinfo`, and the state of a GPU in `/sys`. The driver of NVIDIA does
//! neither; see the metric gpu-nvidia.

pub mod clients;
pub mod rows;
pub mod sysfs;

use std::collections::BTreeMap;
use std::path::Path;

use encode::json::{clean, push_known};
use encode::number::float;
use linux::clock;
use linux::proc::drm;
use linux::proc::files::Files;
use nix::errno::Errno;

use self::clients::Clients;
use self::rows::{DEVICE, User, UserRows};
use crate::metrics::metric::Metric;
use crate::metrics::world_rank::WorldRanks;
use crate::runtime::cost_limit::CostLimit;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::log::Log;
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::columns::Rows;
use crate::sampling::measure::is_denial;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};

/// The folder of the devices on the PCI bus.
const DEVICES: &str = "/sys/bus/pci/devices";
/// The maximum open files of a process that are looked at, and its maximum open GPUs.
const MAX_FILES: usize = 16_384;
const MAX_GPUS: usize = 256;
/// The maximum devices that have rows.
const MAX_DEVICES: usize = 64;
/// The estimated bytes of the rows of a process, and of a device.
const ROW_BYTES: usize = 1024;
const DEVICE_BYTES: usize = 320;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "gpu",
        description: "the use of GPUs by the application's processes, and the state of these GPUs, with the drivers amdgpu, i915 and xe",
        help: "the use of GPUs by the application's processes, and the state of these GPUs, with the drivers amdgpu, i915 and xe, not with that of NVIDIA; was never run with a GPU",
        options: &[
            MetricOption::Rate,
            MetricOption::Completions,
            MetricOption::MaxLog,
            MetricOption::Timeout,
        ],
        reads: ProcessFiles::Stat,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[DEVICE, UserRows::PROCESS, UserRows::ENGINE],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let observer = Gpu {
        clients: Clients::default(),
        ranks: WorldRanks::default(),
        readings: BTreeMap::new(),
        drivers: BTreeMap::new(),
        next: None,
        cost: CostLimit::new(clock::since_boot()),
        notices: Notices::default(),
        has_reported: false,
    };
    sampler::run(observer, settings, session);
}

struct Gpu {
    clients: Clients,
    /// The ranks of the processes.
    ranks: WorldRanks,
    /// The last readings of the processes that use GPUs.
    readings: BTreeMap<Key, Reading>,
    /// The drivers of the devices that have had rows.
    drivers: BTreeMap<String, String>,
    /// The process at which an interrupted round of readings continues.
    next: Option<Key>,
    /// The limit of the processor time for reading open files.
    cost: CostLimit,
    notices: Notices,
    /// Whether a notice says why rows are missing.
    has_reported: bool,
}

/// The last reading of a process.
struct Reading {
    user: User,
    /// The time of the reading.
    time: String,
    /// Whether it has rows.
    is_written: bool,
}

/// The open files of a process that tell something about GPUs.
#[derive(Default)]
struct OpenGpus {
    /// The texts in `/proc/PID/fdinfo` of the GPUs of DRM drivers.
    texts: Vec<Vec<u8>>,
    /// Whether a GPU of NVIDIA's driver is open.
    has_nvidia: bool,
    /// Whether `/dev/kfd` is open, through which `ROCm` submits work.
    has_kfd: bool,
}

impl Sampler for Gpu {
    const INITIAL_ROW_BYTES: f64 = 1024.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, process: &Process) -> usize {
        ROW_BYTES + 4 * process.tail.len()
    }

    fn predict_bytes(&self, processes: &ProcessTable) -> usize {
        let uses = |key: &Key| self.clients.of_process(*key);
        let rows = |key: &Key| {
            uses(key)
                .map(|(_, own)| 1 + own.engines.len())
                .sum::<usize>()
        };
        let rows: usize = processes.observed.iter().map(rows).sum();
        // The last readings of the processes need room, too.
        (2 * rows + self.drivers.len() + 1) * DEVICE_BYTES
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        self.ranks.update(&mut run.processes);
        self.read_round(run);
        let all = &run.processes.all;
        let is_alive = |key| all.get(&key).is_some_and(|process| !process.is_zombie);
        let keys = self.readings.keys().copied();
        let ended: Vec<Key> = keys.filter(|key| !is_alive(*key)).collect();
        for key in ended {
            self.write_last(&mut run.session.log, key);
        }
        self.clients.forget(is_alive);
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        let time = run.processes.time.precise_timestamp();
        let mut rows = Vec::new();
        let mut devices = BTreeMap::new();
        for key in keys {
            rows.extend(self.rows(*key, &time));
            if let Some(reading) = self.readings.get_mut(key) {
                reading.is_written = true;
            }
            for (device, own) in self.clients.of_process(*key) {
                devices.insert(device.clone(), own.driver.clone());
            }
        }
        for (device, driver) in devices.iter().take(MAX_DEVICES) {
            let state = sysfs::read(Path::new(DEVICES), device);
            rows.push(rows::device(&time, device, driver, &state));
        }
        self.drivers.extend(devices.into_iter().take(MAX_DEVICES));
        let log = &mut run.session.log;
        for row in rows {
            log.line().extend_from_slice(&row);
            log.end_line();
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        for key in self.readings.keys().copied().collect::<Vec<_>>() {
            self.write_last(&mut run.session.log, key);
        }
        if self.drivers.is_empty() && !self.has_reported && run.progress.has_started {
            let log = &mut run.session.log;
            log.note("no GPU has rows: no process had one open (/dev/dri or /dev/nvidia*)");
        }
        let mut whole = run.begin_whole();
        push_known(&mut whole, "devices", Some(self.drivers.len() as u64));
        whole.push(b'}');
        vec![whole]
    }
}

impl Gpu {
    /// Returns the rows of the last reading of a process.
    fn rows(&self, key: Key, time: &str) -> Vec<Vec<u8>> {
        let Some(Reading { user, .. }) = self.readings.get(&key) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (device, own) in self.clients.of_process(key) {
            let user = UserRows { time, user, device };
            rows.push(user.process(own));
            let engines = own.engines.iter();
            rows.extend(engines.map(|(name, own)| user.engine(name, *own)));
        }
        rows
    }

    /// Writes the rows of the last reading of a process, with its time, unless it has rows.
    fn write_last(&mut self, log: &mut Log, key: Key) {
        let reading = self.readings.get(&key);
        let unwritten = reading.filter(|reading| !reading.is_written);
        let rows = unwritten.map(|reading| self.rows(key, &reading.time));
        let rows = rows.unwrap_or_default();
        self.readings.remove(&key);
        let uses = self.clients.of_process(key);
        let drivers = uses.map(|(device, own)| (device.clone(), own.driver.clone()));
        self.drivers.extend(drivers.take(MAX_DEVICES));
        if !log.has_room(float((rows.len() * DEVICE_BYTES) as u64)) {
            let why = "the log has no room for them";
            let text = format!("the last readings of some processes have no rows: {why}");
            self.notices.report(text, log);
            return;
        }
        for row in rows {
            log.line().extend_from_slice(&row);
            log.end_line();
        }
        log.flush();
    }

    /// Reads the open GPUs of the processes, in the order in which they were found, until all are
    /// read or the processor time is used up. The next call continues there.
    fn read_round(&mut self, run: &mut Run<'_>) {
        let now = run.processes.now;
        let mut keys = run.processes.observed.clone();
        keys.sort_unstable();
        let first = self.next.take().unwrap_or(0);
        for key in keys.into_iter().filter(|key| *key >= first) {
            if !self.cost.allows_more(now) || !run.session.poll() {
                self.next = Some(key);
                return;
            }
            let cpu = clock::own_cpu();
            self.read_process(run, key);
            self.cost.count(clock::own_cpu() - cpu);
        }
        self.clients.end_round();
    }

    /// Reads the open GPUs of a process. They stay as they were if they cannot be read.
    fn read_process(&mut self, run: &mut Run<'_>, key: Key) -> Option<()> {
        let ProcessTable { meter, all, .. } = &mut run.processes;
        let process = all.get_mut(&key).filter(|process| !process.is_zombie)?;
        let pid = process.file_id;
        let user = User {
            pid: process.pid,
            rank: self.ranks.get(&key).map(|(rank, _)| rank),
            tail: process.tail.clone(),
        };
        let measured = process.measured.as_mut()?;
        meter.read_status(pid, measured)?;
        let identity = measured.identity;
        let now = clock::since_boot();
        let (found, guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
            read_open_gpus(&mut meter.files, pid)
        });
        drop(guard);
        let log = &mut run.session.log;
        let mut report = |text: String| {
            self.has_reported = true;
            self.notices.report(text, log);
        };
        match found {
            Ok(found) => {
                let clients: Vec<_> = found.texts.iter().filter_map(|it| drm::parse(it)).collect();
                for problem in problems(&found, &clients) {
                    report(problem);
                }
                if !self.clients.take(key, &clients, now) {
                    report("some open GPUs are left out: there are too many".to_owned());
                }
                if self.clients.of_process(key).next().is_some() {
                    let reading = Reading {
                        user,
                        time: run.processes.time.precise_timestamp(),
                        is_written: false,
                    };
                    self.readings.insert(key, reading);
                }
            }
            // The open files of a process that is ending belong to root.
            Err(error) if is_denial(error) && meter.has_memory(pid) => {
                let reason = error.desc();
                report(format!(
                    "the open files of a process cannot be read: {reason}"
                ));
            }
            Err(_) => {}
        }
        Some(())
    }
}

/// Returns the reasons why rows are missing or incomplete.
fn problems(found: &OpenGpus, clients: &[drm::Client<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    if found.has_nvidia {
        let why = "its driver does not describe their use in /proc";
        let help = "the metric gpu-nvidia reads their state";
        problems.push(format!("the GPUs of NVIDIA have no rows: {why}; {help}"));
    }
    if found.has_kfd {
        let why = "a process has /dev/kfd open, as ROCm does";
        problems.push(format!(
            "the section engine may lack work of compute kernels: {why}"
        ));
    }
    let unnamed = clients.iter().filter(|client| client.id.is_none());
    problems.extend(unnamed.map(|client| {
        let driver = clean(client.driver.as_bytes());
        format!("the GPUs of the driver {driver} have no rows: it does not describe their use")
    }));
    problems
}

/// Reads the open GPUs of a process, by the paths under which it has opened them. The kernel does
/// not wait for a device to return a path, as it would for the number of the device.
fn read_open_gpus(files: &mut Files, pid: i32) -> Result<OpenGpus, Errno> {
    let is_dri = |link: &[u8]| link.starts_with(b"/dev/dri/");
    let is_nvidia = |link: &[u8]| link.starts_with(b"/dev/nvidia");
    let is_kfd = |link: &[u8]| link == b"/dev/kfd";
    let is_wanted = |link: &[u8]| is_dri(link) || is_nvidia(link) || is_kfd(link);
    let open = files.list_open_files(pid, MAX_FILES, is_wanted)?;
    let mut found = OpenGpus {
        texts: Vec::new(),
        has_nvidia: open.iter().any(|(_, link)| is_nvidia(link)),
        has_kfd: open.iter().any(|(_, link)| is_kfd(link)),
    };
    let cards = open.iter().filter(|(_, link)| is_dri(link));
    for (file, _) in cards.take(MAX_GPUS) {
        match files.read_whole(&format!("{pid}/fdinfo/{file}")) {
            Ok(text) => found.texts.push(text.to_vec()),
            Err(Errno::ENOENT | Errno::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
