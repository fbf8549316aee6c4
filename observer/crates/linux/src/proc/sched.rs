//! Parses `/proc/PID/sched` and `/proc/PID/task/TID/sched`.

use super::words::{lines, number, words};

/// Returns how often a thread was moved to another processor. `None` if the text does not contain
/// this number. Before Linux 6.15, only kernels with `CONFIG_SCHED_DEBUG` report it.
pub fn parse_migrations(text: &[u8]) -> Option<u64> {
    // The first line begins with the name of the thread, which can be any text.
    let rest = lines(text)
        .skip(1)
        .find_map(|line| line.strip_prefix(b"se.nr_migrations"))?;
    let mut words = words(rest);
    (words.next()? == b":").then_some(())?;
    number(words.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.18, without some lines.
    const HEAD: &[u8] = b"head (24044, #threads: 1)\n-------------------------------------------------------------------\nse.exec_start                                :      23501829.143643\nse.sum_exec_runtime                          :             1.065680\nse.nr_migrations                             :                   12\nnr_switches                                  :                    2\n";

    #[test]
    fn the_number_of_migrations_is_parsed() {
        assert_eq!(parse_migrations(HEAD), Some(12));
        assert_eq!(parse_migrations(&HEAD[..200]), None);
        assert_eq!(parse_migrations(b""), None);
    }

    #[test]
    fn a_name_that_looks_like_the_line_of_migrations_is_ignored() {
        assert_eq!(
            parse_migrations(b"se.nr_migrations : 7 (1, #threads: 1)\n"),
            None
        );
    }
}
