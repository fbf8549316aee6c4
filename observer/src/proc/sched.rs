//! `/proc/PID/sched`, and that of a thread.

use super::words::{lines, number, words};

/// How often a thread was moved to another processor; `None` if the kernel does not say it (before
/// Linux 6.15 only with `CONFIG_SCHED_DEBUG`).
#[must_use]
pub fn parse_migrations(text: &[u8]) -> Option<u64> {
    // The first line has the name of the thread, which can look like any line.
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

    /// Linux 6.18, without some lines.
    const HEAD: &[u8] = b"head (24044, #threads: 1)\n-------------------------------------------------------------------\nse.exec_start                                :      23501829.143643\nse.sum_exec_runtime                          :             1.065680\nse.nr_migrations                             :                   12\nnr_switches                                  :                    2\n";

    #[test]
    fn migrations_have_a_line() {
        assert_eq!(parse_migrations(HEAD), Some(12));
        assert_eq!(parse_migrations(&HEAD[..200]), None);
        assert_eq!(parse_migrations(b""), None);
    }

    #[test]
    fn a_name_that_looks_like_the_line_is_a_name() {
        assert_eq!(
            parse_migrations(b"se.nr_migrations : 7 (1, #threads: 1)\n"),
            None
        );
    }
}
