//! The command line: the name under which the program runs, its arguments, and its help.

use crate::metrics::metric::Metric;
use crate::metrics::{METRICS, find, names};

/// A task of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Collect a metric. The text, if any, describes an error in the arguments.
    Observe(&'static Metric, Option<String>),
    /// Wait for a signal.
    Hold,
    /// Copy a tool into a volume.
    Install,
    /// Run a program and push the rows of its log. The number is the position of the program's name
    /// among the words. If there is no word at this position, the log is read from standard input.
    Push(usize),
    /// Write the stacks of the observed processes, with or without those of all threads.
    Stacks(bool),
    /// Read files of a container for an observer.
    ReadFiles,
    /// Print the version.
    Version,
    /// Print the help.
    Help,
}

/// The commands that are not metrics, with their help.
const OTHERS: [(&str, &str); 4] = [
    ("hold", "waits for SIGTERM"),
    (
        "install",
        "copies a tool from its image into a volume of the pod",
    ),
    (
        "push",
        "runs a command, passes its log on, and pushes the rows of the log to an endpoint of \
         OTLP; without a command, reads the log from standard input",
    ),
    (
        "stacks",
        "writes the stacks of the observed processes as JSON, with the settings of the observer in \
         whose container it runs",
    ),
];

/// The width of a name in the help, and of the description after it.
const NAME_WIDTH: usize = 12;
const HELP_WIDTH: usize = 83;

/// The beginning of the help.
const INTRODUCTION: &str = "\
Observes the processes of a pod from one of its containers, and writes their resource use to
standard output, in the Metrics Operator's format. Only reads /proc and /sys, and changes nothing;
cpu-profile also empties files of results, mpi-trace removes those that it has read, nccl-ras
asks the RAS service of NCCL on localhost, and torch-trace answers processes of PyTorch on a socket.
";

/// The settings in the help.
const SETTINGS: &str = "\
The settings are environment variables. Their defaults are in parentheses.
  RIDEALONG_TARGET_CONTAINER    the container to observe (required)
  RIDEALONG_TARGET_COMMAND      a POSIX extended regular expression: observes all processes of the
                                pod whose program name matches
  RIDEALONG_MODE                native: the observer ends only on SIGTERM;
                                container: the observer ends with the target (native)
  RIDEALONG_RESTART_POLICY      the restart policy of the target; unless it is Never or OnFailure,
                                an observer in mode container also ends only on SIGTERM
  RIDEALONG_HOST_NETWORK        network, vitals, nccl-ras: true if the pod uses the network of its node (false)
  RIDEALONG_OBSERVERS           the containers that are not observed, separated by blanks
  RIDEALONG_OPTION_RATE         seconds between samples (10); nccl-ras: between requests,
                                torch-collectives: between timepoints (60)
  RIDEALONG_OPTION_COMPLETIONS  number of timepoints; 0 means no limit (0)
  RIDEALONG_OPTION_TIMEOUT      not io-sysstat: seconds to wait for the first process; 0 means no
                                limit (0)
  RIDEALONG_OPTION_MAX_LOG      maximum size of the log in MiB (8)
  RIDEALONG_OPTION_FREQUENCY    cpu-profile: samples in a second of processor time; python-profile:
                                samples of each thread in a second (100)
  RIDEALONG_OPTION_STEP         torch-trace: the step of training with which a trace begins (100)
  RIDEALONG_OPTION_STEPS        torch-trace: the number of steps in a trace (5)
  RIDEALONG_OPTION_ARTIFACTS    cpu-profile, mpi-trace: true adds the raw files to the log (false)
  RIDEALONG_OPTION_THREADS      perf-sysstat, vitals: true adds a row for each thread (false)
  RIDEALONG_RESULTS             metrics with a tool: the folder of the results
                                (/ridealong/results)
  RIDEALONG_TOOL_MOUNTS         metrics with a tool: the paths at which the target mounts the image
                                of the tool, separated by blanks; the observer checks whether a
                                library can be mapped there
  RIDEALONG_TOOL_SIZE_LIMIT     cpu-profile, mpi-trace, torch-trace: the bytes of the volume that
                                the tool may use; if the files of this folder use more than half of
                                them, the observer empties or removes files
  RIDEALONG_TOOL_SOURCE         install: the folder of the tools in the image, with a folder for
                                each tool (/tool)
  RIDEALONG_TOOL_VOLUME         install: the volume; gets the folders NAME-tool and NAME-results for
                                each tool (/ridealong/volume)
  POD_NAME, POD_NAMESPACE, NODE_NAME, JOB_COMPLETION_INDEX, RIDEALONG_OWNER, RIDEALONG_CATALOG
                                are copied to the metadata of the log
  RIDEALONG_OTLP_ENDPOINT       http://HOST:PORT/PATH of a receiver of OTLP; empty: no live export
  RIDEALONG_OTLP_INTERVAL       seconds between pushes (10)
  RIDEALONG_OTLP_ROWS           the rows of the log, as JSON; set by the webhook
  POD_UID                       is pushed with the values

