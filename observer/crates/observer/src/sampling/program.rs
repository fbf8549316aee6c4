//! The name of a program: the base name of argv[0]. If argv[0] is an interpreter, the name is the
//! base name of the script, or the name of the Python module. If the program has written a title
//! over its command line, as daemons do with setproctitle(3), the name is the first word of the
//! title.

/// Longer names are cut. File names have at most this many bytes (limits.h, `NAME_MAX`), but a
/// process can set its argv[0] to any text.
const MAX_NAME: usize = 255;

/// Returns the name of a process's program from the command line of the process. If the command
/// line is empty, as for a zombie, the result is the kernel's name of the process. `executable` is
/// the path of the file that the process executes, if it is known; it is used only if
/// [`may_be_title`].
///
/// ```
/// use ridealong_observer::sampling::program::name;
/// assert_eq!(name(&[b"/usr/bin/lmp", b"-in", b"in.lj"], b"lmp", None), b"lmp");
/// assert_eq!(name(&[b"python3", b"-u", b"/app/train.py"], b"python3", None), b"train.py");
/// assert_eq!(name(&[b"nginx: master process /usr/sbin/nginx"], b"nginx", None), b"nginx");
/// ```
pub fn name<'a>(argv: &[&'a [u8]], comm: &'a [u8], executable: Option<&[u8]>) -> &'a [u8] {
    let Some(first) = argv.first().copied() else {
        return comm;
    };
    let name = if may_be_title(first, comm) && !is_path_of(first, executable) {
        name_in_title(first)
    } else {
        name_in_words(first, &argv[1..])
    };
    let name = if name.is_empty() { comm } else { name };
    &name[..name.len().min(MAX_NAME)]
}

/// Whether argv[0] may be a title that the program has written over its command line, and not the
/// path of a program. A title has blanks, parentheses or colons, which few paths have. If the
/// kernel's name of the process is the base name, argv[0] is a path.
pub fn may_be_title(first: &[u8], comm: &[u8]) -> bool {
    let is_path = first.contains(&b'/') && is_comm(comm, base_name(first));
    let has_blank = first.contains(&b' ');
    let is_absolute = first.first() == Some(&b'/');
    let has_mark = first.iter().any(|byte| matches!(byte, b'(' | b':'));
    !is_path && (has_blank || (has_mark && !is_absolute))
}

/// Whether `comm` is the kernel's name of a process that executed a file with this name, which the
/// kernel cuts (include/linux/sched.h, `TASK_COMM_LEN`).
fn is_comm(comm: &[u8], name: &[u8]) -> bool {
    const MAX: usize = 15;
    !name.is_empty() && name[..name.len().min(MAX)] == *comm
}

/// Whether argv[0] is the path or the name of the executed file.
fn is_path_of(first: &[u8], executable: Option<&[u8]>) -> bool {
    executable.is_some_and(|path| {
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        path == first || base_name(path) == first
    })
}

/// Returns the name of the program in a title such as `sshd: user@pts/0`, `ray::train(lr=0.1/2)` or
/// `[celeryd: worker@node]`. A title may also be the whole command line in one word.
fn name_in_title(title: &[u8]) -> &[u8] {
    let title = title.strip_prefix(b"[").unwrap_or(title);
    let end = if title.first() == Some(&b'/') {
        end_of_path(title)
    } else {
        let is_end = |byte: &u8| matches!(byte, b' ' | b'(');
        title.iter().position(is_end).unwrap_or(title.len())
    };
    let (first, rest) = title.split_at(end);
    let first = first.strip_suffix(b":").unwrap_or(first);
    let words: Vec<&[u8]> = rest
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
        .collect();
    name_in_words(first, &words)
}

/// Returns the end of the path at the beginning of a title. A folder of the path may have blanks in
/// its name, so only a blank before an option, a bracket or another path ends it.
fn end_of_path(title: &[u8]) -> usize {
    let is_end = |pair: &[u8]| matches!(pair, [b' ', b'-' | b'/' | b'[' | b'('] | [b':', b' ']);
    let end = title.windows(2).position(is_end);
    end.unwrap_or(title.len())
}

