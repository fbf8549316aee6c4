//! Parses `/proc/PID/numa_maps`.

use std::collections::BTreeMap;

use super::words::{lines, number, words};

/// The maximum number of NUMA nodes (Linux's `MAX_NUMNODES` is at most 2^10).
const MAX_NODES: u64 = 1024;

/// Returns the memory of a process on each NUMA node, in KiB. A page that several processes share
/// counts in full. `None` if a line has numbers of pages, but not the size of a page.
pub fn parse(text: &[u8]) -> Option<BTreeMap<u32, u64>> {
    let mut nodes = BTreeMap::new();
    for line in lines(text) {
        let mut pages = Vec::new();
        let mut page_size = None;
        for word in words(line) {
            if let Some(found) = pages_on_node(word) {
                pages.push(found);
            } else if let Some(size) = word.strip_prefix(b"kernelpagesize_kB=") {
                page_size = number(size);
            }
        }
        for (node, count) in pages {
            let sum: &mut u64 = nodes.entry(node).or_default();
            *sum = sum.saturating_add(count.saturating_mul(page_size?));
        }
    }
    Some(nodes)
}

/// Parses a word such as `N0=73433` into the node and its number of pages.
fn pages_on_node(word: &[u8]) -> Option<(u32, u64)> {
    let rest = word.strip_prefix(b"N")?;
    let equals = rest.iter().position(|byte| *byte == b'=')?;
    let node = number(&rest[..equals]).filter(|node| *node < MAX_NODES)?;
    Some((u32::try_from(node).ok()?, number(&rest[equals + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18, with one node.
    const PYTHON: &[u8] = b"55596c2f1000 default file=/usr/bin/python3.11 mapped=1 mapmax=2 N0=1 kernelpagesize_kB=4\n55596c2f3000 default file=/usr/bin/python3.11\n55598bb5e000 default heap anon=386 dirty=386 active=0 N0=386 kernelpagesize_kB=4\n7fb29318a000 default anon=73433 dirty=73433 active=0 N0=73433 kernelpagesize_kB=4\n";

    fn nodes(text: &[u8]) -> Vec<(u32, u64)> {
        parse(text).unwrap().into_iter().collect()
    }

    #[test]
    fn pages_are_summed_by_node() {
        assert_eq!(nodes(PYTHON), [(0, (1 + 386 + 73_433) * 4)]);
        assert_eq!(nodes(b""), []);
    }

    #[test]
    fn huge_pages_count_with_their_own_size() {
        // The format of show_numa_map, fs/proc/task_mmu.c.
        let text = b"7f0 bind:0-1 huge anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=2048\n7f1 default anon=5 N1=5 kernelpagesize_kB=4\n";
        assert_eq!(nodes(text), [(0, 4096), (1, 2068)]);
    }

    #[test]
    fn pages_without_a_size_are_none() {
        assert_eq!(parse(b"7f0 default anon=3 N0=3\n"), None);
        assert_eq!(nodes(b"7f0 default file=N0=3 N=1 N0= N9999=1\n"), []);
    }
}