Examples:
  RIDEALONG_TARGET_CONTAINER=app perf-sysstat
  RIDEALONG_TARGET_CONTAINER=app RIDEALONG_TARGET_COMMAND='^lmp$' RIDEALONG_OPTION_RATE=1 \\
    perf-sysstat
  RIDEALONG_TARGET_CONTAINER=app RIDEALONG_OPTION_COMPLETIONS=6 io-sysstat
  push sh /metric.sh

The exit code is 0; 1 if hold cannot wait for a signal, if stacks finds no process or cannot write,
or if the help or the version cannot be printed; or 2 if the command line is invalid. However, a
metric reports an invalid command line in its log, and exits with 0 when it ends. In the container
of an observer that the kubelet would restart, the program waits for SIGTERM instead of exiting with
2. The exit code of push COMMAND is that of the command.
";

/// Returns the text of `--help`.
pub fn help() -> String {
    let metrics = METRICS.map(|metric| (metric.declaration.name, metric.declaration.help));
    let names = metrics.map(|(name, _)| name).join(" | ");
    let usage = format!("{names} | hold | install | push [COMMAND...] | stacks [--threads]");
    let usage = wrap(&usage, HELP_WIDTH).join("\n         ");
    let commands: Vec<String> = metrics
        .iter()
        .chain(&OTHERS)
        .map(|(name, text)| {
            let lines = wrap(text, HELP_WIDTH).join(&format!("\n{:NAME_WIDTH$}    ", ""));
            format!("  {name:NAME_WIDTH$}  {lines}\n")
        })
        .collect();
    let commands = commands.concat();
    format!(
        "{INTRODUCTION}
Usage: {usage}
       ridealong-observer METRIC | hold | install | push [COMMAND...] | stacks [--threads]
       ridealong-observer --version | --help

{commands}
{SETTINGS}"
    )
}

