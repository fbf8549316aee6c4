//! The metric nccl-ras: the ranks of the job, as NCCL's RAS service describes them. A thread of
//! each process that uses NCCL 2.24 or later listens on the localhost of the pod, and answers for
//! the whole job (docs/userguide/source/troubleshooting/ras.rst in NVIDIA/nccl). Nothing is loaded
//! into the processes.
//!
//! Any process of the pod can listen there in its place. The parsers therefore have bounded memory
//! and fuzz targets, and the exchange has bounded time.

pub mod answer;
pub mod exchange;
mod history;
pub mod json;
mod role;
mod rows;
pub mod text;
mod variables;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use encode::json::push_known;
use linux::clock::{self, WallTime};

use self::answer::{Answer, Format, Place};
use self::exchange::{Exchange, Failure, PAUSE, Reply};
use self::history::History;
use self::role::Role;
use self::rows::{Answered, ProcessRow, Request};
use self::variables::Variables;
use crate::metrics::metric::Metric;
use crate::metrics::mpi_trace::state_of;
use crate::metrics::network::own_addresses;
use crate::metrics::world_rank::WorldRanks;
use crate::runtime::declaration::{Declaration, MetricOption, ProcessFiles};
use crate::runtime::notices::Notices;
use crate::runtime::session::Session;
use crate::runtime::settings::{INDEX, Settings};
use crate::sampling::attempts::OfLastAttempt;
use crate::sampling::columns::Rows;
use crate::sampling::environ::Environs;
use crate::sampling::process::{Key, Process};
use crate::sampling::process_table::ProcessTable;
use crate::sampling::sampler::{self, Run, Sampler};

/// The maximum processes that have rows.
const MAX_ROWS: usize = 64;
/// The maximum addresses of the pod in a row.
const MAX_ADDRESSES: usize = 8;
/// The estimated bytes of the row of a process, and of the rows of an answer before the first one.
const ROW_BYTES: usize = 320;
const ANSWER_BYTES: usize = 4096;

/// The metric.
pub static METRIC: Metric = Metric {
    declaration: Declaration {
        name: "nccl-ras",
        description: "the ranks of NCCL that are behind in a collective operation or do not answer, from the RAS service of NCCL",
        help: "the ranks of NCCL that are behind in a collective operation or do not answer, from the RAS service of NCCL; was never run with a GPU",
        options: &[
            MetricOption::LongRate,
            MetricOption::Timeout,
            MetricOption::MaxLog,
        ],
        reads: ProcessFiles::Stat,
        reads_sockets: false,
    },
    run,
};

/// The rows.
pub const ROWS: Rows = Rows {
    format: "jsonl",
    sections: &[
        Request::SERVICE,
        ProcessRow::PROCESS,
        Request::COMMUNICATOR,
        Request::RANK,
    ],
    summary: &[],
};

/// Observes until there is a reason to end, and then writes the closing marker and the summary.
fn run(settings: Settings, session: &mut Session) {
    let observer = NcclRas {
        scope: if settings.has_host_network {
            "node"
        } else {
            "pod"
        },
        index_role: Role::by_index(settings.pod_value(INDEX)),
        ranks: WorldRanks::default(),
        variables: Environs::default(),
        job: OfLastAttempt::default(),
        turn: 0,
        format: Format::Json,
        open: None,
        answer_bytes: ANSWER_BYTES,
        notices: Notices::default(),
    };
    sampler::run(observer, settings, session);
}

struct NcclRas {
    scope: &'static str,
    /// The role of the pod by its index.
    index_role: Role,
    ranks: WorldRanks,
    /// The variables of the processes.
    variables: Environs<Variables>,
    job: OfLastAttempt<Job>,
    /// The number of timepoints.
    turn: u64,
    /// The format of the next request.
    format: Format,
    open: Option<Open>,
    /// The bytes of the rows of the last answer.
    answer_bytes: usize,
    notices: Notices,
}

/// What the answers have said about the job.
#[derive(Default)]
struct Job {
    /// The role of the pod by the last answer.
    answered_role: Option<Role>,
    /// Whether the process of rank 0 did not answer in the last answer.
    is_first_silent: bool,
    history: History,
    /// The requests with and without an answer.
    answers: u64,
    failures: u64,
    last_failure: Option<String>,
}

/// A request whose answer has not arrived yet.
struct Open {
    exchange: Exchange,
    address: String,
    role: Role,
    /// The time of the next look, in seconds since boot.
    due: f64,
    /// The processes that have rows in the timepoint.
    keys: Vec<Key>,
}

impl Sampler for NcclRas {
    const INITIAL_ROW_BYTES: f64 = 512.0;
    const HAS_RATES: bool = false;

