//! Parses `/proc/PID/stat` and `/proc/PID/task/TID/stat`.

use super::words::number;

/// The fields of proc(5) that are used; some names are shorter. Times are clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat<'a> {
    /// The kernel's name of the process, which may contain blanks and parentheses.
    pub comm: &'a [u8],
    /// The letter of the state; `Z` is a zombie.
    pub state: u8,
    /// The parent's id; 0 if there is no parent in the process namespace.
    pub ppid: i32,
    /// When the process started, in ticks since boot.
    pub start: u64,
    /// The address at which the stack begins; 0 if the kernel hides it.
    pub stack: u64,
    /// The fields that only grow.
    pub counters: StatCounters,
    /// The fields that can also fall.
    pub gauges: StatGauges,
}

/// The counters in a stat: the resources used since the start of the process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatCounters {
    /// Minor page faults.
    pub minflt: u64,
    /// Minor page faults of the children that were waited for.
    pub cminflt: u64,
    /// Major page faults.
    pub majflt: u64,
    /// Major page faults of the children that were waited for.
    pub cmajflt: u64,
    /// Time in user mode, including guest time.
    pub utime: u64,
    /// Time in kernel mode.
    pub stime: u64,
    /// Time in user mode of the children that were waited for.
    pub cutime: u64,
    /// Time in kernel mode of the children that were waited for.
    pub cstime: u64,
    /// Time waiting for block I/O; 0 unless the kernel measures it (`kernel.task_delayacct`).
    pub blkio_delay: u64,
    /// Time running a virtual processor of a guest.
    pub guest: u64,
    /// Guest time of the children that were waited for.
    pub cguest: u64,
}

/// The gauges in a stat: the current state of the process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatGauges {
    /// The number of threads of the process.
    pub threads: u64,
    /// The processor on which the process or thread ran last.
    pub processor: u64,
    /// The real-time priority.
    pub rt_priority: u64,
    /// The scheduling policy.
    pub policy: u64,
}

impl StatCounters {
    /// Ticks of processor time, without children.
    pub fn cpu(&self) -> u64 {
        self.utime.saturating_add(self.stime)
    }

    /// Ticks of processor time of the children that were waited for.
    pub fn children_cpu(&self) -> u64 {
        self.cutime.saturating_add(self.cstime)
    }

    /// Whether the process ever waited for a child. Every child has page faults, so the counters of
    /// children are then not 0.
    pub fn has_waited(&self) -> bool {
        self.cminflt > 0 || self.cmajflt > 0
    }
}

/// Parses a stat file. `None` if the text is not a stat, or if it ends before field 44.
///
/// The name ends at the last closing parenthesis, because a process can set its name to `) Z 0 (`.
pub fn parse(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = text.get(open + 1..close)?;
    let mut fields = text
        .get(close + 2..)?
        .split(|byte| matches!(byte, b' ' | b'\n'));
    let state = *fields.next()?.first()?;
    let mut stat = Stat {
        comm,
        state,
        ..Stat::default()
    };
    let mut last = 3;
    for (place, field) in (4..).zip(fields) {
        if field.is_empty() {
            continue;
        }
        set(&mut stat, place, field)?;
        last = place;
    }
    (last >= 44).then_some(stat)
}

/// Stores one field. `place` is the number of the field in proc(5), from 1.
fn set(stat: &mut Stat<'_>, place: u32, field: &[u8]) -> Option<()> {
    let (counters, gauges) = (&mut stat.counters, &mut stat.gauges);
    let target = match place {
        4 => {
            // An id is never negative.
            stat.ppid = i32::try_from(number(field)?).ok()?;
            return Some(());
        }
        10 => &mut counters.minflt,
        11 => &mut counters.cminflt,
        12 => &mut counters.majflt,
        13 => &mut counters.cmajflt,
        14 => &mut counters.utime,
        15 => &mut counters.stime,
        16 => &mut counters.cutime,
        17 => &mut counters.cstime,
        20 => &mut gauges.threads,
        22 => &mut stat.start,
        28 => &mut stat.stack,
        39 => &mut gauges.processor,
        40 => &mut gauges.rt_priority,
        41 => &mut gauges.policy,
        42 => &mut counters.blkio_delay,
        43 => &mut counters.guest,
        44 => &mut counters.cguest,
        _ => return Some(()),
    };
    // The kernel prints the times of children as signed numbers. A negative number counts as 0.
    *target = if field.first() == Some(&b'-') {
        0
    } else {
        number(field)?
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stat of Linux 6.18.
    const CAT: &[u8] = b"9795 (cat) R 9793 9793 21514 0 -1 4194304 103 1 2 3 4 5 6 7 20 0 1 0 96006 3133440 390 18446744073709551615 94448823144448 94448823164329 140732421906320 0 0 0 0 0 0 0 0 0 17 1 0 0 8 9 10 94448823180336 94448823181952 94448857698304 140732421913032 140732421913105 140732421913105 140732421914603 0\n";

    #[test]
    fn every_field_is_at_its_position_in_proc_5() {
        let stat = parse(CAT).unwrap();
        assert_eq!(stat.comm, b"cat");
        assert_eq!((stat.state, stat.ppid), (b'R', 9793));
        assert_eq!((stat.start, stat.stack), (96006, 140_732_421_906_320));
        let counters = StatCounters {
            minflt: 103,
            cminflt: 1,
            majflt: 2,
            cmajflt: 3,
            utime: 4,
            stime: 5,
            cutime: 6,
            cstime: 7,
            blkio_delay: 8,
            guest: 9,
            cguest: 10,
        };
        assert_eq!(stat.counters, counters);
        let gauges = StatGauges {
            threads: 1,
            processor: 1,
            rt_priority: 0,
            policy: 0,
        };
        assert_eq!(stat.gauges, gauges);
    }

    #[test]
    fn a_name_may_contain_parentheses_and_fields() {
        let text = [b"7 () Z 0 (1 2 3) S", &CAT[b"9795 (cat) R".len()..]].concat();
        let stat = parse(&text).unwrap();
        assert_eq!(stat.comm, b") Z 0 (1 2 3");
        assert_eq!((stat.state, stat.ppid, stat.start), (b'S', 9793, 96006));
    }

    #[test]
    fn a_truncated_stat_is_none() {
        for end in 0..CAT.len() - 120 {
            assert_eq!(parse(&CAT[..end]), None, "{end} bytes");
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b")("), None);
        assert_eq!(parse(b"1 (x) "), None);
    }
}
