//! Parses `/proc/PID/maps`.

use super::words::lines;

/// Returns the names, without their directories, of the files that are mapped into the memory of a
/// process. A file with several mappings has several names.
pub fn file_names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(text).filter_map(|line| {
        // The columns before the path have no slash.
        let start = line.iter().rposition(|byte| *byte == b'/')? + 1;
        Some(&line[start..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mapped_files_have_names() {
        // From Linux 6.18, with other paths.
        let text = b"55596c2f1000-55596c2f3000 r-xp 00000000 fe:00 181                        /usr/bin/python3.11\n55598bb5e000-55598bc5e000 rw-p 00000000 00:00 0                          [heap]\n7fb29318a000-7fb29328a000 rw-p 00000000 00:00 0 \n7fb293300000-7fb293400000 r-xp 00001000 fe:00 77                         /opt/a b/libmpi.so.40\n";
        let names: Vec<&[u8]> = file_names(text).collect();
        assert_eq!(names, [&b"python3.11"[..], b"libmpi.so.40"]);
    }
}
