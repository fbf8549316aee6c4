import { plainMean } from '../../../lib/statistics.ts'
import { type Need, plot, type SectionColumns } from '../../evidence/evidence.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { joinByPod } from '../../rules/per-pod.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type ExplainedRules,
  type FactUnits,
  listFacts,
} from '../../rules/rule.ts'
import { factIn, podText, thingsOf } from '../../rules/sentence.ts'
import { MIN_EFFICIENCY, MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import {
  type CollectiveWait,
  findCollectiveWaits,
  findIncomparable,
  longestCalls,
} from './collective-waits.ts'
import { type JobProcess, type MpiJob, mpiJobs } from './mpi-job.ts'
import { MPI_METRIC, type MpiProcess } from './mpi-run.ts'
import { findPeerWaits, type PeerWait, shareOutside } from './peer-waits.ts'
import { MPI_STORE } from './store.ts'

/** The least time that a process waited for another one, in percent of its time since MPI_Init. */
const MIN_PART = 10
/** The least time in MPI of every process, in percent; its complement is the efficiency. */
const MIN_IN_MPI = 20

const RANK = {
  metric: MPI_METRIC,
  section: 'rank',
  columns: ['mpi_seconds'],
} as const satisfies SectionColumns

const NEEDS: readonly (readonly Need[])[] = [[{ ...RANK, isTotal: true }]]

const WAITING_EXPLAINS = {
  rules: ['much-time-in-mpi'],
  of: 'same pod',
  because: 'the time in MPI is the time in which the process waited',
} as const satisfies ExplainedRules

const WAIT_FACTS = {
  'time waiting': 'percent',
  'seconds waiting': 's',
  'time since MPI_Init': 's',
} as const satisfies FactUnits

const COLLECTIVE_FACTS = {
  ...WAIT_FACTS,
  'mean of all ranks that waited for it': 'percent',
} as const satisfies FactUnits

/**
 * A rank that waited in collective calls, because another rank made the same calls later. For the
 * comparison, see `findCollectiveWaits`.
 */
export const WAITING_IN_COLLECTIVES = defineRule({
  name: 'waiting-in-collectives',
  title: 'Waiting for a rank in collective calls',
  severity: 'slowdown',
  isOptional: true,
  needs: NEEDS,
  threshold: {
    value: MIN_PART,
    unit: 'percent',
    condition:
      'in calls that wait for all members of a communicator, a process waited for another ' +
      'process for at least 10 % of its time since MPI_Init. The average share of all processes ' +
      'that waited for the same process is at least 20 %',
    source:
      'the POP Centre of Excellence: an efficiency below 80 %; the waits: Scalasca, Wait at ' +
      'Barrier and Wait at N x N; the number 10 %: Ridealong',
  },
  find: findInCollectives,
  uncheckedIn: uncheckedCollectives,
  isRelative: true,
  sentence: (worst) =>
    'waited in collective calls until another rank made the same calls, for ' +
    `${factIn(worst, 'time waiting')} of its time since MPI_Init: ${thingsOf(worst)}`,
  facts: COLLECTIVE_FACTS,
  reads: [RANK],
  explains: [WAITING_EXPLAINS, EXPLAINS_IDLE],
  advice:
    'Look for the reason at the rank that came last: more work than the others (divide the work ' +
    'more evenly), or another finding about it, such as a CPU limit, memory or storage. If it ' +
    'waits for others in point-to-point calls itself, look there first.',
  plots: [plot(RANK, 'mpi_seconds')],
})

const PEER_FACTS = {
  ...WAIT_FACTS,
  'time in the calls': 's',
  'outside of MPI': 'percent',
  'the other rank outside of MPI': 'percent',
  'load balance': 'percent',
} as const satisfies FactUnits

/**
 * A rank that waited in point-to-point calls for a rank with more to do outside of MPI. For the
 * comparison, see `findPeerWaits`.
 */
export const WAITING_IN_POINT_TO_POINT = defineRule({
  name: 'waiting-in-point-to-point',
  title: 'Waiting for a rank in point-to-point calls',
  severity: 'slowdown',
  isOptional: true,
  needs: NEEDS,
  threshold: {
    value: MIN_PART,
    unit: 'percent',
    condition:
      'in point-to-point calls, a process waited for at least 10 % of its time since MPI_Init ' +
      'for a process that spent less time in MPI. The share of time that a process spends ' +
      'outside of MPI is, on average over all processes of the job, at most 80 % of the share of ' +
      'the other process',
    source:
      'the POP Centre of Excellence: a load balance below 80 %; the waits: Scalasca, Late ' +
      'Sender and Late Receiver; the number 10 %: Ridealong',
  },
  find: findInPointToPoint,
  uncheckedIn: (run) => uncheckedWith(run, uncheckedPeers),
  isRelative: true,
  sentence: (worst) =>
    'waited in point-to-point calls for a rank that was outside of MPI for longer, for ' +
    `${factIn(worst, 'time waiting')} of its time since MPI_Init: ${thingsOf(worst)}`,
  facts: PEER_FACTS,
  reads: [RANK],
  explains: [WAITING_EXPLAINS, EXPLAINS_IDLE],
  advice:
    'Divide the work more evenly: with the load balancing of the application (balance in LAMMPS, ' +
    'for example), or another decomposition. If the other rank does not have more work, look for ' +
    'another finding about it, such as a CPU limit, memory or storage.',
  plots: [plot(RANK, 'mpi_seconds')],
})

const TIME_FACTS = {
  'time in MPI': 'percent',
  'seconds in MPI': 's',
  'time since MPI_Init': 's',
  sent: 'bytes',
  'least of all ranks': 'percent',
} as const satisfies FactUnits

/**
 * A job whose processes all spend much time in MPI. The communication efficiency of the POP Centre
 * of Excellence is the greatest share of time outside of MPI of any process, so it is not about an
 * uneven division of the work.
 */
export const MUCH_TIME_IN_MPI = defineRule({
  name: 'much-time-in-mpi',
  title: 'Much time in MPI on all ranks',
  severity: 'slowdown',
  isOptional: true,
  needs: NEEDS,
  threshold: {
    value: MIN_IN_MPI,
    unit: 'percent',
    condition: 'every process of the job spent at least 20 % of its time since MPI_Init in MPI',
    source: 'the POP Centre of Excellence: a communication efficiency below 80 %',
  },
  find: findMuchTime,
  uncheckedIn: (run) => uncheckedWith(run, uncheckedTimes),
  isRelative: true,
  sentence: (worst) =>
    `spent ${factIn(worst, 'time in MPI')} of its time since MPI_Init in MPI, and every other ` +
    `process of the job at least ${factIn(worst, 'least of all ranks')}: ${thingsOf(worst)}`,
  facts: TIME_FACTS,
  reads: [RANK],
  advice:
    'Use fewer ranks, or a larger problem for each of them. Send fewer and larger messages, and ' +
    'place the ranks that exchange the most messages on one node. Check that no processor has ' +
    'more than one rank: ranks that share one wait for each other.',
  plots: [plot(RANK, 'mpi_seconds')],
})

type CollectiveWaiter = Affected<keyof typeof COLLECTIVE_FACTS>
type PeerWaiter = Affected<keyof typeof PEER_FACTS>
type RankInMpi = Affected<keyof typeof TIME_FACTS>

function findInCollectives({ view }: RunEvidence): readonly CollectiveWaiter[] {
  const jobs = view(mpiJobs)
  const callOf = longestCalls()
  const found = findCollectiveWaits(jobs.filter(isWhole), MIN_PART / 100).flatMap(({ waits }) => {
    const parts = waits.map(({ waiting, seconds }) => percentOf(seconds, waiting.elapsed))
    const mean = plainMean(parts) ?? 0
    if (mean < 100 * (1 - MIN_EFFICIENCY)) return []
    return waits.filter(isLong).map((wait) => collectiveWait(wait, callOf(wait), mean))
  })
  return joinByPod(found)
}

function isLong({ waiting, seconds }: Pick<CollectiveWait, 'waiting' | 'seconds'>): boolean {
  return seconds >= MIN_SECONDS && percentOf(seconds, waiting.elapsed) >= MIN_PART
}

/** @param call the call with the most time; null if it is not known */
function collectiveWait(
  { waiting, late, seconds }: CollectiveWait,
  call: string | null,
  mean: number,
): CollectiveWaiter {
  return {
    ...waitOf(waiting, late, seconds, call ?? 'collective calls'),
    facts: listFacts(COLLECTIVE_FACTS, {
      ...valuesOf(waiting, seconds),
      'mean of all ranks that waited for it': mean,
    }),
  }
}

function findInPointToPoint({ view }: RunEvidence): readonly PeerWaiter[] {
  const found = comparable(view(mpiJobs))
    .filter(({ processes }) => !processes.some(hasThreads))
    .flatMap((job) => findPeerWaits(job, MIN_EFFICIENCY).filter(isLong))
  return joinByPod(found.map(peerWait))
}

function peerWait({ waiting, peer, seconds, spent, call, balance }: PeerWait): PeerWaiter {
  return {
    ...waitOf(waiting, peer, seconds, call),
    facts: listFacts(PEER_FACTS, {
      ...valuesOf(waiting, seconds),
      'time in the calls': spent,
      'outside of MPI': 100 * shareOutside(waiting),
      'the other rank outside of MPI': 100 * shareOutside(peer),
      'load balance': 100 * balance,
    }),
  }
}

function waitOf(waiting: JobProcess, late: JobProcess, seconds: number, call: string) {
  const where = late.pod === waiting.pod ? ' of the same pod' : ` of ${podText(late.pod)}`
  const isNamedByRank = late.pod === String(late.rank)
  return {
    pod: waiting.pod,
    things: [
      `MPI rank ${waiting.rank} for MPI rank ${late.rank}${isNamedByRank ? '' : where}, ` +
        `mostly in ${call}`,
    ],
    lost: seconds,
    cause: JSON.stringify([late.source, late.pid, late.rank]),
    waitedFor: { pod: late.pod, mpiRank: late.rank, call },
  }
}

function valuesOf({ elapsed }: MpiProcess, seconds: number) {
  return {
    'time waiting': percentOf(seconds, elapsed),
    'seconds waiting': seconds,
    'time since MPI_Init': elapsed,
  } satisfies Record<keyof typeof WAIT_FACTS, number>
}

function findMuchTime({ view }: RunEvidence): readonly RankInMpi[] {
  const found = comparable(view(mpiJobs)).flatMap(({ job, processes }) => {
    const parts = processes.map(({ seconds, elapsed }) => percentOf(seconds, elapsed))
    const least = parts.reduce((low, part) => Math.min(low, part), 100)
    const isShort = processes.every(({ seconds }) => seconds < MIN_SECONDS)
    if (least < MIN_IN_MPI || isShort || processes.some(hasThreads)) return []
    return processes.map((process, index) => timeInMpi(process, parts[index] ?? 0, least, job))
  })
  return joinByPod(found)
}

function timeInMpi(
  process: JobProcess,
  part: number,
  least: number,
  job: string | null,
): RankInMpi {
  const { pod, rank, seconds, bytes, elapsed, rows } = process
  const byCall = Map.groupBy(rows, ({ call }) => call)
  const times = [...byCall].map(([call, own]) => {
    return { call, seconds: own.reduce((sum, one) => sum + one.seconds, 0) }
  })
  const [longest] = times.sort((a, b) => b.seconds - a.seconds)
  const call = longest === undefined ? '' : `, mostly in ${longest.call}`
  return {
    pod,
    things: [`MPI rank ${rank}${call}`],
    lost: null,
    size: seconds,
    cause: job ?? '',
    facts: listFacts(TIME_FACTS, {
      'time in MPI': part,
      'seconds in MPI': seconds,
      'time since MPI_Init': elapsed,
      sent: bytes,
      'least of all ranks': least,
    }),
  }
}

/** Returns the jobs of several processes that can be compared. */
function comparable(jobs: readonly MpiJob[]): readonly MpiJob[] {
  return jobs.filter((job) => job.size > 1 && isWhole(job))
}

function isWhole({ problem }: MpiJob): boolean {
  return problem === null
}

/** Reports whether several threads were in MPI at once, so that their times exceed the run. */
function hasThreads({ seconds, elapsed }: MpiProcess): boolean {
  return seconds > elapsed
}

const LOST = 'a process ended without MPI_Finalize, so that its last calls are missing'

/**
 * Returns why processes were not compared, by pod.
 *
 * @param ofJob returns the reasons of a rule for a job without a problem
 */
function uncheckedWith(
  { view, stores, podOf }: RunEvidence,
  ofJob: (job: MpiJob) => ReadonlyMap<JobProcess, string>,
): ReadonlyMap<string, string> {
  const unknown = storeOf(stores, MPI_STORE).processes.flatMap(({ rank, source }) =>
    rank === null ? [[podOf(source), 'the MPI library of a process is not known'] as const] : [],
  )
  const ofJobs = view(mpiJobs)
    .filter(({ size }) => size > 1)
    .flatMap((job) => reasonsIn(job, ofJob))
  return new Map([...unknown, ...ofJobs])
}

function reasonsIn(
  job: MpiJob,
  ofJob: (job: MpiJob) => ReadonlyMap<JobProcess, string>,
): readonly (readonly [string, string])[] {
  const { problem, processes } = job
  const own = problem === null ? ofJob(job) : undefined
  return processes.flatMap((process) => {
    const lost = process.state === 'lost' ? LOST : undefined
    const reason = problem ?? lost ?? own?.get(process)
    return reason === undefined ? [] : [[process.pod, reason] as const]
  })
}

function uncheckedCollectives(run: RunEvidence): ReadonlyMap<string, string> {
  const jobs = run.view(mpiJobs)
  const reasons = new Map(findIncomparable(jobs.filter(isWhole), MIN_PART / 100))
  const open = jobs
    .flatMap(({ processes }) => processes)
    .filter(({ communicators }) => communicators.length === 0)
  for (const process of open)
    reasons.set(process, process.state === 'running' ? STILL_RUNNING : WITHOUT_COMMUNICATORS)
  return uncheckedWith(run, () => reasons)
}

const STILL_RUNNING = 'the collective calls of a process are only known when it has ended'
const WITHOUT_COMMUNICATORS = 'the log has no rows about the communicators of a process'

function uncheckedPeers(job: MpiJob): ReadonlyMap<JobProcess, string> {
  const partly = job.processes.filter(({ rows, seconds, elapsed }) => {
    const known = rows.reduce((sum, row) => sum + row.seconds, 0)
    return percentOf(seconds - known, elapsed) >= MIN_PART
  })
  const why = 'the log does not contain all calls of a process'
  return new Map([...partly.map((one) => [one, why] as const), ...uncheckedTimes(job)])
}

function uncheckedTimes({ processes }: MpiJob): ReadonlyMap<JobProcess, string> {
  const why = 'several threads were in MPI at once, so that the time in MPI cannot be compared'
  return new Map(processes.some(hasThreads) ? processes.map((process) => [process, why]) : [])
}
