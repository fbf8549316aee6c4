//! The settings of an observer, from the environment variables that the webhook sets. The settings
//! are validated again, because any user can create a container that runs this program.

use encode::json::clean;
use target_command::TargetCommand;

use crate::runtime::declaration::{Declaration, MetricOption};

/// The settings of an observer. Times are in seconds.
#[derive(Debug)]
// Each of them is a setting of its own.
#[allow(clippy::struct_excessive_bools)]
pub struct Settings {
    /// The metric to collect.
    pub metric: &'static Declaration,
    /// The container to observe.
    pub target: String,
    /// Matches the names of the programs to observe; `None` to observe every process of the target.
    pub command: Option<TargetCommand>,
    /// The text of target-command; empty if there is no target-command.
    pub pattern: String,
    /// The interval between samples.
    pub rate: f64,
    /// The number of timepoints to take; 0 for no limit.
    pub completions: f64,
    /// The time to wait for a process; 0 for no limit.
    pub timeout: f64,
    /// Whether each thread has a row.
    pub has_threads: bool,
    /// Whether the log contains the raw files of the metric's tool.
    pub has_artifacts: bool,
    /// The samples in a second of processor time.
    pub frequency: f64,
    /// The first step of a training loop that is recorded, and the number of these steps.
    pub step: f64,
    /// See `step`.
    pub steps: f64,
    /// The maximum size of the log in MiB.
    pub max_log: f64,
    /// Whether the pod uses the network of its node.
    pub has_host_network: bool,
    /// Whether the observer ends with its target: in mode container, unless the kubelet would
    /// restart it.
    pub exits_by_itself: bool,
    /// Whether the kubelet may start the target again after it has ended. This depends on its exit
    /// code, which an observer cannot read.
    pub target_may_return: bool,
    /// The names of the containers that are not observed.
    pub observers: Vec<String>,
    /// The names of all metrics of the program, whose observers are not observed either.
    pub metrics: Vec<&'static str>,
    /// The keys and values that the header of the log copies from the environment. A missing value
    /// is empty.
    pub pod_metadata: Vec<(&'static str, String)>,
    /// The folder of the results of the metric's tool.
    pub folder: FolderSettings,
    /// A sentence that describes an error in the settings.
    pub problem: Option<String>,
}

/// The settings of the folder in which a tool writes its results.
#[derive(Debug, PartialEq, Eq)]
pub struct FolderSettings {
    /// The path of the folder in the container of the observer.
    pub path: String,
    /// The size limit of its volume in bytes; 0 if there is none.
    pub size_limit: u64,
    /// The paths at which the target mounts the image of the tool; empty if the tool is installed.
    pub mounts: Vec<String>,
}

/// The default path of the folder of the results.
const RESULTS: &str = "/ridealong/results";

impl FolderSettings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    fn read(variable: impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let text = |name: &str| {
            let value = variable(name).and_then(|value| String::from_utf8(value).ok());
            value.unwrap_or_default()
        };
        let path = text("RIDEALONG_RESULTS");
        Self {
            path: if path.is_empty() {
                RESULTS.to_owned()
            } else {
                path
            },
            size_limit: text("RIDEALONG_TOOL_SIZE_LIMIT").parse().unwrap_or(0),
            mounts: text("RIDEALONG_TOOL_MOUNTS")
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
        }
    }
}

/// An option whose value is a number.
struct NumberOption {
    name: &'static str,
    variable: &'static str,
    default: f64,
    least: f64,
}

impl NumberOption {
    const fn new(name: &'static str, variable: &'static str, default: f64, least: f64) -> Self {
        Self {
            name,
            variable,
            default,
            least,
        }
    }
}

const RATE: NumberOption = NumberOption::new("rate", "RIDEALONG_OPTION_RATE", 10.0, 0.1);
const LONG_RATE: NumberOption = NumberOption {
    default: 60.0,
    ..RATE
};
const FREQUENCY: NumberOption =
    NumberOption::new("frequency", "RIDEALONG_OPTION_FREQUENCY", 100.0, 1.0);
const STEP: NumberOption = NumberOption::new("step", "RIDEALONG_OPTION_STEP", 100.0, 1.0);
const STEPS: NumberOption = NumberOption::new("steps", "RIDEALONG_OPTION_STEPS", 5.0, 1.0);
const COMPLETIONS: NumberOption =
    NumberOption::new("completions", "RIDEALONG_OPTION_COMPLETIONS", 0.0, 0.0);
