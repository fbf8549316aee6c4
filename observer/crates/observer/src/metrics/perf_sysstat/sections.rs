//! The rows of perf-sysstat. They have the same keys and types as the output of jc 1.26 for
//! pidstat, and the additional keys `container` and `program`.

use encode::json::push_or_null;
use encode::number::{float, push};
use linux::clock::WallTime;
use linux::proc::io::Io;
use linux::proc::stat::StatCounters;

use crate::sampling::columns::{self, Column, Columns, Part, Section};
use crate::sampling::counters::{Counters, Switches};
use crate::sampling::process::{Process, State, ThreadRow};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::row::{decimal, number, row, thousandths};

/// pidstat's names of the scheduling policies, in the order of the kernel's numbers.
const POLICIES: [&str; 8] = [
    "NORMAL", "FIFO", "RR", "BATCH", "ISO", "IDLE", "DEADLN", "EXT",
];

/// The values that all rows of a timepoint share.
#[derive(Clone, Copy, Debug)]
pub struct Timepoint {
    /// The time of day, as HHMMSS.
    pub time: u64,
    /// When the scan began, in seconds since boot.
    pub now: f64,
    /// Clock ticks per second.
    pub ticks: f64,
    /// Memory of the node in KiB.
    pub memory: u64,
    /// Whether the kernel measures the time that tasks wait for block I/O.
    pub has_delays: bool,
    /// Whether threads have rows. If they do, all rows have the keys `tgid` and `tid`.
    pub has_threads: bool,
    /// How values are written.
    pub form: Form,
}

/// How the values of a row are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As jc writes the output of pidstat: some integers are in quotation marks.
    Jc,
    /// As JSON numbers.
    Json,
}

impl Timepoint {
    /// Creates the values of a timepoint that is written now.
    pub fn of(processes: &ProcessTable, has_threads: bool, form: Form) -> Self {
        let machine = processes.meter.machine;
        Self {
            time: WallTime::now().time_of_day(),
            now: processes.now,
            ticks: machine.ticks,
            memory: machine.memory,
            has_delays: machine.has_delays,
            has_threads,
            form,
        }
    }
}

/// A process or thread over an interval.
pub struct Row<'a> {
    /// The id of the process.
    pub pid: i32,
    /// The id of the thread; `None` for a process.
    pub tid: Option<i32>,
    /// The counters at the end of the interval.
    pub now: &'a Counters,
    /// The counters at the beginning of the interval.
    pub before: &'a Counters,
    /// The state at the end of the interval: values that are not counters.
    pub state: &'a State,
    /// The length of the interval in seconds; `None` if the interval has just begun. Values of the
    /// interval are then null.
    pub seconds: Option<f64>,
    /// The command, as JSON.
    pub command: &'a [u8],
    /// The end of the row, after the command.
    pub tail: &'a [u8],
}

