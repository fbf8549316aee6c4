//! Finds the symbols of functions in an ELF file. Only the headers, the table of symbols and the
//! names of the functions that are found are read, because libraries can be larger than the memory
//! of the observer.

use linux::read_at::ReadAt;
use object::LittleEndian as LE;
use object::elf::{
    ELFCLASS64, ELFDATA2LSB, ELFMAG, FileHeader64, PF_X, PT_LOAD, ProgramHeader64, SHN_UNDEF,
    SHT_DYNSYM, SHT_SYMTAB, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE,
    SectionHeader64, Sym64,
};
use object::pod::{Pod, slice_from_all_bytes};

/// The maximum program headers and section headers that are read.
const MAX_HEADERS: u64 = 4096;
/// The maximum symbols that are read. The largest libraries have some hundred thousand.
const MAX_SYMBOLS: u64 = 2 << 20;
/// The maximum number of times that an address gets a better symbol. Symbols that do not overlap
/// need one time for each address; this bounds the time for a file in which all overlap.
const MAX_MATCHES: u64 = 16 << 20;
/// The maximum bytes of a symbol's name. Templates of C++ can have names of some kilobytes.
const MAX_NAME: usize = 8192;
const SYMBOLS_AT_ONCE: usize = 2048;

/// The symbol of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Symbol {
    address: u64,
    size: u64,
    rank: u8,
    /// The position of the name in the file.
    name: u64,
}

/// The parts of the file that are loaded as code: the position in the file, the size, and the
/// address of the first byte.
pub struct Segments(Vec<(u64, u64, u64)>);

impl Segments {
    /// Reads the program headers. Without valid headers, there are no segments.
    pub fn read(file: &(impl ReadAt + ?Sized)) -> Self {
        let Some(header) = file_header(file) else {
            return Self(Vec::new());
        };
        let count = u64::from(header.e_phnum.get(LE)).min(MAX_HEADERS);
        let start = header.e_phoff.get(LE);
        let mut bytes = Vec::new();
        let read = read_table::<ProgramHeader64<LE>>(file, start, count, &mut bytes);
        let is_code = |segment: &&ProgramHeader64<LE>| {
            segment.p_type.get(LE) == PT_LOAD && segment.p_flags.get(LE).contains(PF_X)
        };
        let segment = |segment: &ProgramHeader64<LE>| {
            let (offset, size) = (segment.p_offset.get(LE), segment.p_filesz.get(LE));
            (offset, size, segment.p_vaddr.get(LE))
        };
        Self(read.iter().filter(is_code).map(segment).collect())
    }

    /// Converts a position in the file to an address.
    pub fn address(&self, position: u64) -> Option<u64> {
        self.0.iter().find_map(|(offset, size, address)| {
            let within = position.checked_sub(*offset)?;
            (within < *size).then(|| address.wrapping_add(within))
        })
    }
}

/// Finds the symbols of the functions that contain `addresses`, which must be sorted, and calls
/// `found` with the index of each address and the name of its symbol. The table `.symtab` is used
/// if there is one, and `.dynsym` otherwise.
pub fn find_symbols(
    file: &(impl ReadAt + ?Sized),
    addresses: &[u64],
    mut found: impl FnMut(usize, &[u8]),
) {
    let Some(table) = find_table(file) else {
        return;
    };
    let mut best = vec![Symbol::default(); addresses.len()];
    read_symbols(file, &table, addresses, &mut best);
    let mut name = vec![0; MAX_NAME];
    let mut last = None;
    let mut length = 0;
    for (at, symbol) in best.iter().enumerate() {
        if symbol.name == 0 {
            continue;
        }
        if last != Some(symbol.name) {
            let left = table.names_end.saturating_sub(symbol.name);
            let most = usize::try_from(left).map_or(MAX_NAME, |left| left.min(MAX_NAME));
            let count = file.read_at(symbol.name, &mut name[..most]);
            let end = name[..count].iter().position(|byte| *byte == 0);
            length = end.unwrap_or(count);
            last = Some(symbol.name);
        }
        if length > 0 {
            found(at, &name[..length]);
        }
    }
}

/// The table of symbols: positions in the file.
struct Table {
    start: u64,
    count: u64,
    names: u64,
    names_end: u64,
}

