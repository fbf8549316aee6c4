//! Reads the file of the reader of NVIDIA's GPUs. Its format is that of `struct readings` in
//! observer/gpu/readings.h. Any process of the target can write anything into this file, and at any
//! time.

use std::collections::BTreeMap;

use linux::read_at::ReadAt;
use nix::errno::Errno;

use crate::metrics::gpu::sysfs;
use crate::tools::words::Words;

/// The beginning of the file; the last byte is the version of the format.
pub const MAGIC: &[u8; 8] = b"RLGPU\0\0\x01";
const HEADER: usize = 64;
const MAX_DEVICES: usize = 64;
const DEVICE: usize = 152;
const UUID_AT: usize = 56;
/// How often the file is read until the reader does not write meanwhile.
const TRIES: usize = 3;

/// The highest values that a GPU can have: bytes of memory, milliwatts, millijoules, degrees
/// Celsius, and MHz. Higher ones are no readings.
const MAX_MEMORY: u64 = 1 << 50;
const MAX_POWER: u64 = 100_000_000;
const MAX_ENERGY: u64 = 1 << 50;
const MAX_TEMPERATURE: u64 = 250;
const MAX_CLOCK: u64 = 100_000;

/// The names of the reasons why the clock is limited, by their bits (`nvmlClocksEventReasons` in
/// nvml.h).
const REASONS: [&str; 9] = [
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
];

/// What the reader does, or why it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It starts.
    Starting,
    /// No process has a GPU open.
    Waiting,
    /// It reads the GPUs.
    Reading,
    /// It cannot be executed, for the reason of this error number.
    NotExecutable(u32),
    /// libnvidia-ml.so.1 cannot be loaded.
    NoLibrary,
    /// The library lacks functions.
    OldLibrary,
    /// NVML cannot begin, with this error number of NVML.
    NoNvml(u32),
    /// It has ended with this exit code.
    Exited(u32),
    /// This signal has ended it.
    Killed(u32),
    /// A call of NVML did not return.
    Hung,
    /// The number is not known.
    Unknown,
}

impl State {
    fn from_numbers(state: u32, detail: u32) -> Self {
        match state {
            0 => Self::Starting,
            1 => Self::Waiting,
            2 => Self::Reading,
            3 => Self::NotExecutable(detail),
            4 => Self::NoLibrary,
            5 => Self::OldLibrary,
            6 => Self::NoNvml(detail),
            7 => Self::Exited(detail),
            8 => Self::Killed(detail),
            9 => Self::Hung,
            _ => Self::Unknown,
        }
    }

    /// Returns why the reader does not read, as a sentence. `None` if it reads, or still may.
    pub fn problem(self) -> Option<String> {
        let problem = match self {
            Self::Starting | Self::Waiting | Self::Reading => return None,
            Self::NotExecutable(number) => {
                let error = Errno::from_raw(number.cast_signed());
                let help = match error {
                    Errno::ENOENT => ": the image lacks the dynamic linker of glibc, or the tool",
                    _ => "",
                };
                return Some(format!(
                    "the reader of the GPUs cannot be executed: {}{help}",
                    error.desc()
                ));
            }
            Self::NoLibrary => {
                "libnvidia-ml.so.1 cannot be loaded; the container runtime of NVIDIA mounts it \
                 with the driver capability utility (NVIDIA_DRIVER_CAPABILITIES)"
                    .to_owned()
            }
            Self::OldLibrary => "libnvidia-ml.so.1 is too old".to_owned(),
            Self::NoNvml(number) => format!("NVML cannot begin: {}", describe(number)),
            Self::Exited(code) => format!("their reader has ended with the exit code {code}"),
            Self::Killed(signal) => format!("signal {signal} has ended their reader"),
            Self::Hung => "a call of NVML did not return, so their reader was ended".to_owned(),
            Self::Unknown => "the file of their reader has another format".to_owned(),
        };
        Some(format!("the GPUs of NVIDIA have no rows: {problem}"))
    }
}

