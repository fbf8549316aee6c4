//! Parses `/proc/PID/status` and `/proc/PID/task/TID/status`.

use super::words::{lines, number, number_after, words};

/// The memory of a process, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Virtual size.
    pub size: u64,
    /// The largest resident size until now.
    pub peak: u64,
    /// Resident size, including huge pages of hugetlbfs.
    pub resident: u64,
    /// The stack of the first thread.
    pub stack: u64,
}

/// The values of a status file that the observer uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Real, effective, saved and filesystem user id.
    pub uids: [u32; 4],
    /// Real, effective, saved and filesystem group id.
    pub gids: [u32; 4],
    /// The memory of the process; `None` for a zombie.
    pub memory: Option<Memory>,
    /// Voluntary context switches of the thread.
    pub voluntary: u64,
    /// Involuntary context switches of the thread.
    pub involuntary: u64,
}

/// Returns the process id in the innermost PID namespace of a process: the last number of its line
/// `NSpid`. `None` if there is no such line.
pub fn parse_inner_pid(text: &[u8]) -> Option<i32> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let last = words(line).last()?;
    std::str::from_utf8(last).ok()?.parse().ok()
}

/// Parses a status file. `None` if the lines of the context switches are missing. The text is then
/// truncated, because these lines are the last lines that the observer uses.
pub fn parse(text: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    let mut memory = Memory::default();
    let mut huge = 0;
    let mut sizes = 0;
    let mut switches = 0;
    for line in lines(text) {
        match line.first() {
            Some(b'U') => take_ids(&mut status.uids, line, b"Uid:"),
            Some(b'G') => take_ids(&mut status.gids, line, b"Gid:"),
            Some(b'H') => {
                take(&mut huge, line, b"HugetlbPages:");
            }
            Some(b'V') => sizes += take_memory(&mut memory, line),
            Some(b'v') => {
                switches += take(&mut status.voluntary, line, b"voluntary_ctxt_switches:");
            }
            Some(b'n') => {
                switches += take(
                    &mut status.involuntary,
                    line,
                    b"nonvoluntary_ctxt_switches:",
                );
            }
            _ => {}
        }
    }
    // The kernel counts these pages neither in VmRSS nor in VmHWM (fs/proc/task_mmu.c, `task_mem`).
    if huge > 0 {
        memory.resident = memory.resident.saturating_add(huge);
        memory.peak = memory.peak.max(memory.resident);
    }
    status.memory = (sizes == 4).then_some(memory);
    (switches == 2).then_some(status)
}

/// Whether a process still has memory. A process has no memory after it or its first thread has
/// ended.
pub fn has_memory(text: &[u8]) -> bool {
    lines(text).any(|line| line.starts_with(b"VmRSS:"))
}

/// Returns the mask of the effective capabilities of a process; `None` if the line is missing.
pub fn effective_capabilities(text: &[u8]) -> Option<u64> {
    let rest = lines(text).find_map(|line| line.strip_prefix(b"CapEff:"))?;
    let mask = std::str::from_utf8(words(rest).next()?).ok()?;
    u64::from_str_radix(mask, 16).ok()
}

/// Returns the list of the processors on which a thread may run; `None` if the line is missing.
pub fn allowed_processors(text: &[u8]) -> Option<&[u8]> {
    let rest = lines(text).find_map(|line| line.strip_prefix(b"Cpus_allowed_list:"))?;
    words(rest).next()
}

fn take_memory(memory: &mut Memory, line: &[u8]) -> u32 {
    take(&mut memory.size, line, b"VmSize:")
        + take(&mut memory.peak, line, b"VmHWM:")
        + take(&mut memory.resident, line, b"VmRSS:")
        + take(&mut memory.stack, line, b"VmStk:")
}

/// Parses the number of a line with this label into `target`. Returns 1 if the line has the label
/// and a number, and 0 otherwise.
fn take(target: &mut u64, line: &[u8], label: &[u8]) -> u32 {
    match number_after(line, label) {
        Some(found) => {
            *target = found;
            1
        }
        None => 0,
    }
}