/// A section of the log: its header, the columns of its rows, and whether threads have rows in it.
pub struct LogSection {
    /// The Metrics Operator's header.
    pub header: &'static str,
    /// Appends the keys of a row between the ids and the command, each after a comma.
    pub body: fn(&mut Vec<u8>, &Timepoint, &Row<'_>),
    /// Whether threads have their own counters in this section.
    pub has_threads: bool,
}

/// The columns of the rows of a process in all sections, as one section of the catalog.
pub const PROCESS: Section = Section {
    name: "process",
    of: "process",
    title: Some("Processes"),
    description: "the processes of the application, and with the option threads their threads",
    columns: Columns::new(&[
        Part::Shared(columns::PROCESS),
        Part::Column(Column::new("tid", false, "thread id; empty for a process").key()),
        Part::Column(Column::new("uid", false, "user id")),
        Part::Shared(CPU),
        Part::Shared(CHILD_CPU),
        Part::Shared(IO),
        Part::Shared(POLICY),
        Part::Shared(MEMORY_FAULTS),
        Part::Shared(CHILD_FAULTS),
        Part::Shared(STACK_USE),
        Part::Shared(TABLES),
        Part::Shared(SWITCHES),
    ]),
};

/// The sections, in the Metrics Operator's order.
pub const SECTIONS: [LogSection; 11] = [
    LogSection {
        header: "CPU STATISTICS TASK",
        body: push_cpu,
        has_threads: true,
    },
    LogSection {
        header: "CPU STATISTICS CHILD",
        body: push_child_cpu,
        has_threads: false,
    },
    LogSection {
        header: "IO STATISTICS",
        body: push_io,
        has_threads: true,
    },
    LogSection {
        header: "POLICY",
        body: push_policy,
        has_threads: true,
    },
    LogSection {
        header: "PAGEFAULTS TASK",
        body: push_memory_faults,
        has_threads: true,
    },
    LogSection {
        header: "PAGEFAULTS CHILD",
        body: push_child_faults,
        has_threads: false,
    },
    LogSection {
        header: "STACK UTILIZATION",
        body: push_stack_use,
        has_threads: false,
    },
    LogSection {
        header: "THREADS TASK",
        body: push_cpu,
        has_threads: true,
    },
    LogSection {
        header: "THREADS CHILD",
        body: push_child_cpu,
        has_threads: false,
    },
    LogSection {
        header: "KERNEL TABLES",
        body: push_tables,
        has_threads: false,
    },
    LogSection {
        header: "TASK SWITCHING",
        body: push_switches,
        has_threads: true,
    },
];

/// The estimated bytes of a row without its command, container and program.
const ROW_BYTES: usize = 112;

/// Estimates the bytes of the rows of a process and its threads in a timepoint.
pub fn estimate_bytes(process: &Process) -> usize {
    let row = |command: &[u8]| ROW_BYTES + command.len() + process.tail.len();
    let of_threads = SECTIONS
        .iter()
        .filter(|section| section.has_threads)
        .count();
    let threads = process
        .measured
        .iter()
        .flat_map(|measured| &measured.thread_rows);
    let of_thread = |thread: &ThreadRow| of_threads * row(&thread.command);
    SECTIONS.len() * row(&process.command) + threads.map(of_thread).sum::<usize>()
}

impl LogSection {
    /// Appends the rows of some processes as one JSON array.
    pub fn push_rows<'a>(
        &self,
        out: &mut Vec<u8>,
        timepoint: &Timepoint,
        processes: impl Iterator<Item = &'a Process>,
    ) {
        out.push(b'[');
        let start = out.len();
        for process in processes {
            let Some(row) = row_of(process, timepoint.now) else {
                continue;
            };
            self.push_row(out, start, timepoint, &row);
            if self.has_threads && timepoint.has_threads {
                for thread in thread_rows_of(process, timepoint.now) {
                    self.push_row(out, start, timepoint, &thread);
                }
            }
        }
        out.push(b']');
    }

    fn push_row(&self, out: &mut Vec<u8>, start: usize, timepoint: &Timepoint, row: &Row<'_>) {
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"time\":");
        push(out, timepoint.time);
        out.extend_from_slice(b",\"uid\":");
        push(out, u64::from(row.state.uid));
        if timepoint.has_threads {
            push_thread_ids(out, row);
        }
        out.extend_from_slice(b",\"pid\":");
        push_id(out, row.pid);
        (self.body)(out, timepoint, row);
        out.extend_from_slice(b",\"command\":");
        out.extend_from_slice(row.command);
        out.extend_from_slice(row.tail);
    }
}

/// Returns the row of a process; `None` if the process is not measured.
pub fn row_of(process: &Process, now: f64) -> Option<Row<'_>> {
    let measured = process.measured.as_ref()?;
    let base = measured.base.as_ref()?;
    Some(Row {
        pid: process.pid,
        tid: None,
        now: &measured.now,
        before: &base.counters,
        state: &measured.state,
        seconds: Some(now - base.at),
        command: &process.command,
        tail: &process.tail,
    })
}

/// Returns the rows of the threads of a process.
pub fn thread_rows_of(process: &Process, now: f64) -> impl Iterator<Item = Row<'_>> {
    let rows = process
        .measured
        .iter()
        .flat_map(|measured| &measured.thread_rows);
    rows.filter(|row| row.is_shown).map(move |row| Row {
        pid: process.pid,
        tid: Some(row.tid),
        now: &row.now,
        before: &row.base.counters,
        state: &row.state,
        seconds: Some(now - row.base.at),
        command: &row.command,
        tail: &process.tail,
    })
}

fn push_thread_ids(out: &mut Vec<u8>, row: &Row<'_>) {
    if let Some(tid) = row.tid {
        out.extend_from_slice(b",\"tgid\":\"-\",\"tid\":\"");
        push_id(out, tid);
        out.push(b'"');
    } else {
        out.extend_from_slice(b",\"tgid\":\"");
        push_id(out, row.pid);
        out.extend_from_slice(b"\",\"tid\":\"-\"");
    }
}

fn push_id(out: &mut Vec<u8>, id: i32) {
    push(out, u64::from(id.unsigned_abs()));
}

