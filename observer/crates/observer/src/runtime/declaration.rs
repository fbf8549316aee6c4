//! The declaration of a metric: what the program knows of it, apart from its code.

/// The declaration of a metric.
#[derive(Debug)]
pub struct Declaration {
    /// The name of the metric, which is also the name of the container and of the program.
    pub name: &'static str,
    /// The description in the header of the log.
    pub description: &'static str,
    /// The description in the help of the program.
    pub help: &'static str,
    /// The options, in the order of the header of the log.
    pub options: &'static [MetricOption],
    /// The files of each process that the observer reads in a scan.
    pub reads: ProcessFiles,
    /// Whether the observer reads the sockets of processes.
    pub reads_sockets: bool,
}

impl Declaration {
    /// Whether the metric has an option.
    pub fn has(&self, option: MetricOption) -> bool {
        self.options.contains(&option)
    }
}

/// An option of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricOption {
    /// The seconds between samples.
    Rate,
    /// The seconds between samples that cost other processes something, so that they are rare.
    LongRate,
    /// The number of timepoints.
    Completions,
    /// The maximum size of the log in MiB.
    MaxLog,
    /// The seconds to wait for the first process.
    Timeout,
    /// Whether each thread has a row.
    Threads,
    /// Whether the log contains the raw files of the metric's tool.
    Artifacts,
    /// The samples in a second of processor time.
    Frequency,
    /// The first step of a training loop that is recorded.
    Step,
    /// The number of steps that are recorded.
    Steps,
}

impl MetricOption {
    /// Returns the name of the option in the catalog and in the header of the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate | Self::LongRate => "rate",
            Self::Completions => "completions",
            Self::MaxLog => "max-log",
            Self::Timeout => "timeout",
            Self::Threads => "threads",
            Self::Artifacts => "artifacts",
            Self::Frequency => "frequency",
            Self::Step => "step",
            Self::Steps => "steps",
        }
    }
}

/// The files of each process that an observer reads in a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFiles {
    /// None, because the metric observes no processes.
    None,
    /// Only `stat`.
    Stat,
    /// `stat`, and `schedstat` of each thread: the time on run queues.
    RunQueue,
    /// All files with counters.
    Counters,
}

impl ProcessFiles {
    /// Whether the metric observes processes: the processes of the target, or the processes that
    /// match target-command.
    pub fn observes_processes(self) -> bool {
        self != Self::None
    }

    /// Whether the files of each thread are read, too.
    pub fn has_threads(self) -> bool {
        matches!(self, Self::RunQueue | Self::Counters)
    }

    /// Whether the summary has the processor time of programs. The last use of a process, just
    /// before its end, is then read, too.
    pub fn sums_processor_time(self) -> bool {
        self.has_threads()
    }
}
