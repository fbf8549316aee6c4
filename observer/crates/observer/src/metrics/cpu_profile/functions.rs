//! The functions to which the addresses of a profile belong.

use std::collections::BTreeMap;

use encode::json::clean;
use linux::read_at::ReadAt;

use super::elf::{Segments, find_symbols};
use super::maps::{self, Mapping};
use super::names::Names;

/// The maximum different addresses of a profile that get a function. All other addresses belong to
/// [`OTHER`].
const MAX_ADDRESSES: usize = 65_536;
/// The maximum bytes of the names of functions. After that, functions count as functions without a
/// symbol.
const MAX_NAMES: usize = 4 << 20;
/// The number of the function of the addresses without a function of their own.
pub const OTHER: usize = 0;
/// The name of the function [`OTHER`], and of rows that sum up other rows.
pub const OTHER_NAME: &str = "(other)";

/// The different addresses of a profile.
#[derive(Default)]
pub struct Addresses {
    /// The addresses. The first `sorted` of them are sorted, and each occurs once.
    list: Vec<u64>,
    sorted: usize,
}

impl Addresses {
    /// Adds the addresses of a stack. An address of a caller is a return address, which may belong
    /// to the next function already, so the address before is used.
    pub fn add(&mut self, stack: &[u64]) {
        if self.sorted < MAX_ADDRESSES {
            self.list.extend(codes(stack));
        }
        if self.list.len() >= self.sorted + MAX_ADDRESSES {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
        self.list.truncate(MAX_ADDRESSES);
        self.sorted = self.list.len();
    }
}

/// Returns the address of the instruction that each address of a stack belongs to.
fn codes(stack: &[u64]) -> impl Iterator<Item = u64> {
    let is_caller = |at: usize| u64::from(at > 0);
    stack
        .iter()
        .enumerate()
        .map(move |(at, address)| address.wrapping_sub(is_caller(at)))
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name, or the name of the library in brackets if the function has no symbol.
    pub name: String,
    /// The number of the library in `libraries`.
    library: usize,
}

/// The functions of a profile.
pub struct Functions {
    addresses: Vec<u64>,
    /// The number of the function of each address.
    numbers: Vec<usize>,
    list: Vec<Function>,
    libraries: Vec<String>,
}

impl Functions {
    /// Finds the functions of all addresses. `open` opens a file by its path in the container.
    pub fn resolve<F: ReadAt>(
        mut addresses: Addresses,
        mappings: &[Mapping],
        mut open: impl FnMut(&[u8]) -> Option<F>,
    ) -> Self {
        addresses.sort();
        let addresses = addresses.list;
        let mut by_path: BTreeMap<Option<&[u8]>, Vec<(u64, usize)>> = BTreeMap::new();
        for (at, address) in addresses.iter().enumerate() {
            let mapping = maps::find(mappings, *address);
            // The position in the file. A hostile profile may have any offset.
            let position = mapping.map_or(0, |mapping| {
                (address - mapping.start).wrapping_add(mapping.offset)
            });
            let path = mapping.map(|mapping| &*mapping.path);
            by_path.entry(path).or_default().push((position, at));
        }
        let mut registry = Registry::new(addresses.len());
        for (path, places) in by_path {
            registry.add_library(path.map_or("unknown".to_owned(), library_name));
            let numbers: Vec<usize> = places.iter().map(|(_, at)| *at).collect();
            registry.assign(&numbers, None);
            let file = path
                .filter(|path| path.starts_with(b"/"))
                .and_then(&mut open);
            if let Some(file) = file {
                registry.read(&file, &places);
            }
        }
        Self {
            addresses,
            numbers: registry.numbers,
            list: registry.list,
            libraries: registry.libraries,
        }
    }

    /// Converts a stack to the numbers of its functions, in the same order.
    pub fn of_stack(&self, stack: &[u64], functions: &mut Vec<usize>) {
        functions.clear();
        functions.extend(codes(stack).map(|code| {
            let found = self.addresses.binary_search(&code);
            found.map_or(OTHER, |at| self.numbers[at])
        }));
    }

    /// Returns the number of functions. A function has a number below it.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the name of a function.
    pub fn name(&self, number: usize) -> &str {
        self.list
            .get(number)
            .map_or(OTHER_NAME, |function| &function.name)
    }

    /// Returns the file name of the library or program to which a function belongs. `None` for
    /// [`OTHER`].
    pub fn library(&self, number: usize) -> Option<&str> {
        let function = self.list.get(number).filter(|_| number != OTHER)?;
        self.libraries.get(function.library).map(String::as_str)
    }
}

/// The functions that are known so far.
struct Registry {
    numbers: Vec<usize>,
    list: Vec<Function>,
    libraries: Vec<String>,
    /// The functions of the current library by their names.
    known: BTreeMap<String, usize>,
    name_bytes: usize,
    names: Names,
}

impl Registry {
    fn new(addresses: usize) -> Self {
        let other = Function {
            name: OTHER_NAME.to_owned(),
            library: 0,
        };
        Self {
            numbers: vec![OTHER; addresses],
            list: vec![other],
            libraries: Vec::new(),
            known: BTreeMap::new(),
            name_bytes: 0,
            names: Names::default(),
        }
    }

    fn add_library(&mut self, name: String) {
        self.known.clear();
        self.libraries.push(name);
    }

    /// Assigns a function of the current library to addresses. Without a name, this is the function
    /// for addresses without a symbol.
    fn assign(&mut self, addresses: &[usize], name: Option<String>) {
        let library = self.libraries.len() - 1;
        let name = name.unwrap_or_else(|| format!("[{}]", self.libraries[library]));
        let number = *self.known.entry(name).or_insert_with_key(|name| {
            self.name_bytes += name.len();
            self.list.push(Function {
                name: name.clone(),
                library,
            });
            self.list.len() - 1
        });
        for address in addresses {
            self.numbers[*address] = number;
        }
    }

    /// Reads the symbols of a file for addresses of the current library: the position of each in
    /// the file, and its index.
    fn read(&mut self, file: &impl ReadAt, places: &[(u64, usize)]) {
        let segments = Segments::read(file);
        let mut places: Vec<(u64, usize)> = places
            .iter()
            .filter_map(|(position, at)| Some((segments.address(*position)?, *at)))
            .collect();
        places.sort_unstable();
        let addresses: Vec<u64> = places.iter().map(|(address, _)| *address).collect();
        find_symbols(file, &addresses, |index, symbol| {
            if self.name_bytes < MAX_NAMES {
                let name = self.names.from_symbol(symbol);
                self.assign(&[places[index].1], Some(name));
            }
        });
    }
}

/// Returns the name of a library in the rows: the last part of its path.
fn library_name(path: &[u8]) -> String {
    if path.is_empty() {
        return "anonymous".to_owned();
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    let name = name.strip_prefix(b"[").unwrap_or(name);
    let name = name.strip_suffix(b"]").unwrap_or(name);
    clean(name).replace(';', ":")
}
