//! The ranks that launchers of `PyTorch` and MPI have given to processes, from the variables that
//! the processes had when they executed their program.

use std::collections::BTreeSet;

use crate::metrics::mpi_trace::launcher;
use crate::sampling::environ::{Environs, find, number};
use crate::sampling::process::Key;
use crate::sampling::process_table::ProcessTable;

/// What the variables of a process say about its rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldRank {
    /// The rank and the number of ranks, which is 0 if it is not known.
    pub given: Option<(u32, u32)>,
    /// Whether a launcher in the pod has given it, such as torchrun: `LOCAL_RANK` is set too.
    pub is_local: bool,
}

impl WorldRank {
    /// Parses the variables of a process, each of which ends with a zero byte.
    ///
    /// The launcher that is nearest to the process counts. torchrun sets `RANK` and `LOCAL_RANK`
    /// (`torch/distributed/elastic/agent/server/local_elastic_agent.py`), and a launcher of MPI may
    /// have started torchrun. `RANK` alone can be the rank of the pod: the Kubeflow Training
    /// Operator sets this variable in each container
    /// (`pkg/controller.v1/pytorch/envvar.go`).
    pub fn parse(environ: &[u8]) -> Self {
        let value = |name: &str| find(environ, name).and_then(number);
        let torch = || Some((value("RANK")?, value("WORLD_SIZE").unwrap_or(0)));
        let is_local = value("LOCAL_RANK").is_some() && value("RANK").is_some();
        let mpi = || launcher::rank_in(environ);
        let given = if is_local {
            torch()
        } else {
            mpi().or_else(torch)
        };
        Self { given, is_local }
    }
}

/// Returns the processes that have started ranks, such as torchrun: those without a `LOCAL_RANK`
/// that have a descendant with one. A rank in their variables is that of their pod.
pub fn find_launchers(table: &ProcessTable, local: &BTreeSet<Key>) -> BTreeSet<Key> {
    let parent_of = |key: Key| table.all.get(&key)?.parent;
    let mut launchers = BTreeSet::new();
    for key in local {
        let mut next = parent_of(*key);
        while let Some(key) = next {
            // The ancestors of a launcher are known.
            if !local.contains(&key) && !launchers.insert(key) {
                break;
            }
            next = parent_of(key);
        }
    }
    launchers
}

/// The ranks of the observed processes.
#[derive(Default)]
pub struct WorldRanks {
    known: Environs<WorldRank>,
    /// The living processes that have started ranks, which may have ended.
    launchers: BTreeSet<Key>,
}

impl WorldRanks {
    /// Reads the variables of processes that are new or have executed another program.
    pub fn update(&mut self, table: &mut ProcessTable) {
        self.known
            .update(table, |environ| Some(WorldRank::parse(environ)));
        let is_local = |key: &Key| self.known.get(key).is_some_and(|rank| rank.is_local);
        let local = table.observed.iter().copied().filter(is_local).collect();
        self.launchers.extend(find_launchers(table, &local));
        self.launchers.retain(|key| table.all.contains_key(key));
    }

    /// Returns the rank of a process and the number of ranks, which is 0 if it is not known. A
    /// launcher has no rank.
    pub fn get(&self, key: &Key) -> Option<(u32, u32)> {
        let rank = self.known.get(key)?.given;
        rank.filter(|_| !self.launchers.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[&str]) -> Option<(u32, u32)> {
        WorldRank::parse(variables.join("\0").as_bytes()).given
    }

    #[test]
    fn the_launcher_that_is_nearest_to_the_process_counts() {
        let mpi = ["OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"];
        let torchrun = ["RANK=9", "WORLD_SIZE=16", "LOCAL_RANK=1"];
        let pod = ["RANK=3", "WORLD_SIZE=4"];
        assert_eq!(parse(&mpi), Some((1, 2)));
        assert_eq!(parse(&[&mpi[..], &torchrun[..]].concat()), Some((9, 16)));
        assert_eq!(parse(&[&mpi[..], &pod[..]].concat()), Some((1, 2)));
        let slurm = ["SLURM_PROCID=0", "SLURM_NTASKS=2"];
        assert_eq!(parse(&[&slurm[..], &torchrun[..]].concat()), Some((9, 16)));
    }

    #[test]
    fn the_rank_of_a_pod_is_that_of_its_only_process() {
        assert_eq!(parse(&["RANK=3", "WORLD_SIZE=4"]), Some((3, 4)));
        assert_eq!(parse(&["RANK=0"]), Some((0, 0)));
    }

    #[test]
    fn other_variables_are_no_rank() {
        assert_eq!(parse(&["RANK=none", "LOCAL_RANK=1"]), None);
        assert_eq!(parse(&["MY_RANK=1", "RANK_X=2", "RANK="]), None);
        assert_eq!(parse(&["RANK=-1", "SLURM_PROCID=4"]), Some((4, 0)));
        assert_eq!(parse(&["RANK=12345678901"]), None);
    }
}