const TIMEOUT: NumberOption = NumberOption::new("timeout", "RIDEALONG_OPTION_TIMEOUT", 0.0, 0.0);
const MAX_LOG: NumberOption = NumberOption::new("max-log", "RIDEALONG_OPTION_MAX_LOG", 8.0, 0.05);

/// Reads settings from environment variables, whose values `variable` returns.
struct Reader<F> {
    variable: F,
    /// A sentence that describes the last error.
    problem: Option<String>,
}

impl<F: Fn(&str) -> Option<Vec<u8>>> Reader<F> {
    fn text(&self, name: &str) -> String {
        let value = (self.variable)(name);
        value.map(|value| clean(&value)).unwrap_or_default()
    }

    fn is_true(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    fn number(&mut self, option: &NumberOption) -> f64 {
        let value = self.text(option.variable);
        if value.is_empty() {
            return option.default;
        }
        let number = parse_number(&value).filter(|number| *number >= option.least);
        number.unwrap_or_else(|| {
            let NumberOption { name, least, .. } = option;
            self.problem = Some(format!(
                "{name} is \"{value}\"; it must be a number, at least {least}"
            ));
            option.default
        })
    }

    fn target(&mut self) -> String {
        let target = self.text("RIDEALONG_TARGET_CONTAINER");
        if target.is_empty() {
            let problem = "RIDEALONG_TARGET_CONTAINER must name a container of the pod";
            self.problem = Some(problem.to_owned());
        }
        target
    }

    fn target_command(&mut self, metric: &Declaration) -> Option<TargetCommand> {
        let command = (self.variable)("RIDEALONG_TARGET_COMMAND").unwrap_or_default();
        if command.is_empty() || !metric.reads.observes_processes() {
            return None;
        }
        let parsed = TargetCommand::parse(&command);
        let error = parsed.as_ref().err();
        self.problem = error.map(|error| format!("invalid target-command: {error}"));
        parsed.ok()
    }

    fn pod_metadata(&self, target: &str, pattern: &str) -> Vec<(&'static str, String)> {
        vec![
            (POD, self.text("POD_NAME")),
            ("namespace", self.text("POD_NAMESPACE")),
            ("node", self.text("NODE_NAME")),
            ("owner", self.text("RIDEALONG_OWNER")),
            (INDEX, self.text("JOB_COMPLETION_INDEX")),
            ("container", target.to_owned()),
            ("targetCommand", pattern.to_owned()),
            ("mode", self.text("RIDEALONG_MODE")),
            ("catalog", self.text("RIDEALONG_CATALOG")),
        ]
    }
}

/// The seconds between two scans of a metric without the option `rate`, which has no timepoints:
/// the libraries of a process are read when a scan finds it.
const SCAN_INTERVAL: f64 = 1.0;

/// The key of the pod's name in `pod_metadata`.
pub const POD: &str = "pod";
/// The key of the pod's index in `pod_metadata`.
pub const INDEX: &str = "completionIndex";

impl Settings {
    /// Reads the settings for a metric. `metrics` are the names of all metrics of the program.
    /// `variable` returns the value of an environment variable.
    pub fn read(
        metric: &'static Declaration,
        metrics: Vec<&'static str>,
        variable: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut reader = Reader {
            variable,
            problem: None,
        };
        // The bytes of the pattern are used for matching, and its text for output.
        let pattern = reader.text("RIDEALONG_TARGET_COMMAND");
        let command = reader.target_command(metric);
        let rate = rate(&mut reader, metric);
        let frequency = reader.number(&FREQUENCY);
        let (step, steps) = (reader.number(&STEP), reader.number(&STEPS));
        let completions = reader.number(&COMPLETIONS);
        let timeout = reader.number(&TIMEOUT);
        let max_log = reader.number(&MAX_LOG);
        let target = reader.target();
        Self {
            metric,
            metrics,
            command,
            rate,
            frequency,
            step,
            steps,
            completions,
            timeout,
            max_log,
            has_threads: metric.has(MetricOption::Threads)
                && reader.is_true("RIDEALONG_OPTION_THREADS"),
            has_artifacts: metric.has(MetricOption::Artifacts)
                && reader.is_true("RIDEALONG_OPTION_ARTIFACTS"),
            has_host_network: reader.is_true("RIDEALONG_HOST_NETWORK"),
            exits_by_itself: exits_by_itself(&reader.variable),
            target_may_return: reader.text("RIDEALONG_RESTART_POLICY") == "OnFailure",
            observers: reader
                .text("RIDEALONG_OBSERVERS")
                .split(' ')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            pod_metadata: reader.pod_metadata(&target, &pattern),
            pattern,
            target,
            folder: FolderSettings::read(&reader.variable),
            problem: reader.problem,
        }
    }

