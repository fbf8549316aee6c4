//! The metrics of the program. Each has a folder with its name, and declares in one place all that
//! the rest of the program knows of it.

pub mod cpu_profile;
pub mod gpu;
pub mod gpu_nvidia;
pub mod io_sysstat;
pub mod metric;
pub mod mpi_trace;
pub mod nccl_ras;
pub mod network;
pub mod perf_sysstat;
pub mod pressure;
pub mod python_profile;
pub mod torch_collectives;
pub mod torch_trace;
pub mod vitals;
pub mod world_rank;

use self::metric::Metric;
use crate::sampling::columns::Rows;

/// Lists the metrics and their rows.
macro_rules! list {
    ($($metric:ident),* $(,)?) => {
        /// All metrics, in the order of the help of the program.
        pub static METRICS: [&Metric; 13] = [$(&$metric::METRIC),*];

        /// The rows of the metrics, in the same order. They are apart, because the program does
        /// not need their descriptions.
        pub const ROWS: [Rows; 13] = [$($metric::ROWS),*];
    };
}

list!(
    vitals,
    perf_sysstat,
    io_sysstat,
    pressure,
    network,
    cpu_profile,
    mpi_trace,
    python_profile,
    torch_collectives,
    torch_trace,
    nccl_ras,
    gpu,
    gpu_nvidia,
);

/// Returns the metric with this name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS
        .into_iter()
        .find(|metric| metric.declaration.name == name)
}

/// Returns the names of all metrics.
pub fn names() -> Vec<&'static str> {
    METRICS.map(|metric| metric.declaration.name).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_a_folder_with_its_name() {
        // observer/build.sh makes a link to the program for each of these folders.
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics");
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut folders: Vec<String> = entries
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        let mut expected: Vec<String> = names().iter().map(|name| name.replace('-', "_")).collect();
        folders.sort_unstable();
        expected.sort_unstable();
        assert_eq!(folders, expected);
    }

    #[test]
    fn a_metric_is_found_by_its_name() {
        for name in names() {
            assert_eq!(find(name).map(|metric| metric.declaration.name), Some(name));
        }
        assert_eq!(find("pidstat"), None);
    }
}