/// Returns an error number of NVML (`nvmlReturn_t` in nvml.h), with its meaning.
pub fn describe(number: u32) -> String {
    let meaning = match number {
        4 => "no permission",
        9 => "the driver is not loaded",
        15 => "the GPU is lost",
        16 => "the GPU needs a reset",
        18 => "the driver and the library have different versions",
        _ => return format!("error {number} of NVML"),
    };
    format!("{meaning} (error {number} of NVML)")
}

/// What the reader has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readings {
    /// What it does.
    pub state: State,
    /// When it has read the devices, in nanoseconds since boot; 0 if it has not.
    pub looked: u64,
    /// The devices that NVML has counted.
    pub counted: u32,
    /// An error number of NVML of a device without readings; 0 if there was none.
    pub error: u32,
    /// The state of the devices, by their UUIDs.
    pub devices: BTreeMap<String, sysfs::State>,
}

/// Reads the file. `None` if it is not that of the reader, or if it changes all the time.
pub fn read<F: ReadAt + ?Sized>(file: &F) -> Option<Readings> {
    (0..TRIES).find_map(|_| read_once(file))
}

fn read_once<F: ReadAt + ?Sized>(file: &F) -> Option<Readings> {
    let header = read_header(file)?;
    let words = Words(&header);
    let count = MAX_DEVICES.min(words.u32(20) as usize);
    let mut bytes = vec![0; count * DEVICE];
    let length = file.read_at(HEADER as u64, &mut bytes);
    let after = read_header(file)?;
    let sequence = words.u32(16);
    // The reader may have been ended while it wrote. Why it ended is still known.
    let is_whole = sequence.is_multiple_of(2) && Words(&after).u32(16) == sequence;
    let state = State::from_numbers(Words(&after).u32(8), Words(&after).u32(12));
    if !is_whole && state.problem().is_none() {
        return None;
    }
    let devices = bytes[..length].chunks_exact(DEVICE).filter_map(read_device);
    Some(Readings {
        state,
        looked: words.u64(32),
        counted: words.u32(24),
        error: words.u32(28),
        devices: if is_whole {
            devices.collect()
        } else {
            BTreeMap::new()
        },
    })
}

fn read_header<F: ReadAt + ?Sized>(file: &F) -> Option<[u8; HEADER]> {
    let mut header = [0; HEADER];
    let is_whole = file.read_at(0, &mut header) == HEADER && header.starts_with(MAGIC);
    is_whole.then_some(header)
}

/// Reads a device. `None` if it has no valid UUID.
fn read_device(bytes: &[u8]) -> Option<(String, sysfs::State)> {
    let words = Words(bytes);
    let uuid = bytes[UUID_AT..].split(|byte| *byte == 0).next()?;
    let is_valid = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    if uuid.is_empty() || !uuid.iter().all(is_valid) {
        return None;
    }
    let has = words.u32(0);
    let reading =
        |bit: u32, value: u64, most: u64| (has & bit != 0 && value <= most).then_some(value);
    let short = |bit, at, most| reading(bit, u64::from(words.u32(at)), most);
    let total = reading(2, words.u64(32), MAX_MEMORY);
    let state = sysfs::State {
        busy: short(1, 4, 100),
        memory_used: total.and_then(|total| reading(2, words.u64(24), total)),
        memory_total: total,
        power: short(4, 8, MAX_POWER).map(|milliwatts| milliwatts * 1000),
        energy: reading(8, words.u64(40), MAX_ENERGY).map(|millijoules| millijoules * 1000),
        temperature: short(16, 12, MAX_TEMPERATURE).map(|degrees| degrees * 1000),
        clock: short(32, 16, MAX_CLOCK).map(|megahertz| megahertz * 1_000_000),
        throttle: reading(64, words.u64(48), u64::MAX).map(reasons),
    };
    Some((String::from_utf8(uuid.to_vec()).ok()?, state))
}

