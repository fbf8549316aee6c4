//! perf-sysstat: what the application's processes use, over true intervals.

use crate::clock;
use crate::ending::Progress;
use crate::json::push_string;
use crate::look::Processes;
use crate::metadata;
use crate::number::float;
use crate::observer::{UNREADABLE, finish, prepare};
use crate::omissions::Omissions;
use crate::proc::mountinfo;
use crate::process::Key;
use crate::rows::{SECTIONS, Timepoint};
use crate::session::Session;
use crate::settings::Settings;
use crate::totals;

const DESCRIPTION: &str =
    "CPU, memory, I/O, faults and context switches of the application's processes";
/// Bytes of a process's rows in a timepoint, before the first was written.
const USUAL_ROWS: f64 = 2400.0;
/// Seconds between looks, at most, so that little is lost of processes that end.
const LOOKS: f64 = 5.0;
/// After a look that took some processor time it waits for so many times that long, however many
/// processes there are.
const REST: f64 = 3.0;

/// Observes until the end.
pub fn run(mut settings: Settings, session: &mut Session) {
    match prepare(&mut settings) {
        Ok(processes) => Run::new(&settings, processes, session).run(),
        Err(problem) => {
            open_sections(&settings, session, "unknown");
            finish(
                &settings,
                session,
                &problem,
                &totals::nothing(settings.pod()),
            );
        }
    }
}