    fn estimate_bytes(&self, _process: &Process) -> usize {
        ROW_BYTES
    }

    fn predict_bytes(&self, processes: &ProcessTable) -> usize {
        self.answer_bytes + processes.observed.len().min(MAX_ROWS) * ROW_BYTES
    }

    fn take_scan(&mut self, run: &mut Run<'_>) {
        let number = run.processes.containers.target_attempt();
        if self.job.begin(number).is_some() {
            self.open = None;
        }
        self.ranks.update(&mut run.processes);
        let parse = |environ: &[u8]| Some(Variables::parse(environ));
        self.variables.update(&mut run.processes, parse);
    }

    fn due(&self) -> f64 {
        self.open.as_ref().map_or(f64::INFINITY, |open| open.due)
    }

    fn look(&mut self, run: &mut Run<'_>) {
        let now = clock::since_boot();
        let Some(open) = &mut self.open else {
            return;
        };
        match open.exchange.look(now) {
            None => open.due = now + PAUSE,
            Some(result) => self.end(run, result, now),
        }
    }

    fn print(&mut self, run: &mut Run<'_>, keys: &[Key]) {
        if self.open.is_some() {
            return;
        }
        let role = self.role(&run.processes);
        let asks = role.asks(self.turn, self.job.get().is_first_silent);
        self.turn += 1;
        let addresses = if asks { self.addresses(run) } else { None };
        let Some(addresses) = addresses else {
            let time = run.processes.time.precise_timestamp();
            self.print_processes(run, keys, &time);
            return;
        };
        let now = clock::since_boot();
        self.open = Some(Open {
            address: addresses[0].to_string(),
            exchange: Exchange::begin(addresses, self.format, now),
            role,
            due: now,
            keys: keys.to_vec(),
        });
    }

    fn summary(&mut self, run: &mut Run<'_>) -> Vec<Vec<u8>> {
        run.processes.close_accounts();
        let job = self.job.get();
        if let (0, Some(why)) = (job.answers, job.last_failure.take()) {
            let since = run.since_restart();
            let log = &mut run.session.log;
            log.note(&format!(
                "{since}NCCL's RAS service has never answered: {why}"
            ));
        }
        let mut whole = run.begin_whole();
        push_known(&mut whole, "answers", Some(job.answers));
        push_known(&mut whole, "failures", Some(job.failures));
        whole.push(b'}');
        vec![whole]
    }
}

impl NcclRas {
    /// Returns the role of the pod: by the ranks of its processes; or else by the last answer; or
    /// else by its index.
    fn role(&mut self, table: &ProcessTable) -> Role {
        let keys = table.observed.iter();
        let ranks: Vec<(u32, u32)> = keys.filter_map(|key| self.ranks.get(key)).collect();
        Role::by_ranks(&ranks)
            .or(self.job.get().answered_role)
            .unwrap_or(self.index_role)
    }

    /// Returns the addresses of the service, or `None` with a notice if it is not asked.
    fn addresses(&mut self, run: &mut Run<'_>) -> Option<Vec<SocketAddr>> {
        let all = || self.variables.values();
        let log = &mut run.session.log;
        if all().any(|variables| variables.is_off) {
            let why = "NCCL_RAS_ENABLE is 0 in a process";
            let text = format!("NCCL's RAS service is not asked: {why}");
            self.notices.report(text, log);
            return None;
        }
        let address = all().find_map(|variables| variables.address.as_deref());
        let own = own_addresses();
        match variables::addresses(address, |ip| own.contains(ip)) {
            Ok(addresses) => Some(addresses),
            Err(why) => {
                self.notices
                    .report(format!("NCCL's RAS service is not asked: {why}"), log);
                None
            }
        }
    }

    /// Ends the exchange, and writes the rows of the timepoint.
    fn end(&mut self, run: &mut Run<'_>, result: Result<Reply, Failure>, now: f64) {
        let Some(open) = self.open.take() else {
            return;
        };
        let time = WallTime::now().precise_timestamp();
        let before = run.session.log.budget().used();
        let answer = result.and_then(|reply| parse(&reply));
        let request = Request {
            time: &time,
            address: &open.address,
            scope: self.scope,
            role: open.role,
            state: answer.as_ref().map_or_else(Failure::name, |_| "answered"),
        };
        match answer {
            Ok(answer) => self.write_answer(run, &request, &answer, now),
            Err(failure) => self.write_failure(run, &request, &failure),
        }
        self.print_processes(run, &open.keys, &time);
        run.session.log.flush();
        let bytes = run.session.log.budget().used() - before;
        // The cast turns a negative number into 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bytes = bytes as usize;
        self.answer_bytes = bytes.max(ANSWER_BYTES);
    }

