//! The libraries of a process because of which other metrics could say more about it.

use linux::proc::maps::file_names;

use crate::sampling::row::names_or_none;

/// The libraries, and the beginnings of the names of their files. The interpreter of Python is a
/// program or a library. The library of a GPU is the one of its driver: programs that can use a GPU
/// have the others without one, too.
const LIBRARIES: [(&str, &[&[u8]]); 5] = [
    (
        "gpu",
        &[b"libcuda.so", b"libhsa-runtime64.so", b"libze_intel_gpu.so"],
    ),
    ("mpi", &[b"libmpi"]),
    ("nccl", &[b"libnccl.so", b"librccl.so"]),
    ("python", &[b"libpython", b"python"]),
    ("torch", &[b"libtorch"]),
];

/// Returns the names of the libraries that are mapped, separated by commas; `none` if there are
/// none. `maps` is the text of `/proc/PID/maps`.
pub fn list_libraries(maps: &[u8]) -> String {
    let mut is_mapped = [false; LIBRARIES.len()];
    for name in file_names(maps) {
        for (found, (_, starts)) in is_mapped.iter_mut().zip(LIBRARIES) {
            *found |= starts.iter().any(|start| name.starts_with(start));
        }
    }
    let libraries = LIBRARIES.iter().zip(is_mapped);
    names_or_none(libraries.filter_map(|((name, _), found)| found.then_some(*name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(files: &[&str]) -> String {
        let line = |file: &&str| format!("7fb2-7fb3 r-xp 00001000 fe:00 77   {file}\n");
        list_libraries(files.iter().map(line).collect::<String>().as_bytes())
    }

    #[test]
    fn libraries_are_found_by_the_names_of_their_files() {
        assert_eq!(list(&[]), "none");
        assert_eq!(
            list(&["/usr/lib/libc.so.6", "[heap]", "/opt/libridealong-mpi.so"]),
            "none"
        );
        assert_eq!(
            list(&["/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4"]),
            "mpi"
        );
        assert_eq!(
            list(&["/usr/lib/libmpich.so.12", "/usr/lib/libmpich.so.12"]),
            "mpi"
        );
        let torch = [
            "/opt/torch/lib/libtorch_cpu.so",
            "/usr/bin/python3.11",
            "/opt/libcuda.so.1",
        ];
        assert_eq!(list(&torch), "gpu,python,torch");
    }
}
