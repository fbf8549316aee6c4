//! The variables of a process, as the process had them when it executed its program. Variables that
//! a program sets for itself later, as Python does with `os.environ`, are not among them.

use std::collections::{BTreeMap, BTreeSet};

use crate::sampling::measure::Meter;
use crate::sampling::process::{Key, Measured, Process};
use crate::sampling::process_table::ProcessTable;

/// The maximum processes whose variables are remembered.
const MAX_PROCESSES: usize = 4096;

/// The parsed variables of the observed processes. They are read once for each program that a
/// process executes.
pub struct Environs<T> {
    /// The variables, or `None` if there are none or they cannot be read; with the address of the
    /// stack, which is another one when the process has executed another program.
    known: BTreeMap<Key, (u64, Option<T>)>,
}

impl<T> Default for Environs<T> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
        }
    }
}

impl<T> Environs<T> {
    /// Reads the variables of the processes that are new, or have executed another program, and
    /// forgets those of processes that have ended. `parse` gets the variables of a process, each of
    /// which ends with a zero byte.
    pub fn update(&mut self, table: &mut ProcessTable, parse: impl Fn(&[u8]) -> Option<T>) {
        let observed: BTreeSet<Key> = table.observed.iter().copied().collect();
        self.known.retain(|key, _| observed.contains(key));
        for key in observed {
            let Some(process) = table.all.get_mut(&key).filter(|one| !one.is_zombie) else {
                self.known.remove(&key);
                continue;
            };
            let stack = process.stack;
            let is_known = matches!(self.known.get(&key), Some((known, _)) if *known == stack);
            if is_known || self.known.len() >= MAX_PROCESSES {
                continue;
            }
            let found = read(&mut table.meter, process, &parse);
            self.known.insert(key, (stack, found));
        }
    }

    /// Returns the variables of a process.
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.known.get(key)?.1.as_ref()
    }

    /// Returns the variables of all processes.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.known.values().filter_map(|(_, found)| found.as_ref())
    }
}

/// Reads the variables of a process. `None` if they cannot be read. The process must have
/// measurements.
fn read<T>(
    meter: &mut Meter,
    process: &mut Process,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let (file_id, measured) = (process.file_id, process.measured.as_mut()?);
    meter.read_status(file_id, measured)?;
    let Measured { identity, .. } = **measured;
    let path = format!("{file_id}/environ");
    let (found, _guard) = meter.with_access(&mut measured.io_access, identity, |meter| {
        meter.files.read_whole(&path).map(&parse)
    });
    found.ok().flatten()
}

/// Returns the value of a variable.
pub fn find<'a>(environ: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut all = environ.split(|byte| *byte == 0);
    all.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Parses a value that is a number without a sign, and not the largest one.
pub fn number(text: &[u8]) -> Option<u32> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    text.parse().ok().filter(|number| *number != u32::MAX)
}
