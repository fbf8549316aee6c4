//! The call in which a thread sleeps.

use linux::proc::files::Task;
use linux::proc::syscall::{self, Restart};
use nix::errno::Errno;

use super::asking::Asking;
use crate::sampling::measure::Meter;

/// What a thread does.
pub enum Position {
    /// It runs, or waits for a processor.
    Running,
    /// It sleeps.
    Sleeping(Sleep),
}

/// The sleep of a thread.
pub struct Sleep {
    /// The call, or else the function of the kernel in brackets; `None` if not known.
    pub call: Option<String>,
    /// Whether the kernel continues the call after a signal.
    pub can_restart: bool,
    /// The file that says so, and its text.
    file: &'static str,
    text: Vec<u8>,
}

impl Sleep {
    /// Whether the thread still sleeps in this call.
    pub fn lasts(&self, meter: &mut Meter, asking: &mut Asking, tid: i32) -> bool {
        let text = read(meter, asking, tid, self.file);
        text.is_ok_and(|text| text == self.text)
    }
}

fn read(
    meter: &mut Meter,
    asking: &mut Asking,
    tid: i32,
    file: &'static str,
) -> Result<Vec<u8>, Errno> {
    let (task, identity) = (Task::Thread(asking.pid, tid), asking.identity);
    let (text, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        meter.files.read(task, file).map(<[u8]>::to_vec)
    });
    text
}

/// Returns what a thread does.
pub fn read_position(meter: &mut Meter, asking: &mut Asking, tid: i32) -> Position {
    let Ok(text) = read(meter, asking, tid, "syscall") else {
        return Position::Sleeping(read_kernel_function(meter, asking, tid));
    };
    let call = match syscall::parse(&text) {
        Some(syscall::Position::Running) => return Position::Running,
        Some(syscall::Position::Sleeping(call)) => Some(call),
        Some(syscall::Position::Elsewhere) | None => None,
    };
    let can_restart = match call.map(|call| call.restart()) {
        Some(Restart::Always) => true,
        Some(Restart::Never) | None => false,
        Some(Restart::IfPipe(file)) => {
            is_pipe(meter, asking, file) || read_kernel_function(meter, asking, tid).can_restart
        }
    };
    let call = call.map(|call| {
        let name = call.name().map(str::to_owned);
        name.unwrap_or_else(|| format!("system call {}", call.number))
    });
    Position::Sleeping(Sleep {
        call,
        can_restart,
        file: "syscall",
        text,
    })
}

fn is_pipe(meter: &mut Meter, asking: &mut Asking, file: u64) -> bool {
    let (pid, identity) = (asking.pid, asking.identity);
    let (link, _guard) = meter.with_access(&mut asking.access, identity, |meter| {
        meter.files.read_link(pid, &format!("fd/{file}"))
    });
    link.is_ok_and(|link| link.starts_with(b"pipe:["))
}

/// The functions of the kernel in which only calls sleep that it continues: reads of pipes, also
/// those with a name, and waiting for a child.
const RESTARTABLE: [&[u8]; 3] = [b"anon_pipe_read", b"pipe_read", b"do_wait"];

/// Reads the function of the kernel in which a thread sleeps. The call itself may be hidden where
/// `kernel.yama.ptrace_scope` is not 0.
fn read_kernel_function(meter: &mut Meter, asking: &mut Asking, tid: i32) -> Sleep {
    let text = read(meter, asking, tid, "wchan").unwrap_or_default();
    let is_known = !matches!(text.as_slice(), b"" | b"0");
    Sleep {
        call: is_known.then(|| format!("[{}]", encode::json::clean(&text))),
        can_restart: RESTARTABLE.contains(&text.as_slice()),
        file: "wchan",
        text,
    }
}