/// Returns the name from the first word of a command line and the words after it.
fn name_in_words<'a>(first: &'a [u8], words: &[&'a [u8]]) -> &'a [u8] {
    let name = base_name(first);
    // The argv[0] of a login shell begins with a dash.
    let name = name.strip_prefix(b"-").unwrap_or(name);
    if is_interpreter(name) {
        script(name, words)
    } else {
        name
    }
}

/// Whether a program is an interpreter of scripts.
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
        String::from_utf8(name(&argv, b"kernel-name", None).to_vec()).unwrap()
    }

    #[test]
    fn a_program_has_the_name_of_its_file() {
        assert_eq!(named("/usr/local/bin/lmp -in in.lj"), "lmp");
        assert_eq!(named("-bash"), "bash");
        assert_eq!(named("mpirun -np 2 lmp"), "mpirun");
        assert_eq!(named("/opt/app/"), "app");
        assert_eq!(named("/"), "kernel-name");
        assert_eq!(name(&[], b"zombie", None), b"zombie");
        assert_eq!(name(&[b""], b"comm", None), b"comm");
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

    fn titled(title: &str, comm: &str) -> String {
        let found = name(&[title.as_bytes()], comm.as_bytes(), None);
        String::from_utf8(found.to_vec()).unwrap()
    }

    #[test]
    fn a_title_has_the_name_of_its_program() {
        for (title, comm, expected) in [
            (
                "sshd: /usr/sbin/sshd -De [listener] 0 of 10-100 startups",
                "sshd",
                "sshd",
            ),
            ("sshd: user@pts/0", "sshd", "sshd"),
            (
                "nginx: master process /usr/sbin/nginx -g daemon off;",
                "nginx",
                "nginx",
            ),
            (
                "ray::train_fold(lr=0.1/bs=32)",
                "ray::train_fold",
                "ray::train_fold",
            ),
            ("ray::Actor.step(a=1)", "ray::Actor.step", "ray::Actor.step"),
            ("ray::IDLE", "ray::IDLE", "ray::IDLE"),
            (
                "postgres: app db 10.0.0.1(5432) idle",
                "postgres",
                "postgres",
            ),
            ("gunicorn: master [app]", "gunicorn: maste", "gunicorn"),
            (
                "[celeryd: celery@node:MainProcess] -active- (worker)",
                "python3",
                "celeryd",
            ),
            ("(sd-pam)", "(sd-pam)", "(sd-pam)"),
            ("python3 /app/train.py --epochs 3", "python3", "train.py"),
            (
                "/opt/chrome/chrome --type=renderer --lang=en/us",
                "Main",
                "chrome",
            ),
            ("/usr/sbin/nginx: master /a/b", "python3", "nginx"),
            (" ", "comm", "comm"),
        ] {
            assert_eq!(titled(title, comm), expected, "{title}");
        }
    }

    #[test]
    fn a_path_with_blanks_has_the_name_of_its_file() {
        for (path, comm) in [
            ("/opt/My Program/bin/app", "app"),
            ("/opt/My Program/bin/app", "renamed"),
            ("/opt/app (x86)/bin/app", "app"),
            ("build:1/bin/app", "app"),
        ] {
            assert_eq!(titled(path, comm), "app", "{path}");
        }
        let long = "/opt/a program with a long name";
        assert_eq!(titled(long, "a program with "), &long[5..]);
        let of = |first: &'static str, path: &str| {
            name(&[first.as_bytes()], b"Main", Some(path.as_bytes()))
        };
        assert_eq!(of("My App", "/opt/My App"), b"My App");
        assert_eq!(of("My App", "/opt/My App (deleted)"), b"My App");
        assert_eq!(of("/a -b/c d", "/a -b/c d"), b"c d");
        assert_eq!(of("My App", "/usr/bin/python3"), b"My");
    }

    proptest! {
        #[test]
        fn any_command_line_has_a_name(words: Vec<Vec<u8>>, comm: [u8; 8], path: Option<Vec<u8>>) {
            let argv: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            prop_assert!(name(&argv, &comm, path.as_deref()).len() <= MAX_NAME);
        }

        #[test]
        fn the_details_of_a_title_do_not_change_the_name(details in "[ -~]{0,40}") {
            for (title, expected) in [("sshd: ", "sshd"), ("ray::f(", "ray::f"), ("puma 5 ", "puma")] {
                let title = format!("{title}{details}");
                prop_assert_eq!(titled(&title, "python3"), expected);
            }
        }

        #[test]
        fn a_path_that_the_kernel_confirms_has_the_name_of_its_file(
            folders in "(/[ -.0-~]{1,12}){1,4}",
            file in "[!-,.0-~][ -.0-~]{0,20}",
        ) {
            let path = format!("{folders}/{file}");
            prop_assume!(!is_interpreter(file.as_bytes()));
            let comm = &file[..file.len().min(15)];
            prop_assert_eq!(titled(&path, comm), file);
        }
    }
}