fn take_ids(target: &mut [u32; 4], line: &[u8], label: &[u8]) {
    let Some(rest) = line.strip_prefix(label) else {
        return;
    };
    for (id, word) in target.iter_mut().zip(words(rest)) {
        *id = number(word)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_pid_is_the_last_one() {
        assert_eq!(
            parse_inner_pid(b"Pid:\t7\nNSpid:\t7\t62\nVmSize:\n"),
            Some(62)
        );
        assert_eq!(parse_inner_pid(b"Pid:\t7\nNSpid:\t7\n"), Some(7));
        assert_eq!(parse_inner_pid(b"Pid:\t7\n"), None);
        assert_eq!(parse_inner_pid(b"NSpid:\t\n"), None);
    }

    /// A status of Linux 6.18, without most of the lines that are not used.
    const CAT: &[u8] = b"Name:\tcat\nUmask:\t0022\nState:\tR (running)\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t \nVmPeak:\t    3060 kB\nVmSize:\t    3061 kB\nVmHWM:\t    1741 kB\nVmRSS:\t    1740 kB\nVmData:\t     360 kB\nVmStk:\t     132 kB\nThreads:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t12\n";
    const ZOMBIE: &[u8] = b"Name:\tsh\nState:\tZ (zombie)\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nThreads:\t1\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\nx86_Thread_features:\t\nx86_Thread_features_locked:\t\n";

    #[test]
    fn a_living_process_has_ids_memory_and_switches() {
        let status = parse(CAT).unwrap();
        assert_eq!((status.uids, status.gids), ([1, 2, 3, 4], [5, 6, 7, 8]));
        let memory = Memory {
            size: 3061,
            peak: 1741,
            resident: 1740,
            stack: 132,
        };
        assert_eq!(status.memory, Some(memory));
        assert_eq!((status.voluntary, status.involuntary), (11, 12));
        assert!(has_memory(CAT));
    }

    #[test]
    fn huge_pages_are_resident() {
        let huge = b"HugetlbPages:\t   40960 kB\n";
        let memory = parse(&[huge, CAT].concat()).unwrap().memory.unwrap();
        assert_eq!((memory.resident, memory.peak), (42_700, 42_700));
        let few = parse(&[b"HugetlbPages:\t 0 kB\n", CAT].concat());
        assert_eq!(few, parse(CAT));
    }

    #[test]
    fn a_zombie_has_switches_and_no_memory() {
        let status = parse(ZOMBIE).unwrap();
        assert_eq!(
            (status.memory, status.voluntary, status.involuntary),
            (None, 3, 4)
        );
        assert!(!has_memory(ZOMBIE));
    }

    #[test]
    fn a_name_that_looks_like_another_line_is_ignored() {
        let text = [b"Name:\tVmRSS: 7 Uid: 9\n", &CAT[b"Name:\tcat\n".len()..]].concat();
        assert_eq!(parse(&text), parse(CAT));
    }

    #[test]
    fn capabilities_are_a_hexadecimal_mask() {
        let text = b"CapPrm:\t0000000000000001\nCapEff:\t00000000a80425fb\n";
        assert_eq!(effective_capabilities(text), Some(0xa804_25fb));
        assert_eq!(effective_capabilities(b"CapEff:\tx\n"), None);
        assert_eq!(effective_capabilities(CAT), None);
    }

    #[test]
    fn the_allowed_processors_are_a_list() {
        let text =
            b"Cpus_allowed:\t0000,0000000f\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n";
        assert_eq!(allowed_processors(text), Some(b"0-3".as_slice()));
        assert_eq!(allowed_processors(CAT), None);
    }

    #[test]
    fn a_truncated_status_is_none() {
        assert_eq!(parse(&CAT[..CAT.len() - 40]), None);
        assert_eq!(parse(b""), None);
    }
}