/// Breaks a text into lines of at most `width` bytes.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the commands, for messages.
fn commands() -> String {
    let names = names().into_iter().chain(OTHERS.map(|(name, _)| name));
    let names: Vec<&str> = names.collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

/// Parses a command line. The first word is the name of the program.
///
/// # Errors
/// A sentence that describes the error.
pub fn parse(words: &[String]) -> Result<Command, String> {
    let own = words
        .first()
        .map_or("", |path| path.rsplit('/').next().unwrap_or_default());
    let arguments = words.get(1..).unwrap_or_default();
    let (name, arguments) = match by_name(own) {
        Some(command) => (Some(command), arguments),
        None => (
            arguments.first().and_then(|name| by_name(name)),
            arguments.get(1..).unwrap_or_default(),
        ),
    };
    let is_option = |word: &str| matches!(word, "--help" | "-h" | "--version" | "-V");
    if name == Some(Command::Push(0)) && !arguments.first().is_some_and(|word| is_option(word)) {
        return Ok(Command::Push(words.len() - arguments.len()));
    }
    let first = words.get(1).map(String::as_str);
    match (name, first) {
        (_, Some("--help" | "-h")) => Ok(Command::Help),
        (_, Some("--version" | "-V")) => Ok(Command::Version),
        (Some(command), _) => match arguments {
            [] => Ok(command),
            [word] if command == Command::Stacks(false) && word == "--threads" => {
                Ok(Command::Stacks(true))
            }
            [extra, ..] => misused(&command, extra),
        },
        (None, Some(other)) => Err(format!(
            "unknown command {other}; it must be {}",
            commands()
        )),
        (None, None) => Err(format!("no command; it must be {}", commands())),
    }
}

/// Handles an unknown argument. An observer reports the argument in its log. In mode `native`, the
/// observer then waits for SIGTERM, because the kubelet restarts a native sidecar that exits.
fn misused(command: &Command, extra: &str) -> Result<Command, String> {
    let problem = format!("unknown argument {extra}; the settings are environment variables");
    match command {
        Command::Observe(metric, _) => Ok(Command::Observe(metric, Some(problem))),
        _ => Err(problem),
    }
}

fn by_name(name: &str) -> Option<Command> {
    if let Some(metric) = find(name) {
        return Some(Command::Observe(metric, None));
    }
    match name {
        "hold" => Some(Command::Hold),
        "install" => Some(Command::Install),
        "push" => Some(Command::Push(0)),
        "stacks" => Some(Command::Stacks(false)),
        // Only an observer starts this, so the help does not mention it.
        "read-files" => Some(Command::ReadFiles),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_program_name_or_the_first_argument_selects_the_command() {
        for (line, expected) in [
            ("hold", Command::Hold),
            ("install", Command::Install),
            ("/ridealong-observer hold", Command::Hold),
            ("perf-sysstat --version", Command::Version),
            ("hold --help", Command::Help),
            ("push", Command::Push(1)),
            ("ridealong-observer push", Command::Push(2)),
            ("push --help", Command::Help),
            ("/push sh -c --help", Command::Push(1)),
            ("ridealong-observer push sh", Command::Push(2)),
            ("ridealong-observer stacks", Command::Stacks(false)),
            ("stacks --threads", Command::Stacks(true)),
            ("ridealong-observer -h", Command::Help),
        ] {
            assert_eq!(parsed(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn the_name_of_a_metric_selects_it() {
        for metric in METRICS {
            let name = metric.declaration.name;
            let expected = Ok(Command::Observe(metric, None));
            assert_eq!(parsed(&format!("/usr/local/bin/{name}")), expected);
            assert_eq!(parsed(&format!("ridealong-observer {name}")), expected);
        }
    }

    #[test]
    fn the_help_names_each_metric() {
        let help = help();
        for name in names() {
            assert!(
                help.contains(&format!("\n  {name:NAME_WIDTH$}  ")),
                "{name}"
            );
        }
    }

    #[test]
    fn errors_name_the_wrong_word() {
        let metrics = names().join(", ");
        let expected = format!("no command; it must be {metrics}, hold, install, push or stacks");
        assert_eq!(parsed("x"), Err(expected));
        assert!(
            parsed("x pidstat")
                .unwrap_err()
                .starts_with("unknown command pidstat")
        );
        assert!(
            parsed("x hold still")
                .unwrap_err()
                .starts_with("unknown argument still")
        );
        let problem = "unknown argument 1; the settings are environment variables".to_owned();
        assert_eq!(
            parsed("perf-sysstat 1"),
            Ok(Command::Observe(
                find("perf-sysstat").unwrap(),
                Some(problem)
            ))
        );
        assert!(parse(&[]).is_err());
    }
}
