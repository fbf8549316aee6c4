//! The metric gpu-nvidia: the state of NVIDIA's GPUs in the target's container. Only a process of
//! that container can read them, so a tool (observer/gpu) starts a reader there, which leaves its
//! readings in a file. The observer writes rows from that file, with the columns of the metric gpu.

pub mod readings;

use std::collections::{BTreeMap, BTreeSet};

use encode::json::push_known;
use encode::number::float;
use linux::clock::{self, WallTime};

use self::readings::{Readings, State, describe};
use crate::metrics::gpu::rows::{self, DEVICE};
use crate::metrics::gpu::sysfs;
use crate::metrics::metric::Metric;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::log::Log;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::sampling::columns::{Rows, Section};
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};
use crate::tools::folder::Folder;

/// The name of the file of the reader.
const FILE: &str = "readings";
/// The driver in the rows.
const DRIVER: &str = "nvidia";
/// The maximum age of readings that have rows, in nanoseconds. The reader reads every second, with
/// the lowest priority.
const MAX_AGE: u64 = 10_000_000_000;
/// The estimated bytes of the row of a device.
const ROW_BYTES: usize = 384;
/// The number of devices before the first reading.
const FIRST_DEVICES: usize = 8;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "gpu-nvidia",
        description: "the use, memory, power, clock and temperature of the NVIDIA GPUs of the application's container",
        help: "the state of the NVIDIA GPUs of the application's container, from a process that reads NVML there; was never run with a GPU",
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
    sections: &[Section {
        description: "the GPUs that NVML shows in the container, while a process has one open: the numbers include the use by other pods; at most 64",
        ..DEVICE
    }],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let observer = GpuNvidia {
        folder: Folder::open(&settings.folder),
        devices: BTreeSet::new(),
        last: None,
        has_reported: false,
    };
    sampler::run(observer, settings, session);
}

struct GpuNvidia {
    folder: Folder,
    /// The devices that have had rows.
    devices: BTreeSet<String>,
    /// The last readings without rows, with their time.
    last: Option<(String, BTreeMap<String, sysfs::State>)>,
    /// Whether a notice says why rows are missing.
    has_reported: bool,
}

impl Sampler for GpuNvidia {
    const INITIAL_ROW_BYTES: f64 = 0.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        0
    }

    fn predict_bytes(&self, _processes: &ProcessTable) -> usize {
        self.devices.len().max(FIRST_DEVICES) * ROW_BYTES
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        if let Some(pid) = run.processes.first_observed() {
            let files = &mut run.processes.meter.files;
            self.folder.check_mounts(files, pid);
        }
        if let Some(readings) = self.read() {
            self.note_problems(&readings);
            self.take(readings, run.processes.time);
        }
        self.folder.write_notices(&mut run.session.log);
    }

    fn print(&mut self, run: &mut Run<'_>, _keys: &[Key]) {
        if let Some(readings) = self.read() {
            self.last = None;
            self.take(readings, run.processes.time);
            self.write(&mut run.session.log);
        }
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        let readings = self.read();
        if let Some(readings) = &readings {
            self.note_problems(readings);
        }
        let has_readings = readings.is_some();
        if let Some(readings) = readings {
            self.take(readings, WallTime::now());
        }
        self.write(&mut run.session.log);
        if self.devices.is_empty() && !self.has_reported && run.progress.has_started {
            let why = if has_readings {
                "no process had one open (/dev/nvidia*) when they were to be read"
            } else {
                "the container has no /dev/nvidiactl, or none of its programs has loaded the tool \
                 and may write into its folder"
            };
            self.folder
                .note(format!("the GPUs of NVIDIA have no rows: {why}"));
        }
        self.folder.write_notices(&mut run.session.log);
        let mut whole = run.begin_whole();
        push_known(&mut whole, "devices", Some(self.devices.len() as u64));
        whole.push(b'}');
        vec![whole]
    }
}

impl GpuNvidia {
    /// Reads the file of the reader. `None` if there is none.
    fn read(&self) -> Option<Readings> {
        readings::read(&self.folder.results()?.open_named(FILE)?)
    }

    /// Takes readings that are not too old, in place of earlier ones.
    fn take(&mut self, readings: Readings, time: WallTime) {
        let is_reading = readings.state == State::Reading;
        let age = clock::boot_nanoseconds().saturating_sub(readings.looked);
        if is_reading && age <= MAX_AGE {
            self.last = Some((time.precise_timestamp(), readings.devices));
        }
    }

    /// Writes the rows of the last readings, unless they have rows.
    fn write(&mut self, log: &mut Log) {
        let Some((time, devices)) = self.last.take() else {
            return;
        };
        if !log.has_room(float((devices.len() * ROW_BYTES) as u64)) {
            return;
        }
        for (uuid, state) in &devices {
            let row = rows::device(&time, uuid, DRIVER, state);
            log.line().extend_from_slice(&row);
            log.end_line();
        }
        self.devices.extend(devices.into_keys());
    }

    /// Adds notices that say why rows are missing.
    fn note_problems(&mut self, readings: &Readings) {
        let mut problems: Vec<String> = readings.state.problem().into_iter().collect();
        let found = readings.devices.len();
        if readings.state == State::Reading && readings.error != 0 {
            let why = describe(readings.error);
            problems.push(format!("some GPUs of NVIDIA have no rows: {why}"));
        } else if readings.state == State::Reading && found < readings.counted as usize {
            let counted = readings.counted;
            problems.push(format!(
                "some GPUs of NVIDIA have no rows: NVML has counted {counted}, of which {found} \
                 could be read"
            ));
        }
        for problem in problems {
            self.has_reported = true;
            self.folder.note(problem);
        }
    }
}
