//! The rows of threads. They follow the row of their process, in the sections for which threads
//! have their own counters.

use encode::json::{clean, push_string};
use encode::number::float;
use linux::proc::files::Task;
use linux::proc::stat;

use crate::sampling::counters::{Base, Counters};
use crate::sampling::measure::Meter;
use crate::sampling::process::{Access, Process, State, ThreadRow};

impl Meter {
    /// Reads the threads of a process that gets rows in this timepoint, and removes the rows of
    /// threads that have ended.
    pub fn read_thread_rows(&mut self, process: &mut Process, now: f64, min_interval: f64) {
        let pid = process.pid;
        let Some(measured) = &mut process.measured else {
            return;
        };
        let mut tids = Vec::new();
        if self
            .files
            .list_threads(pid, self.threads_left, &mut tids)
            .is_err()
        {
            return;
        }
        self.threads_left -= tids.len();
        self.threads_left_out += measured
            .state
            .stat
            .threads
            .saturating_sub(tids.len() as u64);
        let _guard = measured
            .identity
            .filter(|identity| {
                measured.io_access == Access::Assumed && self.own.can_assume(*identity)
            })
            .map(|identity| self.own.assume(identity));
        let began = measured.base.map_or(now, |base| base.at);
        let rows = &mut measured.thread_rows;
        for row in rows.iter_mut() {
            row.is_alive = false;
        }
        for tid in tids {
            let Some(mut found) = self.read_thread(pid, tid, now, began) else {
                continue;
            };
            match rows.binary_search_by_key(&tid, |row| row.tid) {
                Ok(at) => {
                    found.base = rows[at].base;
                    rows[at] = found;
                }
                Err(at) => rows.insert(at, found),
            }
        }
        rows.retain(|row| row.is_alive);
        for row in rows {
            row.is_shown = now - row.base.at >= min_interval;
            row.state.memory = measured.state.memory;
            row.state.uid = measured.state.uid;
        }
    }

    /// Reads one thread. Its first interval begins at its start if the thread started within the
    /// interval of its process; otherwise it begins now.
    fn read_thread(&mut self, pid: i32, tid: i32, now: f64, began: f64) -> Option<ThreadRow> {
        let task = Task::Thread(pid, tid);
        let stat = stat::parse(self.files.read(task, "stat").ok()?)?;
        let mut counters = Counters {
            stat: stat.counters,
            ..Counters::default()
        };
        let state = State {
            stat: stat.gauges,
            ..State::default()
        };
        let started = float(stat.start) / self.machine.ticks;
        let mut command = Vec::new();
        push_string(&mut command, &format!("|__{}", clean(stat.comm)));
        let mut switches = self.switches(task)?;
        switches.wait = self.wait(task);
        counters.switches = Some(switches);
        counters.io = self.io(task).ok();
        let is_old = started < began - 0.02;
        let base = if is_old {
            Base { counters, at: now }
        } else {
            Base::at_start(started, now)
        };
        Some(ThreadRow {
            tid,
            command: command.into(),
            now: counters,
            base,
            state,
            is_shown: false,
            is_alive: true,
        })
    }
}
