//! Sums the samples of a process by function and by stack.

use super::memory::{MAIN, Node, OTHER, Profile, ROOTS, Sum};

/// The maximum bytes of a stack in a row. Of a longer stack, the outermost functions are missing.
const MAX_STACK: usize = 8192;

/// The samples of a line of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Samples in the line itself.
    pub own: Sum,
    /// Samples in the line and in the functions that it has called.
    pub total: Sum,
}

/// Sums the samples of the main thread, or of the others, by the line of a function. A line that is
/// several times in a stack counts once.
pub fn lines(profile: &Profile, root: u32) -> Vec<(&str, Line)> {
    let mut lines = vec![(Line::default(), usize::MAX); profile.frames.len()];
    for (number, node) in profile.nodes.iter().enumerate() {
        if node.own.samples == 0 || node.root != root {
            continue;
        }
        for (at, each) in path(profile, number).enumerate() {
            let Some((line, last)) = lines.get_mut(each.frame as usize) else {
                continue;
            };
            if at == 0 {
                line.own.add(node.own);
            }
            if *last != number {
                *last = number;
                line.total.add(node.own);
            }
        }
    }
    let names = profile.frames.iter().map(String::as_str);
    names.zip(lines.into_iter().map(|(line, _)| line)).collect()
}

/// Returns the nodes from a node to the root, without the root.
fn path(profile: &Profile, number: usize) -> impl Iterator<Item = &Node> {
    let mut next = number;
    std::iter::from_fn(move || {
        let node = profile.nodes.get(next).filter(|_| next >= ROOTS as usize)?;
        next = node.parent as usize;
        Some(node)
    })
}

/// Returns the names of the functions of the stack of a node, from the innermost one on.
pub fn functions(profile: &Profile, number: usize) -> impl Iterator<Item = &str> {
    path(profile, number).map(|node| {
        let name = profile.frames.get(node.frame as usize);
        name.map_or(OTHER, String::as_str)
    })
}

/// Returns the text of the stack of a node: the functions, the outermost first, separated by
/// semicolons.
pub fn stack(profile: &Profile, number: usize) -> String {
    let mut length = 0;
    let mut names: Vec<&str> = Vec::new();
    for name in functions(profile, number) {
        length += name.len() + 1;
        if length > MAX_STACK {
            names.push("...");
            break;
        }
        names.push(name);
    }
    names.reverse();
    names.join(";")
}

/// Returns the samples of all threads, and of the main thread.
pub fn totals(profile: &Profile) -> [Sum; 2] {
    let mut sums = [Sum::default(); 2];
    for node in &profile.nodes {
        sums[0].add(node.own);
        if node.root == MAIN {
            sums[1].add(node.own);
        }
    }
    sums
}
