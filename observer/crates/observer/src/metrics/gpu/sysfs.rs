//! The state of a GPU, from its folder in `/sys/bus/pci/devices`. The files are those of the
//! drivers amdgpu (Documentation/gpu/amdgpu/driver-misc.rst and thermal.rst in Linux), i915 and xe
//! (Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon, `intel_gt_sysfs_pm.c`, `xe_hwmon.c`,
//! `xe_gt_freq.c` and `xe_gt_throttle.c`). Each container can read them.

use std::fs;
use std::path::{Path, PathBuf};

use linux::proc::words::{number, words};

/// The maximum entries of a folder that are looked at.
const MAX_ENTRIES: usize = 64;

/// The state of a GPU, for all processes of the node. `None` is a value that its driver does not
/// report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The part of the last moment for which the GPU was busy, in percent.
    pub busy: Option<u64>,
    /// Bytes of its memory that are used.
    pub memory_used: Option<u64>,
    /// Bytes of its memory.
    pub memory_total: Option<u64>,
    /// The power in microwatts.
    pub power: Option<u64>,
    /// The energy in microjoules since the driver was loaded.
    pub energy: Option<u64>,
    /// The temperature in thousandths of a degree Celsius.
    pub temperature: Option<u64>,
    /// The clock in Hz.
    pub clock: Option<u64>,
    /// The reasons why the clock is limited, sorted.
    pub throttle: Option<Vec<String>>,
}

/// The reasons that are limits of power or current, and those that are heat: the first four of each
/// of Intel's drivers (`drivers/gpu/drm/xe/xe_gt_throttle.c` in Linux), the others of NVIDIA's
/// (`nvmlClocksEventReasons` in nvml.h).
const POWER: [&str; 6] = [
    "pl1",
    "pl2",
    "pl4",
    "vr_tdc",
    "sw_power_cap",
    "hw_power_brake_slowdown",
];
const HEAT: [&str; 6] = [
    "thermal",
    "prochot",
    "ratl",
    "vr_thermalert",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
];

impl State {
    /// Whether the clock is limited by power; `None` if the driver does not say that.
    pub fn is_limited_by_power(&self) -> Option<bool> {
        self.has_reason(&POWER)
    }

    /// Whether the clock is limited by heat; `None` if the driver does not say that.
    pub fn is_limited_by_heat(&self) -> Option<bool> {
        self.has_reason(&HEAT)
    }

    fn has_reason(&self, wanted: &[&str]) -> Option<bool> {
        let reasons = self.throttle.as_ref()?;
        Some(reasons.iter().any(|reason| wanted.contains(&&**reason)))
    }
}

/// Reads the state of a device. `folder` is `/sys/bus/pci/devices`.
pub fn read(folder: &Path, device: &str) -> State {
    let is_address = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    if !device.contains(':') || !device.bytes().all(is_address) {
        return State::default();
    }
    let device = folder.join(device);
    let monitor = first(&device.join("hwmon"), "hwmon").unwrap_or_default();
    let tile = device.join("tile0/gt0/freq0");
    let card = first(&device.join("drm"), "card").unwrap_or_default();
    let slice = card.join("gt/gt0");
    let megahertz = || {
        let paths = [tile.join("act_freq"), slice.join("rps_act_freq_mhz")];
        paths
            .iter()
            .find_map(|path| value(path))
            .map(|it| it * 1_000_000)
    };
    State {
        busy: value(&device.join("gpu_busy_percent")),
        memory_used: value(&device.join("mem_info_vram_used")),
        memory_total: value(&device.join("mem_info_vram_total")),
        power: value(&monitor.join("power1_average"))
            .or_else(|| value(&monitor.join("power1_input"))),
        energy: value(&monitor.join("energy1_input")),
        temperature: value(&monitor.join("temp1_input")),
        clock: value(&monitor.join("freq1_input")).or_else(megahertz),
        throttle: reasons(&tile.join("throttle"), "reason_")
            .or_else(|| reasons(&slice, "throttle_reason_")),
    }
}

/// Returns the first entry of a folder whose name begins with `prefix`, and a digit.
fn first(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let is_numbered = |name: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty())
    };
    let name = names(folder).into_iter().find(|name| is_numbered(name))?;
    Some(folder.join(name))
}