    fn write_answer(
        &mut self,
        run: &mut Run<'_>,
        request: &Request<'_>,
        answer: &Answer,
        now: f64,
    ) {
        let job = self.job.get();
        job.answers += 1;
        let own = own_addresses();
        let table = &run.processes;
        let pids: BTreeSet<u32> = table
            .observed
            .iter()
            .filter_map(|key| Some(table.all.get(key)?.pid.unsigned_abs()))
            .collect();
        let is_own = |place: &Place| {
            let host: Option<IpAddr> = place.host.parse().ok();
            host.is_some_and(|host| own.contains(&host)) && pids.contains(&place.pid)
        };
        let ranks = answer.communicators.iter().flat_map(|it| &it.ranks);
        let own_ranks = ranks
            .filter(|rank| rank.place.as_ref().is_some_and(is_own))
            .count();
        job.answered_role = Role::by_answer(answer, is_own);
        job.is_first_silent = role::is_first_silent(answer);
        let unchanged = job.history.take(answer, now);
        let answered = Answered {
            answer,
            history: &job.history,
            unchanged,
            own_ranks: own_ranks as u64,
        };
        let (ranks, left_out) = request.ranks(&answered);
        let log = &mut run.session.log;
        let service = std::iter::once(request.service(Some(&answered)));
        for row in service.chain(request.communicators(answer)).chain(ranks) {
            log.line().extend_from_slice(&row);
            log.end_line();
        }
        if left_out > 0 {
            let text = "some ranks have no row: only those that do not answer, have an error or \
                        are behind, and the first others, have one";
            self.notices.report(text.to_owned(), log);
        }
    }

    fn write_failure(&mut self, run: &mut Run<'_>, request: &Request<'_>, failure: &Failure) {
        self.job.get().failures += 1;
        let log = &mut run.session.log;
        log.line().extend_from_slice(&request.service(None));
        log.end_line();
        let why = explain(failure, request.address);
        match failure {
            // The service exists only while the job has a communicator.
            Failure::Refused => {}
            Failure::TooLarge => {
                self.format = Format::Text;
                self.notices.report(why.clone(), log);
            }
            _ => self.notices.report(why.clone(), log),
        }
        self.job.get().last_failure = Some(why);
    }

    /// Prints a row for each process with a rank; if there are none, for each process.
    fn print_processes(&self, run: &mut Run<'_>, keys: &[Key], time: &str) {
        let addresses = pod_addresses();
        let has_rank = |key: &Key| self.ranks.get(key).is_some();
        let has_ranks = keys.iter().any(has_rank);
        let mut keys: Vec<Key> = keys
            .iter()
            .copied()
            .filter(|key| !has_ranks || has_rank(key))
            .collect();
        let ProcessTable { all, meter, .. } = &mut run.processes;
        keys.sort_by_key(|key| all.get(key).map(|process| (process.start, process.pid)));
        for key in keys.iter().take(MAX_ROWS) {
            let Some(process) = all.get(key) else {
                continue;
            };
            let row = ProcessRow {
                time,
                process,
                rank: self.ranks.get(key),
                addresses: &addresses,
                state: state_of(meter, process.pid.unsigned_abs()),
            };
            let log = &mut run.session.log;
            log.line().extend_from_slice(&row.build());
            log.end_line();
        }
    }
}

/// Returns the addresses of the pod by which the service can name it, separated by blanks.
fn pod_addresses() -> String {
    let own = own_addresses();
    let is_public = |ip: &&IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    };
    let texts = own.iter().filter(is_public).map(IpAddr::to_string);
    texts.take(MAX_ADDRESSES).collect::<Vec<_>>().join(" ")
}

fn parse(reply: &Reply) -> Result<Answer, Failure> {
    let answer = match reply.format {
        Format::Json => json::parse(&reply.body),
        Format::Text => text::parse(&reply.body),
    };
    answer.map_err(Failure::Unreadable)
}

/// Returns a sentence about a failure.
fn explain(failure: &Failure, address: &str) -> String {
    match failure {
        Failure::Refused => format!(
            "nothing listens on {address}; NCCL has the service since version 2.24, while the job \
             has a communicator"
        ),
        Failure::Silent => format!(
            "the service on {address} gave no complete answer within {} seconds",
            exchange::PATIENCE
        ),
        Failure::TooLarge => format!(
            "the answer of the service on {address} is larger than {} MiB; the next answers are \
             requested as text, which names only ranks that differ from most others",
            exchange::MAX_BODY >> 20
        ),
        Failure::Unreadable(why) => {
            format!("the answer of the service on {address} cannot be read: {why}")
        }
        Failure::Broken(error) => {
            let reason = error.desc();
            format!("the connection to the service on {address} failed: {reason}")
        }
    }
}
