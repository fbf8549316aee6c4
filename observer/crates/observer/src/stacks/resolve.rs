//! The functions of all stacks of a pod. The symbols of a library are read once, and not for each
//! process: the addresses of all processes become positions in the files of their container.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::process::AskedProcess;
use crate::metrics::cpu_profile::binaries::Binaries;
use crate::metrics::cpu_profile::functions::{Addresses, Functions};
use crate::metrics::cpu_profile::maps::{self, Mapping};
use crate::sampling::containers::ContainerId;
use crate::sampling::measure::Meter;
use crate::sampling::process::Access;

/// The addresses of each file. A larger position does not occur in a file of a program.
const FILE: u64 = 1 << 40;

/// A function.
pub struct Named {
    /// The name, or the name of the library in brackets.
    pub name: String,
    /// The file name of the library or program, if known.
    pub library: Option<String>,
}

/// The functions of all stacks. The stack of a thread consists of numbers of functions.
#[derive(Default)]
pub struct Resolved {
    /// All functions.
    pub functions: Vec<Named>,
    /// The numbers of the functions of each thread, by the id of its process and its own id, from
    /// the innermost function on.
    pub stacks: BTreeMap<(i32, i32), Vec<usize>>,
    /// The same of Python, and whether outer functions are missing.
    pub python: BTreeMap<(i32, i32), (Vec<usize>, bool)>,
}

impl Resolved {
    /// Finds the functions of all stacks.
    pub fn new(processes: &mut [AskedProcess], meter: &mut Meter) -> Self {
        let mut resolved = Self::default();
        resolved.add_python(processes);
        let mut by_container: BTreeMap<Option<ContainerId>, Vec<&mut AskedProcess>> =
            BTreeMap::new();
        for process in processes {
            if process.threads.iter().any(|thread| thread.stack.is_some()) {
                by_container
                    .entry(process.container)
                    .or_default()
                    .push(process);
            }
        }
        for (container, mut processes) in by_container {
            let binaries = open_binaries(container, &mut processes, meter);
            resolved.add(container, &processes, &binaries);
        }
        resolved
    }

    fn add_python(&mut self, processes: &[AskedProcess]) {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for process in processes {
            for thread in &process.threads {
                let Ok((names, is_cut)) = process.python.stack(thread) else {
                    continue;
                };
                let mut number = |name| {
                    *numbers.entry(name).or_insert_with(|| {
                        self.functions.push(Named {
                            name: str::to_owned(name),
                            library: None,
                        });
                        self.functions.len() - 1
                    })
                };
                let stack = names.into_iter().map(&mut number).collect();
                self.python
                    .insert((process.pid, thread.id), (stack, is_cut));
            }
        }
    }

    fn add(
        &mut self,
        container: Option<ContainerId>,
        processes: &[&mut AskedProcess],
        binaries: &Binaries,
    ) {
        let mut files = Files::default();
        let mut addresses = Addresses::default();
        let mut stacks = Vec::new();
        for process in processes {
            for thread in &process.threads {
                let Some(stack) = &thread.stack else { continue };
                let positions = stack.addresses.iter().enumerate();
                let positions: Vec<u64> = positions
                    .map(|(at, address)| files.place(&process.mappings, *address, at > 0))
                    .collect();
                addresses.add(&positions);
                stacks.push(((process.pid, thread.id), positions));
            }
        }
        let functions = Functions::resolve(addresses, &files.mappings(), |path| {
            binaries.open(container?, path)
        });
        let first = self.functions.len();
        self.functions
            .extend((0..functions.count()).map(|number| Named {
                name: functions.name(number).to_owned(),
                library: functions.library(number).map(str::to_owned),
            }));
        let mut numbers = Vec::new();
        for (key, positions) in stacks {
            functions.of_stack(&positions, &mut numbers);
            let numbers = numbers.iter().map(|number| first + number).collect();
            self.stacks.insert(key, numbers);
        }
    }
}

/// The files of a container, each of which has a range of [`FILE`] addresses.
#[derive(Default)]
struct Files(BTreeMap<Rc<[u8]>, u64>);

impl Files {
    /// Converts an address of a process to an address in the range of its file; 0 without a file.
    /// A return address belongs to the code before it.
    fn place(&mut self, mappings: &[Mapping], address: u64, is_return: bool) -> u64 {
        let code = address.wrapping_sub(u64::from(is_return));
        let Some(mapping) = maps::find(mappings, code) else {
            return 0;
        };
        let position = (address - mapping.start).wrapping_add(mapping.offset);
        if position >= FILE - 1 {
            return 0;
        }
        let number = self.0.len() as u64 + 1;
        *self.0.entry(Rc::clone(&mapping.path)).or_insert(number) * FILE + position + 1
    }

    /// Returns the ranges as mappings, sorted by their addresses. The first address of a range is
    /// not used, so that no return address belongs to the range before.
    fn mappings(&self) -> Vec<Mapping> {
        let mut mappings: Vec<Mapping> = self
            .0
            .iter()
            .map(|(path, number)| Mapping {
                start: number * FILE + 1,
                end: (number + 1) * FILE,
                offset: 0,
                path: Rc::clone(path),
            })
            .collect();
        mappings.sort_by_key(|mapping| mapping.start);
        mappings
    }
}

/// Opens the files of a container through the first of its processes that may be read.
fn open_binaries(
    container: Option<ContainerId>,
    processes: &mut [&mut AskedProcess],
    meter: &mut Meter,
) -> Binaries {
    let mut binaries = Binaries::default();
    let Some(container) = container else {
        return binaries;
    };
    for process in processes {
        let (pid, asking) = (process.pid, &mut process.asking);
        let identity = asking.identity;
        let (root, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
            meter.files.open_root(pid)
        });
        let Ok(root) = root else { continue };
        if !binaries.has_root(container) {
            let identity = identity.filter(|_| asking.access == Access::Assumed);
            binaries.add(container, root, identity);
        }
        binaries.keep(container, &process.mappings);
    }
    binaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::cpu_profile::maps::parse_all;

    #[test]
    fn equal_code_of_two_processes_has_one_address() {
        let one = parse_all(b"1000-2000 r-xp 500 0:0 0 /a\n9000-a000 r-xp 0 0:0 0 /b\n");
        let two = parse_all(b"5000-6000 r-xp 500 0:0 0 /a\n7000-8000 r-xp 0 0:0 0 /b\n");
        let mut files = Files::default();
        let at = files.place(&one, 0x1010, false);
        assert_eq!(at, files.place(&two, 0x5010, false));
        assert_ne!(at, files.place(&two, 0x7010, false));
        let mappings = files.mappings();
        let found = maps::find(&mappings, at).unwrap();
        assert_eq!((&*found.path, at - found.start), (&b"/a"[..], 0x510));
        // A return address after the last instruction of a mapping.
        let end = files.place(&one, 0x2000, true);
        assert_eq!(&*maps::find(&mappings, end - 1).unwrap().path, b"/a");
        assert_eq!(files.place(&one, 0x2000, false), 0);
        assert_eq!(files.place(&one, 0, true), 0);
    }
}