/// Appends an integer that jc writes in quotation marks; null if the integer is unknown.
fn quoted(out: &mut Vec<u8>, key: &str, form: Form, value: Option<u64>) {
    out.extend_from_slice(key.as_bytes());
    match value {
        Some(value) if form == Form::Jc => {
            out.push(b'"');
            push(out, value);
            out.push(b'"');
        }
        _ => push_or_null(out, value),
    }
}

/// Appends a text that needs no escapes.
fn plain(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

fn growth(now: u64, before: u64) -> f64 {
    float(now.saturating_sub(before))
}

/// Converts the growth of a counter of ticks to % of a core.
fn share(timepoint: &Timepoint, row: &Row<'_>, ticks: f64) -> Option<f64> {
    // The ticks of one percent of a core.
    let percent = row.seconds.map(|seconds| timepoint.ticks * seconds / 100.0);
    percent.map(|percent| ticks / percent)
}

row! {
    /// The use of processors by the program and by the kernel.
    pub CPU_PARTS;
    /// Appends the use of processors by the program and by the kernel.
    pub fn push_cpu_parts(out, timepoint: &Timepoint, row: &Row<'_>) {
        let (now, before) = (&row.now.stat, &row.before.stat);
        let usr = growth(now.utime, before.utime) - growth(now.guest, before.guest);
        let system = growth(now.stime, before.stime);
        /// % of a core, in the program itself
        percent_usr: decimal(share(timepoint, row, usr))
            => gauge("percent").title("CPU in the program");
        /// % of a core, in the kernel
        percent_system: decimal(share(timepoint, row, system))
            => gauge("percent").title("CPU in the kernel");
    }
}

row! {
    /// The use of processors, and the wait for them.
    pub CPU_USE;
    /// Appends the use of processors, and the wait for them.
    pub fn push_cpu_use(out, timepoint: &Timepoint, row: &Row<'_>) {
        let (now, before) = (&row.now.stat, &row.before.stat);
        let used = growth(now.utime, before.utime) + growth(now.stime, before.stime);
        let wait = |counters: &Counters| counters.switches.and_then(|switches| switches.wait);
        let waits = wait(row.now).zip(wait(row.before)).zip(row.seconds);
        // The division by 1e7 converts nanoseconds per second to percent.
        let wait = waits.map(|((now, before), seconds)| growth(now, before) / 1e7 / seconds);
        /// % of the interval spent waiting to run
        percent_wait: decimal(wait)
            => gauge("percent").title("Waiting to run").quantity("ridealong.process.run_delay");
        /// % of a core, in total
        percent_cpu: decimal(share(timepoint, row, used))
            => gauge("percent").title("CPU").quantity("process.cpu.time");
        /// the core on which the process or thread last ran
        cpu: number(row.state.stat.processor);
    }
}

/// Truncates a number, and turns a negative number into 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}

row! {
    /// The interval.
    pub INTERVAL;
    /// Appends the length of the interval.
    pub fn push_interval(out, row: &Row<'_>) {
        let milliseconds = row.seconds.map(|seconds| whole(seconds * 1000.0));
        // Seconds that the rates and amounts of the row are about: those since the row before, or
        // since the process or thread started. Rows of any metric can have this field, so it is no
        // column.
        interval: thousandths(milliseconds);
    }
}

row! {
    /// The use of processors, as pidstat prints it.
    CPU;
    /// Appends the use of processors.
    fn push_cpu(out, timepoint: &Timepoint, row: &Row<'_>) {
        ..INTERVAL: push_interval(row);
        ..CPU_PARTS: push_cpu_parts(timepoint, row);
        let guest = growth(row.now.stat.guest, row.before.stat.guest);
        /// % of a core, in a virtual machine
        percent_guest: decimal(share(timepoint, row, guest))
            => gauge("percent").title("CPU in virtual machines");
        ..CPU_USE: push_cpu_use(timepoint, row);
    }
}

row! {
    /// The processor time with that of children.
    CHILD_CPU;
    /// Appends the processor time of a process and of the children that it has waited for.
    fn push_child_cpu(out, timepoint: &Timepoint, row: &Row<'_>) {
        let (now, before) = (&row.now.stat, &row.before.stat);
        let milliseconds =
            |ticks: f64| row.seconds.map(|_| whole(ticks * (1000.0 / timepoint.ticks)));
        let guest = growth(now.guest, before.guest) + growth(now.cguest, before.cguest);
        let usr = growth(now.utime, before.utime) + growth(now.cutime, before.cutime) - guest;
        let system = growth(now.stime, before.stime) + growth(now.cstime, before.cstime);
        /// milliseconds in the program itself, including children that have ended
        usr_ms: number(milliseconds(usr)) => gauge("ms").title("CPU in the program, with children");
        /// milliseconds in the kernel, including children that have ended
        system_ms: number(milliseconds(system))
            => gauge("ms").title("CPU in the kernel, with children");
        /// milliseconds in a virtual machine, including children that have ended
        guest_ms: number(milliseconds(guest))
            => gauge("ms").title("CPU in virtual machines, with children");
    }
}

/// Converts the growth of a counter of bytes to KiB/s.
fn kib_rate(row: &Row<'_>, of: fn(&Io) -> u64) -> Option<f64> {
    let both = row.now.io.zip(row.before.io).zip(row.seconds);
    both.map(|((now, before), seconds)| growth(of(&now), of(&before)) / (1024.0 * seconds))
}

row! {
    /// The use of storage.
    pub STORAGE;
    /// Appends the use of storage.
    pub fn push_storage(out, row: &Row<'_>) {
        /// KiB/s read from storage
        kb_rd_s: decimal(kib_rate(row, |io| io.read))
            => gauge("KiB/s").title("Read from storage")
            .quantity("process.disk.io{disk.io.direction=read}");
        /// KiB/s written to storage
        kb_wr_s: decimal(kib_rate(row, |io| io.written))
            => gauge("KiB/s").title("Written to storage")
            .quantity("process.disk.io{disk.io.direction=write}");
    }
}

row! {
    /// The wait for storage.
    pub IO_DELAY;
    /// Appends the wait for storage.
    pub fn push_io_delay(out, timepoint: &Timepoint, row: &Row<'_>) {
        let (now, before) = (row.now.stat.blkio_delay, row.before.stat.blkio_delay);
        let is_known = timepoint.has_delays && row.seconds.is_some();
        /// clock ticks of delay by block I/O
        iodelay: quoted(timepoint.form, is_known.then(|| now.saturating_sub(before)))
            => gauge("ticks").title("Delay by block I/O");
    }
}

row! {
    /// The use of storage, as pidstat prints it.
    IO;
    /// Appends the use of storage.
    fn push_io(out, timepoint: &Timepoint, row: &Row<'_>) {
        ..STORAGE: push_storage(row);
        /// KiB/s of cancelled writes, for example after a file was truncated
        kb_ccwr_s: decimal(kib_rate(row, |io| io.cancelled))
            => gauge("KiB/s").title("Cancelled writes");
        ..IO_DELAY: push_io_delay(timepoint, row);
    }
}

row! {
    /// The scheduling.
    POLICY;
    /// Appends the scheduling.
    fn push_policy(out, timepoint: &Timepoint, row: &Row<'_>) {
        let at = usize::try_from(row.state.stat.policy).ok();
        /// real-time priority
        prio: quoted(timepoint.form, Some(row.state.stat.rt_priority));
        /// scheduling policy
        policy: plain(at.and_then(|at| POLICIES.get(at)).unwrap_or(&""));
    }
}

row! {
    /// The page faults.
    pub FAULTS;
    /// Appends the page faults.
    pub fn push_faults(out, row: &Row<'_>) {
        let (now, before) = (&row.now.stat, &row.before.stat);
        let rate = |now, before| row.seconds.map(|seconds| growth(now, before) / seconds);
        /// minor page faults/s
        minflt_s: decimal(rate(now.minflt, before.minflt))
            => gauge("1/s").title("Minor page faults");
        /// major page faults/s
        majflt_s: decimal(rate(now.majflt, before.majflt))
            => gauge("1/s").title("Major page faults, rate")
            .quantity("process.paging.faults{system.paging.fault.type=major}");
    }
}

row! {
    /// The memory.
    pub MEMORY;
    /// Appends the memory.
    pub fn push_memory(out, row: &Row<'_>) {
        let memory = row.state.memory;
        /// KiB of virtual memory
        vsz: number(memory.map(|memory| memory.size))
            => gauge("KiB").title("Virtual memory").export_name("process.memory.virtual")
            .export_unit("By").scale(1024);
        /// KiB of resident memory
        rss: number(memory.map(|memory| memory.resident))
            => gauge("KiB").title("Resident memory").export_name("process.memory.usage")
            .export_unit("By").scale(1024);
    }
}

row! {
    /// The page faults and the memory, as pidstat prints them.
    MEMORY_FAULTS;
    /// Appends the page faults and the memory. The memory of a thread is that of its process.
    fn push_memory_faults(out, timepoint: &Timepoint, row: &Row<'_>) {
        ..FAULTS: push_faults(row);
        ..MEMORY: push_memory(row);
        let share = |resident| 100.0 * float(resident) / float(timepoint.memory);
        /// resident memory, % of the memory of the node
        percent_mem: decimal(row.state.memory.map(|memory| share(memory.resident)))
            => gauge("percent").title("Share of the memory of the node");
    }
}

row! {
    /// The page faults with those of children.
    CHILD_FAULTS;
    /// Appends the page faults of a process and of the children that it has waited for.
    fn push_child_faults(out, timepoint: &Timepoint, row: &Row<'_>) {
        let (now, before) = (&row.now.stat, &row.before.stat);
        let minor = |stat: &StatCounters| stat.minflt.saturating_add(stat.cminflt);
        let major = |stat: &StatCounters| stat.majflt.saturating_add(stat.cmajflt);
        let growth = |now: u64, before: u64| row.seconds.map(|_| now.saturating_sub(before));
        /// minor page faults, including children that have ended
        minflt_nr: quoted(timepoint.form, growth(minor(now), minor(before)))
            => gauge("count").title("Minor page faults, with children");
        /// major page faults, including children that have ended
        majflt_nr: quoted(timepoint.form, growth(major(now), major(before)))
            => gauge("count").title("Major page faults, with children");
    }
}

row! {
    /// The size of the stack, and its used part.
    STACK_USE;
    /// Appends the size of the stack. The used part of the stack is null: only smaps contains this
    /// number, and reading smaps takes milliseconds.
    fn push_stack_use(out, _timepoint: &Timepoint, row: &Row<'_>) {
        /// KiB of stack
        stksize: number(row.state.memory.map(|memory| memory.stack)) => gauge("KiB").title("Stack");
        /// KiB of stack in use
        stkref: number(None) => gauge("KiB").title("Stack in use");
    }
}

row! {
    /// The tables of the kernel.
    pub TABLES;
    /// Appends the lengths of tables of the kernel.
    pub fn push_tables(out, timepoint: &Timepoint, row: &Row<'_>) {
        /// number of threads
        threads: quoted(timepoint.form, Some(row.state.stat.threads))
            => gauge("count").title("Threads").export_name("process.thread.count")
            .export_unit("{thread}");
        /// number of open file descriptors
        fd_nr: quoted(timepoint.form, row.state.open_files)
            => gauge("count").title("Open files").export_name("process.unix.file_descriptor.count")
            .export_unit("{file_descriptor}");
    }
}

row! {
    /// The context switches.
    pub SWITCHES;
    /// Appends the context switches.
    pub fn push_switches(out, _timepoint: &Timepoint, row: &Row<'_>) {
        let both = row.now.switches.zip(row.before.switches).zip(row.seconds);
        let rate = |of: fn(&Switches) -> u64| {
            both.map(|((now, before), seconds)| growth(of(&now), of(&before)) / seconds)
        };
        /// voluntary context switches/s
        cswch_s: decimal(rate(|switches| switches.voluntary))
            => gauge("1/s").title("Voluntary context switches")
            .quantity("process.context_switches{process.context_switch.type=voluntary}");
        /// involuntary context switches/s
        nvcswch_s: decimal(rate(|switches| switches.involuntary))
            => gauge("1/s").title("Involuntary context switches")
            .quantity("process.context_switches{process.context_switch.type=involuntary}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::counters::Base;
    use crate::sampling::process::Measured;
    use linux::proc::stat::StatGauges;
    use linux::proc::status::Memory;
    use serde_json::{Value, json};

    const TIMEPOINT: Timepoint = Timepoint {
        time: 90_507,
        now: 102.0,
        ticks: 100.0,
        memory: 1000,
        has_delays: false,
        has_threads: false,
        form: Form::Jc,
    };

    fn counters() -> Counters {
        Counters {
            stat: StatCounters {
                minflt: 20,
                cminflt: 5,
                utime: 150,
                stime: 50,
                cutime: 10,
                blkio_delay: 3,
                ..StatCounters::default()
            },
            switches: Some(Switches {
                voluntary: 30,
                involuntary: 10,
                wait: Some(500_000_000),
            }),
            io: Some(Io {
                read: 4096,
                written: 8192,
                cancelled: 1024,
            }),
        }
    }

    fn process() -> Process {
        let memory = Some(Memory {
            size: 500,
            peak: 300,
            resident: 250,
            stack: 132,
        });
        let state = State {
            uid: 1000,
            stat: StatGauges {
                threads: 1,
                processor: 1,
                policy: 3,
                ..StatGauges::default()
            },
            open_files: Some(4),
            memory,
        };
        let base = Base::at_start(100.0, 100.0);
        let measured = Measured {
            now: counters(),
            base: Some(base),
            state,
            ..Measured::default()
        };
        Process {
            pid: 7,
            command: b"\"lmp\"".as_slice().into(),
            tail: b",\"container\":\"app\",\"program\":\"lmp\"}"
                .as_slice()
                .into(),
            measured: Some(Box::new(measured)),
            ..Process::default()
        }
    }

    fn rows(header: &str, process: &Process) -> Value {
        rows_at(&TIMEPOINT, header, process)
    }

    fn rows_at(timepoint: &Timepoint, header: &str, process: &Process) -> Value {
        let section = SECTIONS
            .iter()
            .find(|section| section.header == header)
            .unwrap();
        let mut out = Vec::new();
        section.push_rows(&mut out, timepoint, [process].into_iter());
        serde_json::from_slice(&out).unwrap()
    }

    fn row(of: Value) -> Value {
        let mut row = json!({ "time": 90507, "uid": 1000, "pid": 7, "command": "lmp", "container": "app", "program": "lmp" });
        let Value::Object(keys) = of else { panic!() };
        row.as_object_mut().unwrap().extend(keys);
        json!([row])
    }

    #[test]
    fn values_are_growth_over_the_interval() {
        let cpu = json!({ "interval": 2.0, "percent_usr": 75.0, "percent_system": 25.0, "percent_guest": 0.0, "percent_wait": 25.0, "percent_cpu": 100.0, "cpu": 1 });
        for (header, expected) in [
            ("CPU STATISTICS TASK", cpu.clone()),
            (
                "CPU STATISTICS CHILD",
                json!({ "usr_ms": 1600, "system_ms": 500, "guest_ms": 0 }),
            ),
            (
                "IO STATISTICS",
                json!({ "kb_rd_s": 2.0, "kb_wr_s": 4.0, "kb_ccwr_s": 0.5, "iodelay": null }),
            ),
            ("POLICY", json!({ "prio": "0", "policy": "BATCH" })),
            (
                "PAGEFAULTS TASK",
                json!({ "minflt_s": 10.0, "majflt_s": 0.0, "vsz": 500, "rss": 250, "percent_mem": 25.0 }),
            ),
            (
                "PAGEFAULTS CHILD",
                json!({ "minflt_nr": "25", "majflt_nr": "0" }),
            ),
            (
                "STACK UTILIZATION",
                json!({ "stksize": 132, "stkref": null }),
            ),
            ("THREADS TASK", cpu),
            ("KERNEL TABLES", json!({ "threads": "1", "fd_nr": "4" })),
            (
                "TASK SWITCHING",
                json!({ "cswch_s": 15.0, "nvcswch_s": 5.0 }),
            ),
        ] {
            assert_eq!(rows(header, &process()), row(expected), "{header}");
        }
    }

    #[test]
    fn the_delay_of_block_io_is_null_unless_the_kernel_measures_it() {
        let io = |has_delays| {
            let timepoint = Timepoint {
                has_delays,
                ..TIMEPOINT
            };
            rows_at(&timepoint, "IO STATISTICS", &process())[0]["iodelay"].clone()
        };
        assert_eq!((io(false), io(true)), (Value::Null, json!("3")));
    }

    #[test]
    fn values_that_cannot_be_read_are_null() {
        let mut process = process();
        let measured = process.measured.as_mut().unwrap();
        measured.now.io = None;
        measured.now.switches = None;
        measured.state.memory = None;
        measured.state.open_files = None;
        let null = Value::Null;
        for (header, key) in [
            ("IO STATISTICS", "kb_rd_s"),
            ("CPU STATISTICS TASK", "percent_wait"),
            ("PAGEFAULTS TASK", "rss"),
            ("PAGEFAULTS TASK", "percent_mem"),
            ("STACK UTILIZATION", "stksize"),
            ("KERNEL TABLES", "fd_nr"),
            ("TASK SWITCHING", "cswch_s"),
        ] {
            assert_eq!(rows(header, &process)[0][key], null, "{header}");
        }
    }
}