struct Run<'a> {
    settings: &'a Settings,
    processes: Processes,
    session: &'a mut Session,
    progress: Progress,
    omissions: Omissions,
    /// No interval is shorter: a clock tick in a short time is a large share of it.
    shortest: f64,
    /// When the next timepoint is due.
    due: f64,
    /// Bytes of a process's rows in the last timepoint.
    row_bytes: f64,
    is_full: bool,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, processes: Processes, session: &'a mut Session) -> Self {
        let rate = settings.rate;
        Self {
            progress: Progress::new(processes.now),
            omissions: Omissions::default(),
            shortest: if rate < 0.2 { rate / 2.0 } else { 0.1 },
            due: 0.0,
            row_bytes: USUAL_ROWS,
            is_full: false,
            settings,
            processes,
            session,
        }
    }

    fn run(mut self) {
        self.greet();
        let reason = self.observe();
        if !self.progress.is_open {
            open_sections(self.settings, self.session, "unknown");
        }
        let pod = self.settings.pod();
        let lines = totals::lines(
            &mut self.processes,
            pod,
            self.progress.timepoints,
            self.omissions.processes(),
        );
        finish(self.settings, self.session, &reason, &lines);
    }

    fn greet(&mut self) {
        let log = &mut self.session.log;
        if !self.processes.places.has_names {
            let observed = "the processes of all but this one are observed";
            log.say(&format!(
                "no mount of the kubelet's names the containers: {observed}"
            ));
        }
        let mounts = self
            .processes
            .meter
            .files
            .read_whole("self/mountinfo")
            .unwrap_or_default();
        if let Some(value) = mountinfo::hidepid(mounts) {
            let value = crate::json::clean(value);
            log.say(&format!(
                "/proc is mounted with hidepid={value}: processes of other users may not be seen"
            ));
        }
        log.say(&format!("waiting for {}", self.settings.wanted()));
        log.flush();
    }

    /// Looks at the processes until there is a reason to end, which it returns.
    fn observe(&mut self) -> String {
        let rate = self.settings.rate;
        loop {
            let cpu = clock::own_cpu();
            if !self.processes.look(self.session) {
                break;
            }
            let has_rows = !self.processes.shown.is_empty();
            if has_rows && !self.progress.is_open {
                self.open();
            }
            if has_rows
                && self.progress.is_open
                && self.processes.now >= self.due - self.shortest / 2.0
            {
                self.take_timepoint();
                self.due = self.processes.now + rate * self.session.log.budget().stretch();
            }
            self.omissions
                .say_of_look(&self.processes, &mut self.session.log);
            let now = self.processes.now;
            if let Some(reason) =
                self.progress
                    .reason_to_end(self.settings, &mut self.processes, self.session, now)
            {
                return reason;
            }
            let ended = clock::since_boot();
            let next = self
                .next_look()
                .max(ended + REST * (clock::own_cpu() - cpu));
            // What the look took is part of the interval.
            if !self.session.pause(next - ended) {
                break;
            }
        }
        if self.session.is_told() {
            "told to end".to_owned()
        } else {
            UNREADABLE.to_owned()
        }
    }

    fn next_look(&self) -> f64 {
        let (now, rate) = (self.processes.now, self.settings.rate);
        if !self.progress.is_open {
            return now + rate.min(1.0);
        }
        let next = now + rate / (rate / LOOKS).ceil();
        if self.due > now {
            next.min(self.due)
        } else {
            next
        }
    }

    /// The header, once there is a process: only then it is known which counters can be read.
    fn open(&mut self) {
        let shown = &self.processes.shown;
        let is_hidden = |key: &&Key| {
            let measured = self
                .processes
                .all
                .get(*key)
                .and_then(|process| process.measured.as_ref());
            measured.is_none_or(|measured| measured.now.io.is_none())
        };
        let hidden = shown.iter().filter(is_hidden).count();
        let counters = match hidden {
            0 => "all",
            _ if hidden == shown.len() => "no-io",
            _ => "some-io",
        };
        open_sections(self.settings, self.session, counters);
        self.progress.is_open = true;
        self.due = self.processes.now + self.settings.rate;
    }

    fn take_timepoint(&mut self) {
        self.session.log.flush();
        if self.session.log.is_waiting() {
            // The next one has a longer interval, which is as true.
            self.omissions.skip_timepoint();
            return;
        }
        self.omissions.say_of_reader(&mut self.session.log);
        if self
            .session
            .log
            .has_room(self.row_bytes * float(self.processes.shown.len() as u64))
        {
            self.progress.timepoints += u64::from(self.print_timepoint());
        } else if !self.is_full {
            self.is_full = true;
            self.session
                .log
                .say("the log has no room for more timepoints; the summary goes on");
            self.session.log.flush();
        }
    }

    /// Prints the rows of this look's processes, and begins their next interval. False where none
    /// of them has one.
    fn print_timepoint(&mut self) -> bool {
        let now = self.processes.now;
        let all = &self.processes.all;
        let is_due = |key: &Key| {
            let measured = all.get(key).and_then(|process| process.measured.as_ref());
            let base = measured.and_then(|measured| measured.base.as_ref());
            base.is_some_and(|base| now - base.at >= self.shortest)
        };
        let mut keys: Vec<Key> = self
            .processes
            .shown
            .iter()
            .copied()
            .filter(is_due)
            .collect();
        if keys.is_empty() {
            return false;
        }
        let most = self.processes.capacity().rows;
        self.omissions
            .leave_out_rows(keys.len().saturating_sub(most), &mut self.session.log);
        keys.truncate(most);
        if self.settings.has_threads {
            self.processes.read_thread_rows(&keys, self.shortest);
        }
        let before = self.session.log.budget().used();
        self.print_sections(&keys);
        for key in &keys {
            if let Some(process) = self.processes.all.get_mut(key) {
                process.begin_interval(now);
            }
        }
        self.row_bytes = (self.session.log.budget().used() - before) / float(keys.len() as u64);
        true
    }

    fn print_sections(&mut self, keys: &[Key]) {
        let machine = self.processes.meter.machine;
        let timepoint = Timepoint {
            time: clock::time_of_day(clock::wall()),
            now: self.processes.now,
            ticks: machine.ticks,
            memory: machine.memory,
            has_threads: self.settings.has_threads,
        };
        let log = &mut self.session.log;
        log.write_line("METRICS OPERATOR TIMEPOINT");
        for section in &SECTIONS {
            log.write_line(section.header);
            let rows = keys.iter().filter_map(|key| self.processes.all.get(key));
            section.push_rows(log.line(), &timepoint, rows);
            log.end_line();
        }
        log.flush();
    }
}

fn open_sections(settings: &Settings, session: &mut Session, counters: &str) {
    let log = &mut session.log;
    metadata::write(log, settings, DESCRIPTION, &[("counters", counters)]);
    log.write_line("PIDSTAT COMMAND START");
    push_string(log.line(), &settings.wanted());
    log.end_line();
    log.write_line("PIDSTAT COMMAND END");
    log.write_line("METRICS OPERATOR COLLECTION START");
    log.flush();
}
