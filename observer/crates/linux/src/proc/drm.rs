//! Parses `/proc/PID/fdinfo/N` of an open GPU: what a client of a DRM driver uses
//! (Documentation/gpu/drm-usage-stats.rst in Linux). A client is an open file of a GPU, which
//! several processes, and several numbers of one process, can share.

use super::words::{lines, number, words};

/// The maximum engines and regions of memory of a client that are read.
const MAX_NAMES: usize = 32;
/// The maximum bytes of the name of an engine, a region, a driver or a device.
const MAX_NAME: usize = 32;

/// What a client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client<'a> {
    /// The driver, such as `amdgpu`.
    pub driver: &'a str,
    /// The address of the device on the PCI bus, such as `0000:03:00.0`; `None` for other devices.
    pub device: Option<&'a str>,
    /// The number of the client, which is unique for the device; `None` if the driver does not
    /// describe its clients.
    pub id: Option<u64>,
    /// The engines of the device that the driver names.
    pub engines: Vec<Engine<'a>>,
    /// Bytes in the memory of the device; `None` if the driver names no such memory.
    pub memory: Option<u64>,
    /// Bytes in the memory of the node; `None` if the driver names no such memory.
    pub system_memory: Option<u64>,
}

/// The use of an engine, or of a group of identical engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine<'a> {
    /// The name of the engine, such as `compute`.
    pub name: &'a str,
    /// The nanoseconds for which the engines were busy, summed over the engines of the group.
    pub busy: Option<u64>,
    /// The cycles for which the engines were busy, summed over the engines of the group.
    pub cycles: Option<u64>,
    /// The cycles of the clock of one engine since an unknown time.
    pub total_cycles: Option<u64>,
    /// The number of engines of the group, at least 1.
    pub capacity: u64,
}

impl<'a> Engine<'a> {
    /// An engine of which only the name is known.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            busy: None,
            cycles: None,
            total_cycles: None,
            capacity: 1,
        }
    }
}

/// Parses the text of an open file. `None` if it is not that of a GPU.
pub fn parse(text: &[u8]) -> Option<Client<'_>> {
    let mut client = Client::default();
    let mut regions = Vec::new();
    for line in lines(text) {
        let Some((key, value, unit)) = split(line) else {
            continue;
        };
        match key {
            "driver" => client.driver = name(value).unwrap_or_default(),
            "pdev" => client.device = name(value),
            "client-id" => client.id = number(value),
            _ => {
                let amount = number(value);
                take_engine(&mut client.engines, key, amount, unit);
                take_region(&mut regions, key, amount, unit);
            }
        }
    }
    client.memory = sum(&regions, is_of_device);
    client.system_memory = sum(&regions, is_of_node);
    (!client.driver.is_empty()).then_some(client)
}

/// Splits a line such as `drm-engine-gfx: 12 ns` into the key without `drm-`, the value and the
/// unit, which is empty if there is none.
fn split(line: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let line = line.strip_prefix(b"drm-")?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    let key = std::str::from_utf8(&line[..colon]).ok()?;
    let mut values = words(&line[colon + 1..]);
    Some((key, values.next()?, values.next().unwrap_or_default()))
}

/// Returns a name. `None` if it is too long, or has other characters than visible ones of ASCII.
fn name(text: &[u8]) -> Option<&str> {
    let is_name = text.len() <= MAX_NAME && text.iter().all(u8::is_ascii_graphic);
    std::str::from_utf8(text).ok().filter(|_| is_name)
}

fn take_engine<'a>(engines: &mut Vec<Engine<'a>>, key: &'a str, amount: Option<u64>, unit: &[u8]) {
    // The order matters: the first prefix is also the beginning of keys with the second one.
    let (of, engine) = if let Some(engine) = key.strip_prefix("engine-capacity-") {
        ("capacity", engine)
    } else if let Some(engine) = key.strip_prefix("engine-") {
        ("busy", engine)
    } else if let Some(engine) = key.strip_prefix("cycles-") {
        ("cycles", engine)
    } else if let Some(engine) = key.strip_prefix("total-cycles-") {
        ("total", engine)
    } else {
        return;
    };
    let (Some(engine), Some(amount)) = (name(engine.as_bytes()), amount) else {
        return;
    };
    let Some(engine) = find(engines, engine) else {
        return;
    };
    match of {
        "capacity" => engine.capacity = amount.max(1),
        // amdgpu uses one name for engines of two generations, of which a device has one.
        "busy" if unit == b"ns" => {
            engine.busy = Some(engine.busy.unwrap_or(0).saturating_add(amount));
        }
        "cycles" => engine.cycles = Some(amount),
        "total" => engine.total_cycles = Some(amount),
        _ => {}
    }
}

/// Returns the engine with this name, which is a new one if there is none. `None` if there are too
/// many.
fn find<'a, 'b>(engines: &'b mut Vec<Engine<'a>>, name: &'a str) -> Option<&'b mut Engine<'a>> {
    if let Some(at) = engines.iter().position(|engine| engine.name == name) {
        return engines.get_mut(at);
    }
    if engines.len() == MAX_NAMES {
        return None;
    }
    engines.push(Engine::new(name));
    engines.last_mut()
}

/// The bytes of a client in a region of memory, by the keys of the drivers.
#[derive(Clone, Copy)]
struct Region<'a> {
    name: &'a str,
    /// `drm-resident-`: the bytes of the buffers that are in the region now.
    resident: Option<u64>,
    /// `drm-memory-`: the same, by the older key of amdgpu.
    older: Option<u64>,
    /// `drm-total-`: the bytes of all buffers, also of those that have no place yet.
    total: Option<u64>,
}

