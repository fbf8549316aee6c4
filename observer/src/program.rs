//! The name of a program: the base name of argv[0]. If argv[0] is an interpreter, the name is the
//! base name of the script, or the name of the Python module.

/// Longer names are cut. File names have at most this many bytes (limits.h, `NAME_MAX`), but a
/// process can set its argv[0] to any text.
const MAX_NAME: usize = 255;

/// Returns the name of a process's program from the command line of the process. If the command
/// line is empty, as for a zombie, the result is the kernel's name of the process.
///
/// ```
/// use ridealong_observer::program::name;
/// assert_eq!(name(&[b"/usr/bin/lmp", b"-in", b"in.lj"], b"lmp"), b"lmp");
/// assert_eq!(name(&[b"python3", b"-u", b"/app/train.py"], b"python3"), b"train.py");
/// ```
#[must_use]
pub fn name<'a>(argv: &[&'a [u8]], comm: &'a [u8]) -> &'a [u8] {
    let Some(first) = argv.first() else {
        return comm;
    };
    let name = base_name(first);
    // The argv[0] of a login shell begins with a dash.
    let name = name.strip_prefix(b"-").unwrap_or(name);
    let name = match name {
        [] => comm,
        _ if is_interpreter(name) => script(name, &argv[1..]),
        _ => name,
    };
    &name[..name.len().min(MAX_NAME)]
}

/// Whether a program is an interpreter of scripts.
#[must_use]
pub fn is_interpreter(name: &[u8]) -> bool {
    const SHELLS: [&[u8]; 10] = [
        b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"csh", b"tcsh", b"fish", b"nodejs",
    ];
    const WITH_VERSION: [&[u8]; 12] = [
        b"python", b"pypy", b"perl", b"ruby", b"lua", b"luajit", b"tclsh", b"node", b"php",
        b"julia", b"Rscript", b"R",
    ];
    let is_version = |rest: &[u8]| {
        rest.iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    SHELLS.contains(&name)
        || WITH_VERSION
            .iter()
            .any(|stem| name.strip_prefix(*stem).is_some_and(is_version))
}

/// Returns the name of the script or Python module that an interpreter runs; without a script, the
/// name of the interpreter.
fn script<'a>(interpreter: &'a [u8], words: &[&'a [u8]]) -> &'a [u8] {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if interpreter.starts_with(b"R")
            && let Some(file) = word
                .strip_prefix(b"--file=")
                .filter(|file| !file.is_empty())
        {
            return base_name(file);
        }
        if word == b"-m" && is_python(interpreter) {
            return words.next().unwrap_or(interpreter);
        }
        if is_inline(word) {
            return interpreter;
        }
        if takes_value(interpreter, word) {
            words.next();
        } else if !is_option(word) {
            let name = base_name(word);
            return if name.is_empty() { interpreter } else { name };
        }
    }
    interpreter
}

/// Whether this word makes an interpreter read its program from the command line or from standard
/// input.
fn is_inline(word: &[u8]) -> bool {
    if word == b"-" || word.starts_with(b"--eval") || word.starts_with(b"--print") {
        return true;
    }
    match word {
        [b'-', letters @ .., b'c' | b'e'] => letters.iter().all(u8::is_ascii_lowercase),
        _ => false,
    }
}

fn is_option(word: &[u8]) -> bool {
    matches!(word, [b'-' | b'+', _, ..])
}

fn is_python(interpreter: &[u8]) -> bool {
    interpreter.starts_with(b"python") || interpreter.starts_with(b"pypy")
}

/// Whether the word after an option of an interpreter is the value of the option.
fn takes_value(interpreter: &[u8], option: &[u8]) -> bool {
    if is_python(interpreter) {
        return matches!(option, b"-W" | b"-X" | b"--check-hash-based-pycs");
    }
    if interpreter.ends_with(b"sh") {
        return matches!(
            option,
            b"-o" | b"-O" | b"+o" | b"+O" | b"--rcfile" | b"--init-file"
        );
    }
    if interpreter.starts_with(b"node") {
        return matches!(
            option,
            b"-r" | b"--require" | b"--import" | b"--loader" | b"-C" | b"--conditions"
        );
    }
    let others: [&[u8]; 5] = [b"perl", b"ruby", b"php", b"tclsh", b"julia"];
    others.iter().any(|stem| interpreter.starts_with(stem))
        && matches!(
            option,
            b"-I" | b"-r" | b"-d" | b"-L" | b"--project" | b"--encoding" | b"-encoding"
        )
}

/// Returns the last part of a path, without slashes at its end.
fn base_name(path: &[u8]) -> &[u8] {
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |last| last + 1);
    let start = path[..end]
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    &path[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(line: &str) -> String {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        String::from_utf8(name(&argv, b"kernel-name").to_vec()).unwrap()
    }

    #[test]
    fn a_program_has_the_name_of_its_file() {
        assert_eq!(named("/usr/local/bin/lmp -in in.lj"), "lmp");
        assert_eq!(named("-bash"), "bash");
        assert_eq!(named("mpirun -np 2 lmp"), "mpirun");
        assert_eq!(named("/opt/app/"), "app");
        assert_eq!(named("/"), "kernel-name");
        assert_eq!(name(&[], b"zombie"), b"zombie");
        assert_eq!(name(&[b""], b"comm"), b"comm");
    }

    #[test]
    fn an_interpreter_has_the_name_of_its_script() {
        for (line, expected) in [
            ("bash -c lmp", "bash"),
            ("sh -ec run.sh", "sh"),
            ("sh /run.sh", "run.sh"),
            ("bash -o pipefail run.sh", "run.sh"),
            ("python3 -u -W ignore /app/train.py", "train.py"),
            (
                "python3.11 -m torch.distributed.run x",
                "torch.distributed.run",
            ),
            ("python3 -m", "python3"),
            ("python3 -c pass", "python3"),
            ("python3 -", "python3"),
            ("python-helper x.py", "python-helper"),
            ("perl -I lib job.pl", "job.pl"),
            ("node --require a.js b.js", "b.js"),
            ("nodejs b.js", "b.js"),
            ("node --eval x", "node"),
            ("R --no-save --file=/a/model.R", "model.R"),
            ("Rscript model.R", "model.R"),
            ("julia --project job.jl run.jl", "run.jl"),
            ("sh -", "sh"),
            ("sh /", "sh"),
        ] {
            assert_eq!(named(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_command_line_has_a_name(words: Vec<Vec<u8>>, comm: [u8; 8]) {
            let argv: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            prop_assert!(name(&argv, &comm).len() <= MAX_NAME);
        }
    }
}
