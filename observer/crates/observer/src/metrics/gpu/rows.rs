//! The rows of the metric gpu.

use super::clients::{EngineUse, Use};
use super::sysfs::State;
use crate::sampling::row::{id, nanoseconds, number, row, text, thousandths};

row! {
    /// the GPUs that observed processes have opened, from /sys: the numbers include the use by
    /// other pods; at most 64
    pub DEVICE: "device" of "device", "GPU";
    /// Returns the row of a device.
    pub fn device(time: &str, name: &str, driver: &str, state: &State) for thing(time) {
        let thousandth = |number: Option<u64>| number.map(|number| number / 1000);
        /// the address of the GPU on the PCI bus, or its driver if it is on no such bus; with the
        /// driver nvidia its UUID, as nvidia-smi -L shows it
        device: text(name) => key();
        /// the driver of the GPU, such as amdgpu
        driver: text(driver);
        /// % of the last moment for which the GPU was busy, as its driver measures it (amdgpu), or
        /// in which a kernel was running on it (nvidia)
        gpu_busy: number(state.busy) => gauge("percent").title("GPU busy");
        /// bytes of the memory of the GPU that are in use (amdgpu), or in use or reserved by its
        /// driver (nvidia)
        memory_used: number(state.memory_used) => gauge("bytes").title("Memory of the GPU in use");
        /// bytes of the memory of the GPU (amdgpu, nvidia)
        memory_total: number(state.memory_total)
            => gauge("bytes").title("Memory of the GPU").not_exported();
        /// the power of the GPU (amdgpu, nvidia)
        power: thousandths(thousandth(state.power)) => gauge("W").title("Power of the GPU");
        /// the energy of the GPU since its driver was loaded (i915, xe, nvidia)
        energy: thousandths(thousandth(state.energy))
            => counter("J").title("Energy of the GPU").not_exported();
        /// the first temperature that its driver reports, or that of the chip (nvidia)
        temperature: thousandths(state.temperature) => gauge("Cel").title("Temperature of the GPU");
        /// the clock of its first engine, or of its multiprocessors (nvidia)
        clock: number(state.clock.map(|clock| clock / 1_000_000))
            => gauge("MHz").title("Clock of the GPU");
        let names = state.throttle.as_ref().map(|reasons| reasons.join(","));
        /// the reasons for which the clock is limited, as i915, xe and NVML name them, separated by
        /// commas, such as pl1, thermal or sw_power_cap; none if there is no reason
        throttle: text(names.as_deref().map(|names| if names.is_empty() { "none" } else { names }));
        /// 1 if one of these reasons is power (pl1, pl2, pl4, vr_tdc, sw_power_cap or
        /// hw_power_brake_slowdown), else 0
        power_limited: number(state.is_limited_by_power().map(u64::from))
            => gauge("count").title("Clock limited by power").not_exported();
        /// 1 if one of these reasons is heat (thermal, prochot, ratl, vr_thermalert,
        /// sw_thermal_slowdown or hw_thermal_slowdown), else 0
        heat_limited: number(state.is_limited_by_heat().map(u64::from))
            => gauge("count").title("Clock limited by heat").not_exported();
    }
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
    row! {
        /// the processes that have opened a GPU, for each GPU: a client that several processes
        /// share counts for one of them
        pub PROCESS: "process" of "process", "GPU";
        /// Returns the row of the process.
        pub fn process(&self, own: &Use)
        for process(self.time, id(self.user.pid), &self.user.tail) {
            /// the rank in the variable RANK of torchrun or a variable of a launcher of MPI; null
            /// if the process had none when it executed its program
            world_rank: number(self.user.rank.map(u64::from));
            /// the address of the GPU on the PCI bus, or its driver if it is on no such bus
            device: text(self.device) => key();
            /// the driver of the GPU, such as amdgpu
            driver: text(&*own.driver);
            /// how often the process has opened the GPU
            clients: number(own.clients) => gauge("count").title("Open GPUs").not_exported();
            /// bytes of the process in the memory of the GPU; memory that several clients share
            /// counts for each of them; null if the GPU has none
            gpu_memory: number(own.memory) => gauge("bytes").title("Memory of the GPU");
            /// bytes of the process in the memory of the node, for the GPU
            node_memory: number(own.system_memory)
                => gauge("bytes").title("Memory of the node for the GPU");
        }
    }

    row! {
        /// the engines of a GPU that a process has used, as its driver names them
        pub ENGINE: "engine" of "process", "GPU";
        /// Returns the row of an engine.
        pub fn engine(&self, name: &str, own: EngineUse)
        for process(self.time, id(self.user.pid), &self.user.tail) {
            /// the address of the GPU on the PCI bus, or its driver if it is on no such bus
            device: text(self.device) => key();
            /// the engine, such as compute, or a group of identical engines
            engine: text(name) => key();
            /// the engines of the group, 1 for one engine
            engines: number(own.capacity) => gauge("count").not_exported();
            /// seconds for which the engines were busy for the process, summed over the engines;
            /// xe: since the first reading
            engine_busy: nanoseconds(own.busy) => counter("s").title("Busy engines of the GPU");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(row: &[u8]) -> serde_json::Value {
        serde_json::from_slice(row).unwrap()
    }

    #[test]
    fn the_row_of_a_device_has_its_state() {
        let state = State {
            power: Some(212_500_000),
            clock: Some(1_725_000_000),
            temperature: Some(61_000),
            throttle: Some(vec!["pl1".to_owned(), "pl2".to_owned()]),
            ..State::default()
        };
        let row = device("T", "0000:03:00.0", "amdgpu", &state);
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
    fn the_rows_of_a_process_have_its_use() {
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
        let row = parsed(&row);
        assert_eq!(
            (&row["engine_busy"], &row["engines"]),
            (&1.5.into(), &4.into())
        );
    }
}
