//! What both metrics have in common: how an observer begins, and how its log ends.

use crate::capacity::Capacity;
use crate::identity::Own;
use crate::look::Processes;
use crate::machine::Machine;
use crate::measure::Meter;
use crate::places::Places;
use crate::proc::files::Files;
use crate::proc::status;
use crate::session::Session;
use crate::settings::Settings;
use crate::summary;

/// Seconds that the rest of a log waits for its reader at the end of an ordinary container.
const PATIENCE: f64 = 5.0;

/// What is said where there are no files of processes.
pub const UNREADABLE: &str = "/proc cannot be read";

/// Gets ready to look at processes.
///
/// # Errors
/// A sentence that says why that is not possible.
pub fn prepare(settings: &mut Settings) -> Result<Processes, String> {
    let unreadable = |_| UNREADABLE.to_owned();
    let mut files = Files::open().map_err(unreadable)?;
    let machine = Machine::find(&mut files).ok_or(UNREADABLE)?;
    let own = files.read_whole("self/status").map_err(unreadable)?;
    let own = Own::from_status(own, &status::parse(own).ok_or(UNREADABLE)?);
    if let Some(problem) = settings.problem.take() {
        return Err(problem);
    }
    let places = Places::find(&mut files, &settings.target, &settings.observers);
    let capacity = Capacity::find(settings.has_threads);
    let command = settings.command.take();
    Ok(Processes::new(
        Meter::new(files, machine, own),
        places,
        capacity,
        settings,
        command,
    ))
}

/// Writes the closing marker, without which the parser takes nothing of the log, and the summary.
/// Then it stays until it is told to end, where what ends is started again.
pub fn finish(settings: &Settings, session: &mut Session, reason: &str, lines: &[Vec<u8>]) {
    session.log.write_line("METRICS OPERATOR COLLECTION END");
    session.log.flush();
    session.log.say(&format!("ended: {reason}"));
    summary::write(&mut session.log, lines);
    session.drain(PATIENCE);
    if !settings.ends_itself {
        session.wait_for_end();
        session.drain(PATIENCE);
    }
}
