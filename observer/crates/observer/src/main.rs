//! The program of the observers. Its name or its first argument selects the command.

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use linux::stderr::warn;
use otlp::settings::ExportSettings;
use otlp::{pusher, relay};
use ridealong_observer::cli::{self, Command};
use ridealong_observer::metrics;
use ridealong_observer::metrics::cpu_profile;
use ridealong_observer::metrics::metric::Metric;
use ridealong_observer::runtime::budget::Budget;
use ridealong_observer::runtime::hold::hold;
use ridealong_observer::runtime::session::Session;
use ridealong_observer::runtime::settings::{Settings, exits_by_itself};
use ridealong_observer::runtime::watchdog;
use ridealong_observer::stacks;
use ridealong_observer::tools::foreign::client::READ_AS;
use ridealong_observer::tools::foreign::server;
use ridealong_observer::tools::install::Installation;

fn main() -> ExitCode {
    let words: Vec<String> = env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match cli::parse(&words) {
        Ok(Command::Observe(metric, problem)) => observe(metric, problem),
        Ok(Command::Hold) => match hold() {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                warn(&format!("cannot wait for a signal: {}", error.desc()));
                ExitCode::FAILURE
            }
        },
        Ok(Command::Install) => {
            Installation::read(variable).install();
            ExitCode::SUCCESS
        }
        Ok(Command::ReadFiles) => {
            let other = env::var(READ_AS).ok().and_then(|text| text.parse().ok());
            server::run(other);
            ExitCode::SUCCESS
        }
        Ok(Command::Push(first)) => push(&env::args_os().skip(first).collect::<Vec<_>>()),
        Ok(Command::Stacks(has_threads)) => write_stacks(has_threads),
        Ok(Command::Version) => print(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Command::Help) => print(&cli::help()),
        Err(problem) => {
            warn(&problem);
            if variable("RIDEALONG_MODE").is_none() || exits_by_itself(variable) {
                return ExitCode::from(2);
            }
            wait_for_end();
            ExitCode::SUCCESS
        }
    }
}

/// Collects a metric. The exit code is always 0, because a failure of an observer must not fail its
/// pod.
fn observe(metric: &'static Metric, problem: Option<String>) -> ExitCode {
    let mut settings = Settings::read(&metric.declaration, metrics::names(), variable);
    settings.problem = problem.or(settings.problem);
    let stays = !settings.exits_by_itself;
    end_softly(stays);
    match Session::begin(Budget::new(settings.max_log), settings.exits_by_itself) {
        Ok(mut session) => {
            session.start_export(ExportSettings::read(variable));
            (metric.run)(settings, &mut session);
        }
        Err(error) => {
            warn(&format!("cannot wait for signals: {}", error.desc()));
            if stays {
                wait_for_end();
            }
        }
    }
    ExitCode::SUCCESS
}

/// Waits for a signal that ends the program, after a fault. The kubelet would restart a program
/// that exits, and some operators create a whole group of pods again if any container has
/// restarted. If the program cannot wait for signals, a signal still ends it.
fn wait_for_end() {
    while hold().is_err() {
        std::thread::park();
    }
}

/// Writes the stacks of the processes that the observer in this container observes.
fn write_stacks(has_threads: bool) -> ExitCode {
    let declaration = &cpu_profile::METRIC.declaration;
    let settings = Settings::read(declaration, metrics::names(), variable);
    match stacks::run(settings, has_threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            warn(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Runs a program and pushes the rows of its log. Without words, pushes the rows of the log on
/// standard input.
fn push(words: &[OsString]) -> ExitCode {
    let settings = ExportSettings::read(variable).unwrap_or_else(|problem| {
        warn(&format!("the live export is off: {problem}"));
        None
    });
    match (&settings, words.is_empty()) {
        (_, false) => relay::run(words, settings.as_ref()),
        (Some(settings), true) => {
            pusher::run(settings);
            ExitCode::SUCCESS
        }
        (None, true) => {
            warn("push needs the words of a command, or a valid RIDEALONG_OTLP_ENDPOINT");
            ExitCode::from(2)
        }
    }
}

fn variable(name: &str) -> Option<Vec<u8>> {
    env::var_os(name).map(OsStringExt::into_vec)
}

/// Sets a panic hook that ends the log and exits with 0. The hook writes the closing marker,
/// because the Metrics Operator's parser ignores a log without the marker. If `stays` is true, the
/// hook waits for a signal before it exits, because the kubelet restarts a native sidecar that
/// exits.
fn end_softly(stays: bool) {
    std::panic::set_hook(Box::new(move |defect| {
        warn(&format!(
            "the observer failed, and nothing more is collected: {defect}"
        ));
        if watchdog::claim_end() {
            // If this fails, there is no other stream for the marker.
            let _ = std::io::stdout().write_all(b"\nMETRICS OPERATOR COLLECTION END\n");
        }
        if stays {
            wait_for_end();
        }
        std::process::exit(0);
    }));
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
