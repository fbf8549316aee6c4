//! Fuzzes the parsers of `/proc/PID/environ`, which a process can overwrite (`PR_SET_MM`).

use ridealong_observer::metrics::mpi_trace::launcher::Assigned;
use ridealong_observer::metrics::world_rank::WorldRank;

pub fn run(data: &[u8]) {
    // The names are too long to be found by chance, so the input is also the value of a variable.
    for name in [
        "",
        "PMI_RANK=",
        "OMPI_COMM_WORLD_SIZE=2\0OMPI_COMM_WORLD_RANK=",
        "PMI_RANK=0\0PMI_JOBID=",
        "LOCAL_RANK=0\0RANK=",
    ] {
        let variables = [name.as_bytes(), data].concat();
        let rank = WorldRank::parse(&variables).given;
        assert!(rank.is_none_or(|(rank, _)| rank != u32::MAX));
        if let Some(assigned) = Assigned::parse(&variables) {
            assert!(assigned.rank.is_some_and(|rank| rank != u32::MAX));
            // An escape is at most six bytes long.
            assert!(assigned.job.len() <= 127 * 6);
        }
    }
}
