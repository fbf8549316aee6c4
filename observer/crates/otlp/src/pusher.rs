//! The pusher: reads a log from standard input, and pushes its latest values at intervals, and once
//! more at the end of the log. Only this process waits for the network, so nothing that a receiver
//! does can delay the log.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _, stdin, stdout};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use linux::signals::termination_signals;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::encode::{Context, request, unix_nanoseconds};
use crate::feed::{Counts, format_report};
use crate::http::{Failure, post, resolve};
use crate::lines::Lines;
use crate::reader::LogReader;
use crate::settings::ExportSettings;
use crate::table::{Point, Table};

/// The bytes that are read at a time.
const PIECE: usize = 16_384;
/// The most points of a request.
const MAX_POINTS: usize = 1000;
/// The time limit of a push, unless the interval is shorter. Resolving the name of the endpoint can
/// exceed the limit.
const MAX_PUSH: Duration = Duration::from_secs(5);
/// The longest time for which a receiver can stop the pushes with `Retry-After`, in seconds.
const MAX_RETRY_AFTER: u32 = 300;

/// Reads the log until its end.
pub fn run(settings: &ExportSettings) {
    let mut pusher = Pusher::new(settings);
    // The pusher blocks signals, so that it ends only after the end of the log and the last push.
    let _ = termination_signals().thread_block();
    // If the observer does not read the reports, the full pipe must not block the pusher.
    let _ = fcntl(stdout().as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
    let mut input = stdin().lock();
    let mut piece = vec![0; PIECE];
    loop {
        if pusher.wait_for_input() {
            match input.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => pusher.read(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        pusher.push_if_due();
    }
    pusher.push();
}

struct Pusher<'a> {
    settings: &'a ExportSettings,
    reader: LogReader,
    table: Table,
    lines: Lines,
    began: Instant,
    /// The start of the counters, in nanoseconds since 1970.
    start: u64,
    interval: Duration,
    due: Instant,
    /// The addresses of the endpoint, until a push fails.
    addresses: Vec<SocketAddr>,
    counts: Counts,
}

impl<'a> Pusher<'a> {
    fn new(settings: &'a ExportSettings) -> Self {
        let began = Instant::now();
        let interval = Duration::from_secs_f64(settings.interval);
        Self {
            reader: LogReader::new(&settings.description),
            table: Table::new(&settings.description),
            lines: Lines::default(),
            began,
            start: unix_nanoseconds(),
            interval,
            due: began + interval.mul_f64(first_delay(settings)),
            addresses: Vec::new(),
            counts: Counts::default(),
            settings,
        }
    }

    /// Waits for input, at most until the next push is due. Returns whether there is input.
    fn wait_for_input(&self) -> bool {
        let left = self.due.saturating_duration_since(Instant::now());
        // Rounded up, because a timeout of zero would not wait.
        let milliseconds = left.as_micros().div_ceil(1000);
        let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
        let input = stdin();
        let mut waiting = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        poll(&mut waiting, timeout).is_ok_and(|count| count > 0)
    }

    fn read(&mut self, text: &[u8]) {
        let now = self.began.elapsed().as_secs_f64();
        self.lines.read(text, |line| match line {
            Some(line) => self.reader.read_line(line, &mut self.table, now),
            None => self.counts.rows += 1,
        });
    }

    fn push_if_due(&mut self) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let wait = self.push();
        let mut next = self.due + self.interval;
        if let Some(seconds) = wait {
            next =
                next.max(Instant::now() + Duration::from_secs(seconds.min(MAX_RETRY_AFTER).into()));
        }
        // Pushes that were due during a slow push are skipped.
        let now = Instant::now();
        while next < now {
            next += self.interval;
        }
        self.due = next;
    }

    /// Pushes the latest values, and reports the result. Returns the seconds for which the receiver
    /// wants no further push.
    fn push(&mut self) -> Option<u32> {
        self.table.sum_up(self.began.elapsed().as_secs_f64());
        let result = self.push_points()?;
        self.table.forget_absent();
        let left_out = self.counts.rows + self.table.left_out();
        let (problem, wait) = match result {
            Ok(()) => {
                self.counts.pushes += 1;
                (String::new(), None)
            }
            Err(failure) => {
                self.counts.failed += 1;
                // The name may have another address by now.
                self.addresses.clear();
                (failure.problem, failure.retry_after)
            }
        };
        let counts = Counts {
            rows: left_out,
            ..self.counts.clone()
        };
        // If this fails, the observer has ended or does not read.
        let mut out = stdout();
        let _ = out.write_all(format_report(&counts, &problem).as_bytes());
        let _ = out.flush();
        wait
    }

    /// Pushes all points. `None` if there are none.
    fn push_points(&mut self) -> Option<Result<(), Failure>> {
        let mut points = Vec::new();
        self.table.each_point(|point| points.push(point));
        if points.is_empty() {
            return None;
        }
        points.sort_by(|one, other| order(one).cmp(&order(other)));
        let deadline = Instant::now() + MAX_PUSH.min(self.interval);
        if self.addresses.is_empty() {
            match resolve(&self.settings.endpoint) {
                Ok(addresses) => self.addresses = addresses,
                Err(failure) => return Some(Err(failure)),
            }
        }
        let context = Context {
            metric: &self.settings.description.metric,
            resource: &self.settings.resource,
            start: self.start,
            time: unix_nanoseconds(),
        };
        for part in points.chunks(MAX_POINTS) {
            let body = request(&context, part);
            let result = post(&self.settings.endpoint, &self.addresses, &body, deadline);
            if result.is_err() {
                return Some(result);
            }
        }
        Some(Ok(()))
    }
}

/// The sort key of points. With this order, all points of a metric are adjacent.
fn order<'a>(point: &Point<'a>) -> (&'a str, &'a str, bool) {
    let column = point.column;
    (&column.name, &column.unit, column.is_counter)
}

/// The part of the interval before the first push. It differs between pods, so that the pods of a
/// run do not push all at the same moment.
fn first_delay(settings: &ExportSettings) -> f64 {
    let mut hasher = DefaultHasher::new();
    settings.resource.attributes.hash(&mut hasher);
    let bits = u16::try_from(hasher.finish() & 0xffff).unwrap_or_default();
    f64::from(bits) / 65_536.0
}
