//! Fuzzes the reader of the file with the readings of NVIDIA's GPUs, and its rows.

use ridealong_observer::metrics::gpu::rows;
use ridealong_observer::metrics::gpu_nvidia::readings::{MAGIC, read};

use crate::memory::Memory;

pub fn run(data: &[u8]) {
    let Some(readings) = read(&Memory([(MAGIC.len(), data), (0, MAGIC)])) else {
        return;
    };
    let _ = readings.state.problem();
    for (uuid, state) in &readings.devices {
        let _ = rows::device("T", uuid, "nvidia", state);
    }
}
