//! The rank that the launcher of an MPI job has given to a process, from the variables of the
//! process. A process knows it before it has called `MPI_Init`.

use super::file::{State, Trace};
use crate::runtime::machine::Machine;
use crate::sampling::environ::{find, number};
use crate::sampling::process::Process;

/// The variables with the rank and the number of ranks, by launcher: Open MPI; the process managers
/// with PMI, as that of MPICH; MVAPICH; those with `PMIx`; Flux; Slurm. The recorder reads the
/// same ones (`copy_rank` in observer/mpi/lifetime.h).
const RANKS: [(&str, &str); 6] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];
/// The variables with the identifier of the job (`copy_job` in observer/mpi/lifetime.h).
const JOBS: [&str; 4] = ["PMIX_NAMESPACE", "FLUX_JOB_ID", "SLURM_JOB_ID", "PMI_JOBID"];
/// The maximum bytes of the identifier of a job (`TEXT` in observer/mpi/limits.h).
const MAX_JOB: usize = 127;

/// What a launcher has assigned to a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    /// The identifier of the job, or an empty text.
    pub job: String,
    /// The number of processes of `MPI_COMM_WORLD`; 0 if it is not known.
    pub size: u32,
    /// The rank in `MPI_COMM_WORLD`, if it is known.
    pub rank: Option<u32>,
}

impl Assigned {
    /// Returns what the recorder has read from the variables of its process, while the process is
    /// in `MPI_Init`, or uses sessions only.
    pub fn of(trace: &Trace) -> Option<Self> {
        matches!(trace.state, State::Starting | State::Sessions).then(|| Self {
            job: trace.job.clone(),
            size: trace.size,
            rank: Some(trace.rank).filter(|rank| *rank != u32::MAX),
        })
    }

    /// Parses the variables of a process, each of which ends with a zero byte. `None` if they do
    /// not name a rank.
    pub fn parse(environ: &[u8]) -> Option<Self> {
        let (rank, size) = rank_in(environ)?;
        let mut job = JOBS.iter().filter_map(|name| find(environ, name));
        let job = job.find(|text| !text.is_empty()).unwrap_or(b"");
        Some(Self {
            job: encode::json::clean(&job[..job.len().min(MAX_JOB)]),
            size,
            rank: Some(rank),
        })
    }
}

/// Returns the rank and the number of ranks that a launcher of MPI has given to a process; the
/// number is 0 if it is not known. `None` if the variables do not name a rank.
pub fn rank_in(environ: &[u8]) -> Option<(u32, u32)> {
    RANKS.iter().find_map(|(rank, size)| {
        let rank = find(environ, rank).and_then(number)?;
        Some((rank, find(environ, size).and_then(number).unwrap_or(0)))
    })
}

/// Returns when a process started, in seconds since boot.
pub fn started_at(process: &Process, machine: &Machine) -> f64 {
    encode::number::float(process.start) / machine.ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[&str]) -> Option<Assigned> {
        Assigned::parse(variables.join("\0").as_bytes())
    }

    fn assigned(job: &str, size: u32, rank: u32) -> Assigned {
        Assigned {
            job: job.to_owned(),
            size,
            rank: Some(rank),
        }
    }

    #[test]
    fn the_launcher_that_is_nearest_to_the_process_is_read() {
        let slurm = ["SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_JOB_ID=7"];
        let open_mpi = [
            "OMPI_COMM_WORLD_SIZE=8",
            "OMPI_COMM_WORLD_RANK=3",
            "PMIX_NAMESPACE=1.1",
        ];
        assert_eq!(parse(&slurm), Some(assigned("7", 2, 0)));
        let both = [slurm, open_mpi].concat();
        assert_eq!(parse(&both), Some(assigned("1.1", 8, 3)));
    }

    #[test]
    fn a_launcher_may_not_say_how_many_ranks_there_are() {
        assert_eq!(parse(&["PMIX_RANK=5"]), Some(assigned("", 0, 5)));
    }

    #[test]
    fn other_variables_are_no_rank() {
        assert_eq!(parse(&["PMI_RANK=", "PMI_RANKS=3", "X_PMI_RANK=1"]), None);
        assert_eq!(parse(&["PMI_RANK=-1", "SLURM_PROCID=x"]), None);
        assert_eq!(parse(&["PMI_RANK=99999999999"]), None);
        assert_eq!(parse(&[]), None);
    }
}