fn find_table(file: &(impl ReadAt + ?Sized)) -> Option<Table> {
    let header = file_header(file)?;
    let count = u64::from(header.e_shnum.get(LE)).min(MAX_HEADERS);
    let mut bytes = Vec::new();
    let sections =
        read_table::<SectionHeader64<LE>>(file, header.e_shoff.get(LE), count, &mut bytes);
    let of_type = |kind| {
        sections
            .iter()
            .find(|section| section.sh_type.get(LE) == kind)
    };
    let symbols = of_type(SHT_SYMTAB).or_else(|| of_type(SHT_DYNSYM))?;
    let names = sections.get(usize::try_from(symbols.sh_link.get(LE)).ok()?)?;
    let start = names.sh_offset.get(LE);
    Some(Table {
        start: symbols.sh_offset.get(LE),
        count: (symbols.sh_size.get(LE) / size_of::<Sym64<LE>>() as u64).min(MAX_SYMBOLS),
        names: start,
        names_end: start.checked_add(names.sh_size.get(LE))?,
    })
}

fn read_symbols(
    file: &(impl ReadAt + ?Sized),
    table: &Table,
    addresses: &[u64],
    best: &mut [Symbol],
) {
    let mut bytes = Vec::new();
    let mut matches = 0;
    for first in (0..table.count).step_by(SYMBOLS_AT_ONCE) {
        let count = (table.count - first).min(SYMBOLS_AT_ONCE as u64);
        let Some(start) = table
            .start
            .checked_add(first * size_of::<Sym64<LE>>() as u64)
        else {
            return;
        };
        let symbols = read_table::<Sym64<LE>>(file, start, count, &mut bytes);
        for symbol in symbols
            .iter()
            .filter_map(|symbol| function(symbol, table.names))
        {
            matches += improve(&symbol, addresses, best);
            if matches > MAX_MATCHES {
                return;
            }
        }
        if (symbols.len() as u64) < count {
            return;
        }
    }
}

/// Returns the symbol if it is a function that the file defines.
fn function(symbol: &Sym64<LE>, names: u64) -> Option<Symbol> {
    let kind = symbol.st_type();
    let size = symbol.st_size.get(LE);
    // Functions in assembly language may have no type.
    let is_function = kind == STT_FUNC || kind == STT_GNU_IFUNC || (kind == STT_NOTYPE && size > 0);
    let is_defined = symbol.st_shndx.get(LE) != SHN_UNDEF;
    let name = u64::from(symbol.st_name.get(LE));
    let rank = match symbol.st_bind() {
        STB_GLOBAL => 2,
        STB_WEAK => 1,
        _ => 0,
    };
    (is_function && is_defined && name > 0).then_some(Symbol {
        address: symbol.st_value.get(LE),
        size,
        rank,
        name: names.checked_add(name)?,
    })
}

/// Assigns a symbol to the addresses that it contains, unless they have a better one: a function
/// that begins later, or a name with a wider binding. A symbol without a size counts as one byte.
/// Returns the number of addresses that it contains.
fn improve(symbol: &Symbol, addresses: &[u64], best: &mut [Symbol]) -> u64 {
    let end = symbol.address.saturating_add(symbol.size.max(1));
    let from = addresses.partition_point(|address| *address < symbol.address);
    let mut count = 0;
    for (address, best) in addresses[from..].iter().zip(&mut best[from..]) {
        if *address >= end {
            break;
        }
        count += 1;
        let is_better = best.name == 0 || (symbol.address, symbol.rank) > (best.address, best.rank);
        if is_better {
            *best = *symbol;
        }
    }
    count
}

fn file_header(file: &(impl ReadAt + ?Sized)) -> Option<FileHeader64<LE>> {
    let mut bytes = Vec::new();
    let header = *read_table::<FileHeader64<LE>>(file, 0, 1, &mut bytes).first()?;
    let identity = &header.e_ident;
    let is_known =
        identity.magic == ELFMAG && identity.class == ELFCLASS64 && identity.data == ELFDATA2LSB;
    is_known.then_some(header)
}

