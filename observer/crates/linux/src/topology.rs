//! The NUMA nodes of the machine, and the processors of each node.

use std::collections::BTreeMap;

use crate::proc::cpu_list::CpuList;

/// The maximum number of nodes that are read (Linux's `MAX_NUMNODES` is at most 2^10).
const MAX_NODES: usize = 1024;

/// The processors of each NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    nodes: BTreeMap<u32, CpuList>,
}

impl Topology {
    /// Reads the topology from a folder such as `/sys/devices/system/node`. `None` if it cannot be
    /// read.
    pub fn detect(folder: &str) -> Option<Self> {
        let read = |path: String| CpuList::parse(&std::fs::read(path).ok()?);
        let online = read(format!("{folder}/online"))?;
        let nodes = online.numbers(MAX_NODES).into_iter().map(|node| {
            let processors = read(format!("{folder}/node{node}/cpulist"))?;
            Some((node, processors))
        });
        nodes.collect::<Option<_>>().map(|nodes| Self { nodes })
    }

    /// Returns the amount of memory on nodes to which none of the `processors` belongs. `memory` is
    /// the amount on each node. The result has the unit of `memory`.
    pub fn remote(&self, memory: &BTreeMap<u32, u64>, processors: &CpuList) -> u64 {
        let is_remote = |node: &u32| {
            let local = self.nodes.get(node);
            !local.is_some_and(|local| local.overlaps(processors))
        };
        let sizes = memory.iter().filter(|(node, _)| is_remote(node));
        sizes.fold(0, |sum: u64, (_, size)| sum.saturating_add(*size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_on_nodes_without_allowed_processors_is_remote() {
        let folder = std::env::temp_dir().join(format!("ridealong-nodes-{}", std::process::id()));
        for (path, text) in [
            ("node0/cpulist", "0-3\n"),
            ("node1/cpulist", "4-7\n"),
            ("online", "0-1\n"),
        ] {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let topology = Topology::detect(folder.to_str().unwrap()).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let memory = BTreeMap::from([(0, 100), (1, 20), (2, 3)]);
        let remote = |list: &str| {
            let processors = CpuList::parse(list.as_bytes()).unwrap();
            topology.remote(&memory, &processors)
        };
        assert_eq!((remote("0"), remote("5-6"), remote("3-4")), (23, 103, 3));
        assert_eq!(Topology::detect("/none"), None);
    }
}