    /// Returns the name of the pod; empty if the name is unknown.
    pub fn pod(&self) -> &str {
        self.pod_value(POD)
    }

    /// Returns a value of `pod_metadata`; empty if it is unknown.
    pub fn pod_value(&self, key: &str) -> &str {
        let mut all = self.pod_metadata.iter();
        all.find(|(known, _)| *known == key)
            .map_or("", |(_, value)| value)
    }

    /// Describes the processes to observe, for messages.
    pub fn target_description(&self) -> String {
        if self.metric.reads.observes_processes() && !self.pattern.is_empty() {
            format!("a program whose name matches {}", self.pattern)
        } else {
            format!("a process of container {}", self.target)
        }
    }
}

/// Whether an observer with these variables ends by itself. The kubelet would restart an observer
/// that exits in mode `native`, or with the restart policy `Always`, which the container of an
/// observer has in common with its target.
pub fn exits_by_itself(variable: impl Fn(&str) -> Option<Vec<u8>>) -> bool {
    let is = |name, value: &str| variable(name).is_some_and(|bytes| bytes == value.as_bytes());
    let policy = "RIDEALONG_RESTART_POLICY";
    is("RIDEALONG_MODE", "container") && (is(policy, "Never") || is(policy, "OnFailure"))
}

/// Returns the seconds between samples.
fn rate<F: Fn(&str) -> Option<Vec<u8>>>(reader: &mut Reader<F>, metric: &Declaration) -> f64 {
    if metric.has(MetricOption::LongRate) {
        return reader.number(&LONG_RATE);
    }
    let rate = reader.number(&RATE);
    if metric.has(MetricOption::Rate) {
        rate
    } else {
        SCAN_INTERVAL
    }
}

/// Parses a number with at most nine digits before the point and at most three after it.
fn parse_number(text: &str) -> Option<f64> {
    let (whole, rest) = text
        .split_once('.')
        .map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let is_digits = |digits: &str, most| {
        (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_number = is_digits(whole, 9) && rest.is_none_or(|rest| is_digits(rest, 3));
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::declaration::ProcessFiles;

    const METRIC: Declaration = Declaration {
        name: "metric",
        description: "",
        help: "",
        options: &[MetricOption::Rate],
        reads: ProcessFiles::Counters,
        reads_sockets: false,
    };
    static ANY: Declaration = METRIC;
    static OF_NODE: Declaration = Declaration {
        reads: ProcessFiles::None,
        reads_sockets: false,
        ..METRIC
    };
    static RARE: Declaration = Declaration {
        options: &[MetricOption::LongRate],
        ..METRIC
    };
    static WITH_THREADS: Declaration = Declaration {
        options: &[MetricOption::Threads],
        ..METRIC
    };
    static WITH_TOOL: Declaration = Declaration {
        options: &[MetricOption::Artifacts],
        ..METRIC
    };

    fn read(metric: &'static Declaration, pairs: &[(&str, &str)]) -> Settings {
        Settings::read(metric, Vec::new(), |name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.as_bytes().to_vec())
        })
    }

    const TARGET: (&str, &str) = ("RIDEALONG_TARGET_CONTAINER", "app");

    #[test]
    fn the_folder_and_its_size_limit_come_from_the_environment() {
        let none = FolderSettings::read(|_| None);
        assert_eq!((none.path.as_str(), none.size_limit), (RESULTS, 0));
        assert_eq!(none.mounts, Vec::<String>::new());
        let some = FolderSettings::read(|name| {
            let value = match name {
                "RIDEALONG_RESULTS" => "/r",
                "RIDEALONG_TOOL_MOUNTS" => "/a/b /c/d",
                _ => "1048576",
            };
            Some(value.as_bytes().to_vec())
        });
        assert_eq!((some.path.as_str(), some.size_limit), ("/r", 1 << 20));
        assert_eq!(some.mounts, ["/a/b", "/c/d"]);
    }

    #[test]
    fn defaults_match_the_catalog() {
        let settings = read(&ANY, &[TARGET]);
        assert_eq!(settings.problem, None);
        assert_eq!(
            (
                settings.rate,
                settings.completions,
                settings.timeout,
                settings.max_log
            ),
            (10.0, 0.0, 0.0, 8.0)
        );
        assert!(!settings.has_threads && !settings.exits_by_itself);
        assert_eq!(settings.target_description(), "a process of container app");
    }

    #[test]
    fn each_error_names_the_setting() {
        for (key, value, expected) in [
            (
                "RIDEALONG_OPTION_RATE",
                "often",
                "rate is \"often\"; it must be a number, at least 0.1",
            ),
            (
                "RIDEALONG_OPTION_RATE",
                "0.05",
                "rate is \"0.05\"; it must be a number, at least 0.1",
            ),
            (
                "RIDEALONG_OPTION_MAX_LOG",
                "1e3",
                "max-log is \"1e3\"; it must be a number, at least 0.05",
            ),
            (
                "RIDEALONG_OPTION_TIMEOUT",
                "-1",
                "timeout is \"-1\"; it must be a number, at least 0",
            ),
            (
                "RIDEALONG_OPTION_COMPLETIONS",
                "1.",
                "completions is \"1.\"; it must be a number, at least 0",
            ),
        ] {
            assert_eq!(
                read(&ANY, &[TARGET, (key, value)]).problem.as_deref(),
                Some(expected)
            );
        }
        let problem = read(&ANY, &[]).problem;
        assert_eq!(
            problem.as_deref(),
            Some("RIDEALONG_TARGET_CONTAINER must name a container of the pod")
        );
    }

    #[test]
    fn an_observer_ends_by_itself_unless_the_kubelet_would_restart_it() {
        for (mode, policy, expected, returns) in [
            ("container", "Never", true, false),
            ("container", "OnFailure", true, true),
            ("container", "Always", false, false),
            ("native", "Never", false, false),
            ("container", "", false, false),
        ] {
            let pairs = [
                TARGET,
                ("RIDEALONG_MODE", mode),
                ("RIDEALONG_RESTART_POLICY", policy),
            ];
            let settings = read(&OF_NODE, &pairs);
            let found = (settings.exits_by_itself, settings.target_may_return);
            assert_eq!(found, (expected, returns), "{mode} {policy}");
        }
    }

    #[test]
    fn only_a_metric_with_the_option_has_rows_of_threads() {
        let pairs = [TARGET, ("RIDEALONG_OPTION_THREADS", "true")];
        assert!(read(&WITH_THREADS, &pairs).has_threads);
        assert!(!read(&WITH_THREADS, &[TARGET]).has_threads);
        assert!(!read(&ANY, &pairs).has_threads);
    }

    #[test]
    fn only_tools_have_raw_files() {
        let pairs = [TARGET, ("RIDEALONG_OPTION_ARTIFACTS", "true")];
        assert!(read(&WITH_TOOL, &pairs).has_artifacts);
        assert!(!read(&WITH_TOOL, &[TARGET]).has_artifacts);
        assert!(!read(&ANY, &pairs).has_artifacts);
    }

    #[test]
    fn a_metric_without_a_rate_scans_each_second() {
        let pairs = [TARGET, ("RIDEALONG_OPTION_RATE", "5")];
        let rates = (read(&ANY, &pairs).rate, read(&WITH_TOOL, &pairs).rate);
        assert_eq!(rates, (5.0, 1.0));
    }

    #[test]
    fn a_metric_with_rare_samples_has_another_default() {
        let pairs = [TARGET, ("RIDEALONG_OPTION_RATE", "5")];
        let rates = (read(&RARE, &pairs).rate, read(&RARE, &[TARGET]).rate);
        assert_eq!(rates, (5.0, 60.0));
    }

    #[test]
    fn a_metric_of_processes_has_a_target_command() {
        let settings = read(&ANY, &[TARGET, ("RIDEALONG_TARGET_COMMAND", "lmp")]);
        assert!(settings.command.is_some());
        assert_eq!(
            settings.target_description(),
            "a program whose name matches lmp"
        );
    }

    #[test]
    fn only_true_means_the_network_of_the_node() {
        for (value, expected) in [("true", true), ("false", false), ("", false)] {
            let settings = read(&ANY, &[TARGET, ("RIDEALONG_HOST_NETWORK", value)]);
            assert_eq!(settings.has_host_network, expected, "{value}");
        }
    }

    #[test]
    fn a_metric_of_the_node_ignores_the_target_command() {
        let settings = read(&OF_NODE, &[TARGET, ("RIDEALONG_TARGET_COMMAND", "lmp(")]);
        assert!(settings.command.is_none() && settings.problem.is_none());
    }
}
