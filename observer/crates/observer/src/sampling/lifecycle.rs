//! The start of an observer and the end of its log, for all metrics.

use linux::proc::files::Files;
use linux::proc::status;
use otlp::feed::Feed;

use crate::runtime::identity::ObserverIdentity;
use crate::runtime::machine::Machine;
use crate::runtime::session::Session;
use crate::runtime::settings::Settings;
use crate::runtime::summary;
use crate::runtime::watchdog;
use crate::sampling::capacity::Capacity;
use crate::sampling::containers::Containers;
use crate::sampling::measure::Meter;
use crate::sampling::process_table::ProcessTable;

/// The maximum seconds that an observer waits at its end for the reader of its log.
const DRAIN_TIMEOUT: f64 = 5.0;

/// The reason to end if `/proc` cannot be read, or lists no processes.
pub const UNREADABLE: &str = "/proc cannot be read";

/// Opens `/proc`, and prepares the scans. A live export needs a part of the memory.
///
/// # Errors
/// The reason to end, as a sentence.
pub fn prepare(settings: &mut Settings, has_live_export: bool) -> Result<ProcessTable, String> {
    let unreadable = |_| UNREADABLE.to_owned();
    let mut files = Files::open().map_err(unreadable)?;
    let machine = Machine::detect(&mut files).ok_or(UNREADABLE)?;
    let own = files.read_whole("self/status").map_err(unreadable)?;
    let own = ObserverIdentity::from_status(own, &status::parse(own).ok_or(UNREADABLE)?);
    if let Some(problem) = settings.problem.take() {
        return Err(problem);
    }
    let containers = Containers::detect(
        &mut files,
        &settings.target,
        &settings.observers,
        &settings.metrics,
    );
    let capacity = Capacity::detect(settings, has_live_export);
    let command = settings.command.take();
    Ok(ProcessTable::new(
        Meter::new(files, machine, own, settings.metric.reads),
        containers,
        capacity,
        settings,
        command,
    ))
}

/// Writes the closing marker and the summary. The Metrics Operator's parser ignores a log without
/// the marker. An observer that does not end by itself then waits for a signal.
pub fn finish(settings: &Settings, session: &mut Session, reason: &str, lines: &[Vec<u8>]) {
    session.log.set_json(false);
    if watchdog::claim_end() {
        session.log.write_line("METRICS OPERATOR COLLECTION END");
    }
    session.log.flush();
    session.log.note(&format!("ended: {reason}"));
    session.note_export_problem();
    let export = session.log.feed.as_ref().map(Feed::summary);
    let lines: Vec<&[u8]> = lines.iter().chain(&export).map(Vec::as_slice).collect();
    summary::write(&mut session.log, &lines);
    if let Some(feed) = &mut session.log.feed {
        feed.close();
    }
    session.drain(DRAIN_TIMEOUT);
    if !settings.exits_by_itself {
        session.wait_for_signal();
        session.drain(DRAIN_TIMEOUT);
    }
    session.finish_export();
}
