//! The output of a request: lines of JSON. `src/runs/stacks` reads them.
//!
//! - The first line has the version of the format and the functions of all stacks, each with its
//!   name and its library.
//! - A line for each process, with its threads. The `frames` of a thread, and those of its
//!   `python`, are numbers of functions, from the outermost on. A thread without `frames` has a
//!   reason, `why`.
//! - The last line says that the output is whole.

use encode::json::{push_key, push_known, push_string, push_text};
use encode::number;

use super::process::{AskedProcess, read_name};
use super::resolve::Resolved;
use super::thread::{Activity, Thread};
use crate::sampling::containers::Containers;
use crate::sampling::measure::Meter;

/// The name of the thread of the sampler of python-profile, which is not the program's own.
const SAMPLER: &str = "ridealong-py";
/// The version of the format.
const VERSION: u64 = 1;
/// The maximum bytes of the output. Further processes are left out.
const MAX_BYTES: usize = 8 << 20;

/// Returns the lines. `left_out` is the number of processes that were not looked at.
pub fn lines(
    processes: &[AskedProcess],
    resolved: &Resolved,
    containers: &Containers,
    meter: &mut Meter,
    left_out: usize,
) -> Vec<u8> {
    let mut out = first_line(resolved);
    let mut left_out = left_out;
    for process in processes {
        let before = out.len();
        push_process(&mut out, process, resolved, containers, meter);
        if out.len() > MAX_BYTES {
            out.truncate(before);
            left_out += 1;
        }
    }
    out.extend_from_slice(b"{\"end\":true");
    push_known(&mut out, "processes_left_out", Some(left_out as u64));
    out.extend_from_slice(b"}\n");
    out
}

fn first_line(resolved: &Resolved) -> Vec<u8> {
    let mut out = b"{\"stacks\":".to_vec();
    number::push(&mut out, VERSION);
    push_key(&mut out, "functions");
    out.push(b'[');
    for (at, function) in resolved.functions.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        push_string(&mut out, &function.name);
        if let Some(library) = &function.library {
            out.push(b',');
            push_string(&mut out, library);
        }
        out.push(b']');
    }
    out.extend_from_slice(b"]}\n");
    out
}

fn push_process(
    out: &mut Vec<u8>,
    process: &AskedProcess,
    resolved: &Resolved,
    containers: &Containers,
    meter: &mut Meter,
) {
    let container = process
        .container
        .filter(|_| containers.has_names)
        .map(|container| containers.name(container));
    out.extend_from_slice(b"{\"pid\":");
    push_id(out, process.pid);
    let parent = process.parent.and_then(|pid| u64::try_from(pid).ok());
    push_known(out, "parent", parent);
    push_text(out, "program", Some(&process.program));
    push_text(out, "container", container);
    let rank = process.rank.given.map(|(rank, _)| rank);
    push_known(out, "rank", rank.map(u64::from));
    push_known(
        out,
        "threads_left_out",
        Some(process.threads_left_out as u64),
    );
    push_key(out, "threads");
    out.push(b'[');
    let named = process.threads.iter().map(|thread| {
        let name = read_name(meter, process.pid, thread.id);
        (thread, name)
    });
    let own = named.filter(|(_, name)| name != SAMPLER);
    for (at, (thread, name)) in own.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_thread(out, process, (thread, &name), resolved);
    }
    out.extend_from_slice(b"]}\n");
}

fn push_thread(
    out: &mut Vec<u8>,
    process: &AskedProcess,
    (thread, name): (&Thread, &str),
    resolved: &Resolved,
) {
    out.extend_from_slice(b"{\"id\":");
    push_id(out, thread.id);
    push_text(out, "name", Some(name));
    push_text(out, "state", Some(state(thread.activity)));
    push_text(out, "call", thread.call.as_deref());
    let key = (process.pid, thread.id);
    if let Some((frames, is_cut)) = resolved.python.get(&key) {
        push_frames(out, ("python", frames), ("python_cut", *is_cut));
    }
    let frames = resolved.stacks.get(&key);
    if let Some(frames) = frames.filter(|frames| !frames.is_empty()) {
        let is_cut = thread.stack.as_ref().is_some_and(|stack| stack.is_cut);
        push_frames(out, ("frames", frames), ("cut", is_cut));
    } else {
        push_text(out, "why", Some(&why_missing(process, thread)));
    }
    out.push(b'}');
}

/// Appends the functions of a stack, from the outermost on, and whether outer ones are missing.
fn push_frames(
    out: &mut Vec<u8>,
    (name, frames): (&str, &[usize]),
    (cut_name, is_cut): (&str, bool),
) {
    push_key(out, name);
    out.push(b'[');
    for (at, function) in frames.iter().rev().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        number::push(out, *function as u64);
    }
    out.push(b']');
    push_key(out, cut_name);
    out.extend_from_slice(if is_cut { b"true" } else { b"false" });
}

/// Returns why there is no stack of native functions. In a process without the tool of cpu-profile,
/// it says why there is no stack of Python.
fn why_missing(process: &AskedProcess, thread: &Thread) -> String {
    let native = process.why.as_ref().or(thread.why.as_ref());
    let python = process.python.stack(thread).err().flatten();
    let why = python.filter(|_| process.why.is_some());
    why.or_else(|| native.cloned())
        .unwrap_or_else(|| "the stack is not readable".to_owned())
}

fn push_id(out: &mut Vec<u8>, id: i32) {
    number::push(out, u64::try_from(id).unwrap_or(0));
}

fn state(activity: Activity) -> &'static str {
    match activity {
        Activity::Runs => "runs",
        Activity::Sleeps => "sleeps",
        Activity::Blocked => "blocked",
        Activity::Stopped => "stopped",
        Activity::Ended => "ended",
    }
}
