//! The variables of a process, as the process had them when it executed its program. Variables that
//! a program sets for itself later, as Python does with `os.environ`, are not among them.

use crate::sampling::measure::Meter;
use crate::sampling::process::{Measured, Process};

/// Reads the variables of a process, each of which ends with a zero byte, and returns what `parse`
/// makes of them. `None` if they cannot be read. The process must have measurements.
pub fn read<T>(
    meter: &mut Meter,
    process: &mut Process,
    mut parse: impl FnMut(&[u8]) -> T,
) -> Option<T> {
    let (file_id, measured) = (process.file_id, process.measured.as_mut()?);
    meter.read_status(file_id, measured)?;
    let Measured { identity, .. } = **measured;
    let path = format!("{file_id}/environ");
    let (found, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
        meter.files.read_whole(&path).map(&mut parse)
    });
    found.ok()
}

/// Returns the value of a variable.
#[must_use]
pub fn find<'a>(environ: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut all = environ.split(|byte| *byte == 0);
    all.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Parses a value that is a number without a sign, and not the largest one.
#[must_use]
pub fn number(text: &[u8]) -> Option<u32> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok().filter(|number| *number != u32::MAX)
}
