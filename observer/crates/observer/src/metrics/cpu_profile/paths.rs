//! The paths of programs and libraries. Many processes have the same libraries, and a hostile
//! process can have thousands of paths of 4 KiB: so equal paths share their memory, and all paths
//! together have a limit in bytes.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::maps::Mapping;

/// The maximum bytes of all paths.
const MAX_BYTES: usize = 4 << 20;

/// All paths that are in use.
#[derive(Default)]
pub struct Paths {
    known: BTreeSet<Rc<[u8]>>,
    bytes: usize,
}

impl Paths {
    /// Replaces the paths of mappings by equal paths of other mappings. Returns whether there was
    /// room for all of them.
    pub fn share(&mut self, mappings: &mut [Mapping]) -> bool {
        mappings
            .iter_mut()
            .all(|mapping| self.share_one(&mut mapping.path))
    }

    fn share_one(&mut self, path: &mut Rc<[u8]>) -> bool {
        if let Some(known) = self.known.get(path) {
            *path = Rc::clone(known);
            return true;
        }
        if self.bytes + path.len() > MAX_BYTES {
            self.drop_unused();
        }
        if self.bytes + path.len() > MAX_BYTES {
            return false;
        }
        self.bytes += path.len();
        self.known.insert(Rc::clone(path));
        true
    }

    fn drop_unused(&mut self) {
        self.known.retain(|path| Rc::strong_count(path) > 1);
        self.bytes = self.known.iter().map(|path| path.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::cpu_profile::maps::parse_all;

    /// Returns the mappings of a process with libraries whose paths have 4,000 bytes.
    fn libraries(numbers: std::ops::Range<usize>) -> Vec<Mapping> {
        let line = |number| {
            format!(
                "{number:x}0-{number:x}8 r-xp 0 0:0 0 /{number:04}{:>3995}\n",
                "x"
            )
        };
        parse_all(numbers.map(line).collect::<String>().as_bytes())
    }

    #[test]
    fn equal_paths_share_their_memory() {
        let mut paths = Paths::default();
        let mut processes: Vec<_> = (0..100).map(|_| libraries(0..200)).collect();
        assert!(processes.iter_mut().all(|mappings| paths.share(mappings)));
        assert_eq!(paths.bytes, 200 * 4000);
        assert!(Rc::ptr_eq(&processes[0][7].path, &processes[99][7].path));
    }

    #[test]
    fn all_paths_together_have_a_limit() {
        let mut paths = Paths::default();
        let mut kept = libraries(0..1000);
        assert!(paths.share(&mut kept));
        let mut other = libraries(1000..2000);
        assert!(!paths.share(&mut other));
        assert!(paths.bytes <= MAX_BYTES);
        drop(kept);
        drop(other);
        assert!(paths.share(&mut libraries(2000..3000)));
        assert!(paths.bytes <= MAX_BYTES);
    }
}