/// Returns the names of the files `prefix`REASON that contain a number other than 0. `None` if
/// there is no such file. A file `status` says only whether there is any reason.
fn reasons(folder: &Path, prefix: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for name in names(folder) {
        let reason = name.strip_prefix(prefix).filter(|it| *it != "status");
        let set = reason.and_then(|reason| Some((reason, value(&folder.join(&name))?)));
        all.extend(set.map(|(reason, value)| (reason.to_owned(), value)));
    }
    if all.is_empty() {
        return None;
    }
    let set = all.into_iter().filter(|(_, value)| *value > 0);
    Some(set.map(|(reason, _)| reason).collect())
}

/// Returns the sorted names in a folder, which is empty if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_ENTRIES).collect();
    names.sort_unstable();
    names
}

fn value(path: &Path) -> Option<u64> {
    let text = fs::read(path).ok()?;
    words(&text).next().and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, which are named and written as the drivers do.
    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = format!("ridealong-gpu-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        for (path, text) in files {
            let path = folder.join("0000:03:00.0").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn state(name: &str, files: &[(&str, &str)]) -> State {
        let folder = folder(name, files);
        let state = read(&folder, "0000:03:00.0");
        fs::remove_dir_all(folder).unwrap();
        state
    }

    #[test]
    fn amdgpu_reports_its_use_and_its_memory() {
        let files = [
            ("gpu_busy_percent", "87\n"),
            ("mem_info_vram_used", "1073741824\n"),
            ("mem_info_vram_total", "17163091968\n"),
            ("hwmon/hwmon4/power1_average", "212000000\n"),
            ("hwmon/hwmon4/temp1_input", "61000\n"),
            ("hwmon/hwmon4/freq1_input", "1725000000\n"),
        ];
        let expected = State {
            busy: Some(87),
            memory_used: Some(1 << 30),
            memory_total: Some(17_163_091_968),
            power: Some(212_000_000),
            energy: None,
            temperature: Some(61_000),
            clock: Some(1_725_000_000),
            throttle: None,
        };
        assert_eq!(state("amdgpu", &files), expected);
    }

    #[test]
    fn xe_reports_its_energy_and_why_its_clock_is_limited() {
        let throttle = |reason: &str| format!("tile0/gt0/freq0/throttle/{reason}");
        let (power, heat, status) = (
            throttle("reason_pl1"),
            throttle("reason_thermal"),
            throttle("status"),
        );
        let files = [
            ("hwmon/hwmon2/energy1_input", "5000000\n"),
            ("tile0/gt0/freq0/act_freq", "1350\n"),
            (&*power, "1\n"),
            (&*heat, "1\n"),
            (&*status, "1\n"),
        ];
        let expected = State {
            energy: Some(5_000_000),
            clock: Some(1_350_000_000),
            throttle: Some(vec!["pl1".to_owned(), "thermal".to_owned()]),
            ..State::default()
        };
        let found = state("xe", &files);
        assert_eq!(found, expected);
        assert_eq!(found.is_limited_by_power(), Some(true));
        assert_eq!(found.is_limited_by_heat(), Some(true));
    }

    #[test]
    fn i915_reports_its_clock_in_the_folder_of_its_card() {
        let files = [
            ("drm/card1/gt/gt0/rps_act_freq_mhz", "300\n"),
            ("drm/card1/gt/gt0/throttle_reason_pl1", "0\n"),
            ("drm/card1/gt/gt0/throttle_reason_status", "0\n"),
            ("drm/renderD128/dev", "226:128\n"),
        ];
        let expected = State {
            clock: Some(300_000_000),
            throttle: Some(vec![]),
            ..State::default()
        };
        let found = state("i915", &files);
        assert_eq!(found, expected);
        assert_eq!(found.is_limited_by_power(), Some(false));
        assert_eq!(State::default().is_limited_by_heat(), None);
    }

    #[test]
    fn only_the_address_of_a_device_is_a_path() {
        let folder = folder("paths", &[("gpu_busy_percent", "5\n")]);
        assert_eq!(read(&folder, "0000:03:00.0").busy, Some(5));
        for name in ["0000:03:00.1", "panthor", "..", "a/../0000:03:00.0", ""] {
            assert_eq!(read(&folder, name), State::default(), "{name}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