/// Reads a table of `count` entries; fewer at the end of the file.
fn read_table<'a, T: Pod>(
    file: &(impl ReadAt + ?Sized),
    start: u64,
    count: u64,
    bytes: &'a mut Vec<u8>,
) -> &'a [T] {
    let size = usize::try_from(count).unwrap_or(0) * size_of::<T>();
    bytes.resize(size, 0);
    let read = file.read_at(start, bytes);
    let whole = read - read % size_of::<T>();
    slice_from_all_bytes(&bytes[..whole]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns an ELF file with one segment of code, at the address 0x1000 and the position 0x200
    /// of the file, and with these symbols: type and binding, address, size, and name.
    fn elf(symbols: &[(u8, u64, u64, &str)]) -> Vec<u8> {
        let mut names = vec![0];
        let mut table = vec![0; 24];
        for (info, address, size, name) in symbols {
            table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
            table.extend([*info, 0, 1, 0]);
            table.extend(address.to_le_bytes());
            table.extend(size.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        let table_at = 64 + 56;
        let names_at = table_at + table.len() as u64;
        let sections_at = names_at + names.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        for word in [0, 64, sections_at] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 3, 0, 0, 0]);
        file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
        for word in [0x200_u64, 0x1000, 0x1000, 0x800, 0x800, 0x1000] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&table);
        file.extend(&names);
        file.extend([0; 64]);
        for (kind, at, size, link) in [
            (2_u32, table_at, table.len() as u64, 2_u32),
            (3, names_at, names.len() as u64, 0),
        ] {
            file.extend([0; 4]);
            file.extend(kind.to_le_bytes());
            file.extend([0; 16]);
            file.extend(at.to_le_bytes());
            file.extend(size.to_le_bytes());
            file.extend(link.to_le_bytes());
            file.extend([0; 20]);
        }
        file
    }

    fn names(file: &[u8], addresses: &[u64]) -> Vec<String> {
        let mut names = vec!["-".to_owned(); addresses.len()];
        find_symbols(file, addresses, |at, name| {
            names[at] = String::from_utf8_lossy(name).into_owned();
        });
        names
    }

    #[test]
    fn an_address_belongs_to_the_innermost_function_with_the_widest_binding() {
        let file = elf(&[
            (0x12, 0x1000, 0x100, "outer"),
            (0x02, 0x1040, 0x10, "local"),
            (0x12, 0x1040, 0x10, "inner"),
            (0x22, 0x1040, 0x10, "weak"),
            (0x11, 0x1200, 0x10, "data"),
            (0x10, 0x1300, 0x10, "assembly"),
        ]);
        let addresses = [
            0xfff, 0x1000, 0x1040, 0x104f, 0x1050, 0x1100, 0x1200, 0x1300,
        ];
        let expected = [
            "-", "outer", "inner", "inner", "outer", "-", "-", "assembly",
        ];
        assert_eq!(names(&file, &addresses), expected);
        let segments = Segments::read(file.as_slice());
        assert_eq!(segments.address(0x240), Some(0x1040));
        assert_eq!(segments.address(0x1ff), None);
        assert_eq!(segments.address(0xa00), None);
    }

    #[test]
    fn the_functions_of_this_program_are_found() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let mut count = 0;
        let addresses: Vec<u64> = (0..4000).map(|at| at * 4096).collect();
        find_symbols(&file, &addresses, |_, _| count += 1);
        assert!(count > 100, "{count}");
    }

    #[test]
    fn a_file_in_which_all_symbols_overlap_does_not_take_long() {
        let symbols: Vec<_> = (0..4000).map(|at| (0x12, at, u64::MAX, "f")).collect();
        let addresses: Vec<u64> = (10_000..60_000).collect();
        let file = elf(&symbols);
        let table = find_table(file.as_slice()).unwrap();
        let mut best = vec![Symbol::default(); addresses.len()];
        let mut matches = 0;
        for at in 0..4000 {
            let symbol = Symbol {
                address: at,
                size: u64::MAX,
                rank: 2,
                name: 1,
            };
            matches += improve(&symbol, &addresses, &mut best);
        }
        assert!(matches > MAX_MATCHES);
        read_symbols(file.as_slice(), &table, &addresses, &mut best);
        assert_eq!(names(&file, &addresses[..1]), ["f"]);
    }

    proptest! {
        #[test]
        fn any_change_of_a_file_is_read(changes in prop::collection::vec((0..400_usize, any::<u8>()), 1..20)) {
            let mut file = elf(&[(0x12, 0x1000, 0x100, "one"), (0x12, 0x1100, 0x100, "two")]);
            for (at, byte) in changes {
                let length = file.len();
                file[at % length] = byte;
            }
            let _ = Segments::read(file.as_slice()).address(0x210);
            let _ = names(&file, &[0, 0x1000, 0x1100, u64::MAX]);
        }
    }
}