/// Returns the names of the bits of reasons.
fn reasons(bits: u64) -> Vec<String> {
    let bits_and_names = REASONS.iter().enumerate();
    let mut names: Vec<String> = bits_and_names
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    if bits >> REASONS.len() != 0 {
        names.push("other".to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a reader that reads one device, which has all readings.
    fn example() -> Vec<u8> {
        let mut bytes = vec![0; HEADER + DEVICE];
        bytes[..8].copy_from_slice(MAGIC);
        for (at, word) in [(8, 2), (16, 2), (20, 1), (24, 1)] {
            put(&mut bytes, at, word);
        }
        for (at, word) in [(0, 127), (4, 60), (8, 312_500), (12, 61), (16, 1980)] {
            put(&mut bytes, HEADER + at, word);
        }
        for (at, word) in [(24, 1 << 30), (32, 80 << 30), (40, 5_000_000), (48, 0x44)] {
            put_long(&mut bytes, HEADER + at, word);
        }
        bytes[HEADER + UUID_AT..HEADER + UUID_AT + 5].copy_from_slice(b"GPU-0");
        bytes
    }

    fn put(bytes: &mut [u8], at: usize, word: u32) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn put_long(bytes: &mut [u8], at: usize, word: u64) {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    fn device(bytes: &[u8]) -> Option<sysfs::State> {
        read(bytes)?.devices.remove("GPU-0")
    }

    #[test]
    fn a_device_has_its_readings() {
        let readings = read(&example()).unwrap();
        assert_eq!((readings.state, readings.counted), (State::Reading, 1));
        let reasons = ["sw_power_cap", "hw_thermal_slowdown"].map(str::to_owned);
        let expected = sysfs::State {
            busy: Some(60),
            memory_used: Some(1 << 30),
            memory_total: Some(80 << 30),
            power: Some(312_500_000),
            energy: Some(5_000_000_000),
            temperature: Some(61_000),
            clock: Some(1_980_000_000),
            throttle: Some(reasons.to_vec()),
        };
        let found = device(&example()).unwrap();
        assert_eq!(found, expected);
        assert_eq!(found.is_limited_by_power(), Some(true));
        assert_eq!(found.is_limited_by_heat(), Some(true));
    }

    #[test]
    fn readings_that_a_device_does_not_have_are_missing() {
        let mut bytes = example();
        put(&mut bytes, HEADER, 0);
        assert_eq!(device(&bytes), Some(sysfs::State::default()));
    }

    #[test]
    fn readings_that_no_gpu_can_have_are_missing() {
        let mut bytes = example();
        bytes[HEADER + 4..HEADER + UUID_AT].fill(0xff);
        let found = device(&bytes).unwrap();
        let reasons = found.throttle.clone().unwrap();
        assert_eq!(reasons.last().map(String::as_str), Some("other"));
        let expected = sysfs::State {
            throttle: Some(reasons),
            ..sysfs::State::default()
        };
        assert_eq!(found, expected);
        let mut bytes = example();
        put_long(&mut bytes, HEADER + 24, 81 << 30);
        let found = device(&bytes).unwrap();
        assert_eq!(
            (found.memory_used, found.memory_total),
            (None, Some(80 << 30))
        );
    }

    #[test]
    fn a_uuid_that_is_none_has_no_row() {
        for uuid in [*b"\0PU-0", *b"GPU\"0"] {
            let mut bytes = example();
            bytes[HEADER + UUID_AT..HEADER + UUID_AT + 5].copy_from_slice(&uuid);
            assert_eq!(read(&bytes).unwrap().devices.len(), 0);
        }
    }

    #[test]
    fn devices_that_are_being_written_are_not_read() {
        let mut bytes = example();
        put(&mut bytes, 16, 3);
        assert_eq!(read(&bytes), None);
        put(&mut bytes, 8, 8);
        put(&mut bytes, 12, 9);
        let readings = read(&bytes).unwrap();
        assert_eq!(readings.state, State::Killed(9));
        assert!(readings.devices.is_empty());
    }

    #[test]
    fn other_files_and_numbers_beyond_the_file_have_no_devices() {
        assert_eq!(read(b"RLGPU".as_slice()), None);
        let mut bytes = example();
        bytes[7] = 2;
        assert_eq!(read(&bytes), None);
        let mut bytes = example();
        put(&mut bytes, 20, u32::MAX);
        assert_eq!(read(&bytes).unwrap().devices.len(), 1);
        assert_eq!(read(&bytes[..HEADER]).unwrap().devices.len(), 0);
    }
}
