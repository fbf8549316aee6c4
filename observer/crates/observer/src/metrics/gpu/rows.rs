//! The rows of the metric gpu, as JSON Lines. src/catalog/gpu.yaml describes their columns.

use encode::json::{push_known, push_text};

use super::clients::{EngineUse, Use};
use super::sysfs::State;
use crate::runtime::declaration::Section;
use crate::sampling::json_rows::{begin, push_decimals};

/// The rows of devices.
pub const DEVICE: Section = Section {
    name: "device",
    columns: &[
        "device",
        "driver",
        "gpu_busy",
        "memory_used",
        "memory_total",
        "power",
        "energy",
        "temperature",
        "clock",
        "throttle",
        "power_limited",
        "heat_limited",
    ],
};

/// The rows of processes and devices.
pub const PROCESS: Section = Section {
    name: "process",
    columns: &[
        "container",
        "program",
        "pid",
        "world_rank",
        "device",
        "driver",
        "clients",
        "gpu_memory",
        "node_memory",
    ],
};

/// The rows of processes and engines.
pub const ENGINE: Section = Section {
    name: "engine",
    columns: &[
        "container",
        "program",
        "pid",
        "device",
        "engine",
        "engines",
        "engine_busy",
    ],
};

const MICRO: u32 = 6;
const MILLI: u32 = 3;

/// Returns the row of a device.
pub fn device(time: &str, device: &str, driver: &str, state: &State) -> Vec<u8> {
    let mut out = Vec::new();
    let thousandth = |number: Option<u64>| number.map(|number| number / 1000);
    begin(&mut out, time, &DEVICE);
    push_text(&mut out, "device", Some(device));
    push_text(&mut out, "driver", Some(driver));
    push_known(&mut out, "gpu_busy", state.busy);
    push_known(&mut out, "memory_used", state.memory_used);
    push_known(&mut out, "memory_total", state.memory_total);
    push_decimals(&mut out, "power", thousandth(state.power), MILLI);
    push_decimals(&mut out, "energy", thousandth(state.energy), MILLI);
    push_decimals(&mut out, "temperature", state.temperature, MILLI);
    push_known(
        &mut out,
        "clock",
        state.clock.map(|clock| clock / 1_000_000),
    );
    let names = |reasons: &Vec<String>| match reasons.as_slice() {
        [] => "none".to_owned(),
        reasons => reasons.join(","),
    };
    push_text(
        &mut out,
        "throttle",
        state.throttle.as_ref().map(names).as_deref(),
    );
    let limits = [
        ("power_limited", state.is_limited_by_power()),
        ("heat_limited", state.is_limited_by_heat()),
    ];
    for (name, is_limited) in limits {
        push_known(&mut out, name, is_limited.map(u64::from));
    }
    out.push(b'}');
    out
}

/// A process that has opened a device.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// Its id.
    pub pid: i32,
    /// Its rank, if a launcher has given it one.
    pub rank: Option<u32>,
    /// The end of its rows: the container and the program.
    pub tail: Box<[u8]>,
}

/// The rows of a process and a device.
pub struct UserRows<'a> {
    /// The time of the rows.
    pub time: &'a str,
    /// The process.
    pub user: &'a User,
    /// The device.
    pub device: &'a str,
}

impl UserRows<'_> {
    /// Returns the row of the process.
    pub fn process(&self, own: &Use) -> Vec<u8> {
        let mut out = self.begin(&PROCESS);
        push_known(&mut out, "world_rank", self.user.rank.map(u64::from));
        push_text(&mut out, "device", Some(self.device));
        push_text(&mut out, "driver", Some(&own.driver));
        push_known(&mut out, "clients", Some(own.clients));
        push_known(&mut out, "gpu_memory", own.memory);
        push_known(&mut out, "node_memory", own.system_memory);
        out.extend_from_slice(&self.user.tail);
        out
    }

    /// Returns the row of an engine.
    pub fn engine(&self, name: &str, own: EngineUse) -> Vec<u8> {
        let mut out = self.begin(&ENGINE);
        push_text(&mut out, "device", Some(self.device));
        push_text(&mut out, "engine", Some(name));
        push_known(&mut out, "engines", Some(own.capacity));
        push_decimals(&mut out, "engine_busy", Some(own.busy / 1000), MICRO);
        out.extend_from_slice(&self.user.tail);
        out
    }

    fn begin(&self, section: &Section) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&mut out, self.time, section);
        let pid = u64::from(self.user.pid.unsigned_abs());
        push_known(&mut out, "pid", Some(pid));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::json_rows::columns_of;

    fn parsed(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    #[test]
    fn the_row_of_a_device_has_the_declared_columns() {
        let state = State {
            power: Some(212_500_000),
            clock: Some(1_725_000_000),
            temperature: Some(61_000),
            throttle: Some(vec!["pl1".to_owned(), "pl2".to_owned()]),
            ..State::default()
        };
        let row = device("T", "0000:03:00.0", "amdgpu", &state);
        assert_eq!(columns_of(&row), DEVICE.sorted_columns());
        let row = parsed(&row);
        assert_eq!(
            (&row["power"], &row["clock"]),
            (&212.5.into(), &1725.into())
        );
        assert_eq!(row["throttle"], "pl1,pl2");
        let limits = (&row["power_limited"], &row["heat_limited"]);
        assert_eq!(limits, (&1.into(), &0.into()));
        let row = parsed(&device("T", "0000:03:00.0", "i915", &State::default()));
        assert!(row["gpu_busy"].is_null() && row["heat_limited"].is_null());
        let idle = State {
            throttle: Some(vec![]),
            ..State::default()
        };
        let row = parsed(&device("T", "0000:03:00.0", "i915", &idle));
        assert_eq!(row["throttle"], "none");
    }

    #[test]
    fn the_rows_of_a_process_have_the_declared_columns() {
        let user = User {
            pid: 7,
            rank: Some(3),
            tail: b",\"container\":\"app\",\"program\":\"train.py\"}"
                .as_slice()
                .into(),
        };
        let rows = UserRows {
            time: "T",
            user: &user,
            device: "0000:03:00.0",
        };
        let own = Use {
            driver: "xe".to_owned(),
            memory: Some(5),
            ..Use::default()
        };
        let row = rows.process(&own);
        assert_eq!(columns_of(&row), PROCESS.sorted_columns());
        let row = parsed(&row);
        assert_eq!(
            (&row["world_rank"], &row["gpu_memory"]),
            (&3.into(), &5.into())
        );
        assert!(row["node_memory"].is_null());
        let engine = EngineUse {
            busy: 1_500_000_000,
            capacity: 4,
        };
        let row = rows.engine("ccs", engine);
        assert_eq!(columns_of(&row), ENGINE.sorted_columns());
        let row = parsed(&row);
        assert_eq!(
            (&row["engine_busy"], &row["engines"]),
            (&1.5.into(), &4.into())
        );
    }
}
