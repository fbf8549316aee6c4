//! Parses `/proc/PID/smaps_rollup`.

use super::words::{lines, number_after};

/// The share of a process in the memory of the node, in KiB. A page that n processes share counts
/// 1/n for each of them. Huge pages of hugetlbfs count if no other process has mapped them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryShare {
    /// Resident memory (proportional set size).
    pub resident: u64,
    /// Memory in swap space.
    pub swapped: u64,
}

/// Parses a `smaps_rollup` file. `None` if the line `Pss` or `SwapPss` is missing.
pub fn parse(text: &[u8]) -> Option<MemoryShare> {
    let find = |label| lines(text).find_map(|line| number_after(line, label));
    Some(MemoryShare {
        // The kernel counts these pages separately (fs/proc/task_mmu.c, `smaps_hugetlb_range`).
        resident: find(b"Pss:")?.saturating_add(find(b"Private_Hugetlb:").unwrap_or(0)),
        swapped: find(b"SwapPss:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18.
    const PYTHON: &[u8] = b"55596c2f1000-7fff46e27000 ---p 00000000 00:00 0                          [rollup]\nRss:              306492 kB\nPss:              302158 kB\nPss_Dirty:        299836 kB\nPss_Anon:         299836 kB\nPss_File:           2322 kB\nPss_Shmem:             0 kB\nShared_Clean:       6656 kB\nShared_Dirty:          0 kB\nPrivate_Clean:         0 kB\nPrivate_Dirty:    299836 kB\nReferenced:       306492 kB\nAnonymous:        299836 kB\nKSM:                   0 kB\nLazyFree:              0 kB\nAnonHugePages:         0 kB\nShmemPmdMapped:        0 kB\nFilePmdMapped:         0 kB\nShared_Hugetlb:        0 kB\nPrivate_Hugetlb:       0 kB\nSwap:                  9 kB\nSwapPss:               7 kB\nLocked:                0 kB\n";

    #[test]
    fn the_resident_and_the_swapped_memory_are_parsed() {
        let expected = MemoryShare {
            resident: 302_158,
            swapped: 7,
        };
        assert_eq!(parse(PYTHON), Some(expected));
    }

    #[test]
    fn a_truncated_text_is_none() {
        assert_eq!(parse(&PYTHON[..PYTHON.len() - 50]), None);
        assert_eq!(parse(b""), None);
    }
}