fn take_region<'a>(regions: &mut Vec<Region<'a>>, key: &'a str, amount: Option<u64>, unit: &[u8]) {
    let Some((kind @ ("resident" | "memory" | "total"), region)) = key.split_once('-') else {
        return;
    };
    let factor = match unit {
        b"" => 1,
        b"KiB" => 1 << 10,
        b"MiB" => 1 << 20,
        b"GiB" => 1 << 30,
        _ => return,
    };
    let bytes = amount.and_then(|amount| amount.checked_mul(factor));
    let known = regions.iter().position(|known| known.name == region);
    if known.is_none() && regions.len() == MAX_NAMES {
        return;
    }
    let at = known.unwrap_or(regions.len());
    if known.is_none() {
        regions.push(Region {
            name: region,
            resident: None,
            older: None,
            total: None,
        });
    }
    let region = &mut regions[at];
    match kind {
        "resident" => region.resident = bytes,
        "memory" => region.older = bytes,
        _ => region.total = bytes,
    }
}

/// Whether a region is memory of the device: `vram` of amdgpu, `vram0` of xe, `local0` and
/// `stolen-local0` of i915.
fn is_of_device(region: &str) -> bool {
    ["vram", "local", "stolen-local"]
        .iter()
        .any(|name| region.starts_with(name))
}

/// Whether a region is memory of the node: `gtt` and `cpu` of amdgpu, `system` and `stolen` of
/// i915 and xe, `gtt` of xe, and `memory` of other drivers. The regions `gds`, `gws`, `oa` and
/// `doorbell` of amdgpu are no memory.
fn is_of_node(region: &str) -> bool {
    let is_stolen = region.starts_with("stolen") && !is_of_device(region);
    is_stolen || region.starts_with("system") || ["gtt", "cpu", "memory"].contains(&region)
}

fn sum(regions: &[Region<'_>], is_wanted: fn(&str) -> bool) -> Option<u64> {
    let wanted = regions.iter().filter(|region| is_wanted(region.name));
    wanted
        .filter_map(|region| region.resident.or(region.older).or(region.total))
        .reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fdinfo/");
        std::fs::read(format!("{folder}{name}.txt")).unwrap()
    }

    #[test]
    fn amdgpu_counts_nanoseconds_and_names_vram() {
        let text = recorded("amdgpu");
        let expected = Client {
            driver: "amdgpu",
            device: Some("0000:04:00.0"),
            id: Some(4),
            engines: vec![Engine {
                busy: Some(46_464_671),
                ..Engine::new("compute")
            }],
            memory: Some(44_564 << 10),
            system_memory: Some(2392 << 10),
        };
        assert_eq!(parse(&text), Some(expected));
    }

    #[test]
    fn i915_counts_nanoseconds_and_names_the_memory_of_the_node() {
        let text = recorded("i915");
        let found = parse(&text).unwrap();
        assert_eq!((found.driver, found.id), ("i915", Some(18)));
        let busy: Vec<_> = found.engines.iter().map(|it| (it.name, it.busy)).collect();
        let idle = |name| (name, Some(0));
        let render = ("render", Some(25_662_044_495));
        assert_eq!(
            busy,
            [render, idle("copy"), idle("video"), idle("video-enhance")]
        );
        assert_eq!((found.memory, found.system_memory), (None, Some(125 << 20)));
    }

    #[test]
    fn xe_counts_cycles_and_several_regions() {
        let text = recorded("xe");
        let found = parse(&text).unwrap();
        assert_eq!(found.device, Some("0000:4d:00.0"));
        let cycles = |name, cycles, capacity| Engine {
            cycles: Some(cycles),
            total_cycles: Some(24_339_816_184),
            capacity,
            ..Engine::new(name)
        };
        assert_eq!(
            found.engines,
            [cycles("bcs", 395, 16), cycles("ccs", 326, 2)]
        );
        assert_eq!(found.memory, Some((65_072_580 + 63_753_540) << 10));
        assert_eq!(found.system_memory, Some(264 << 10));
    }

    #[test]
    fn the_example_of_the_driver_xe_has_capacities() {
        let text = recorded("documented-xe");
        let found = parse(&text).unwrap();
        let capacities: Vec<_> = found
            .engines
            .iter()
            .map(|it| (it.name, it.capacity))
            .collect();
        let expected = [("rcs", 1), ("bcs", 1), ("vcs", 2), ("vecs", 2), ("ccs", 4)];
        assert_eq!(capacities, expected);
        assert_eq!(found.memory, Some(23_992 << 10));
    }

    #[test]
    fn amounts_without_the_expected_unit_are_unknown() {
        let text = b"drm-driver:\tx\ndrm-engine-a:\t5 ms\ndrm-memory-vram:\t5 pages\n\
            drm-memory-gtt: \t5\ndrm-total-system:\t-1\n";
        let found = parse(text).unwrap();
        assert_eq!(found.engines, [Engine::new("a")]);
        assert_eq!((found.memory, found.system_memory), (None, Some(5)));
    }

    #[test]
    fn a_zero_capacity_is_one() {
        let found = parse(b"drm-driver: x\ndrm-engine-capacity-a: 0\n").unwrap();
        assert_eq!(found.engines, [Engine::new("a")]);
    }

    #[test]
    fn other_files_are_no_clients() {
        assert_eq!(parse(b"pos:\t0\nflags:\t0100002\nmnt_id:\t15\n"), None);
        assert_eq!(parse(b"drm-driver:\t\n"), None);
        assert_eq!(parse(b""), None);
    }
}
