import { sumBy } from '../../../lib/statistics.ts'
import { type Factor, missingFactor } from '../../efficiency/factor.ts'
import { runEfficiency } from '../../efficiency/run-efficiency.ts'
import { groupByPod, type RunEvidence } from '../../evidence/run-evidence.ts'
import { joinStores } from '../../evidence/stores.ts'
import type { RecordedJob, RecordedProcess } from '../../jobs/recorded-job.ts'
import type { EndedContainer } from '../../log/entry.ts'
import { recordedJobs } from '../../metrics/recorded-jobs.ts'
import { type AssessedRun, assessRun } from '../assess.ts'
import { distinct } from '../groups.ts'

/** An attempt of containers that were started more than once. */
export interface ReportedAttempt {
  /** 1 for the first one. */
  readonly attempt: number
  /** Whether the report is about it: it is the last one of its containers. */
  readonly isCounted: boolean
  readonly pods: readonly string[]
  /** How the containers of the application ended; empty if it is not known. */
  readonly ended: readonly EndedContainer[]
  /** What was recorded of MPI until the last rows; null if nothing was. */
  readonly mpi: { readonly ranks: number; readonly calls: number; readonly bytes: number } | null
  readonly efficiency: Factor
}

/** The attempts of a run. */
export interface ReportedAttempts {
  /** Empty if no container was started again. */
  readonly known: readonly ReportedAttempt[]
  /** The first and the last number of attempts of which there is no log. */
  readonly lost: readonly (readonly [first: number, last: number])[]
}

/** Returns the attempts of a run, the earliest one first. */
export function reportedAttempts(assessed: AssessedRun): ReportedAttempts {
  const logs = [...assessed.whole.earlier].toSorted(([a], [b]) => a - b)
  const starts = logs.flatMap(([number, run]) => attemptsOfLogs(assessRun(run), number, false))
  const later = attemptsOfLogs(assessed, (logs.at(-1)?.[0] ?? 0) + 1, true)
  const known = numbered([...starts, ...later])
  const isRestarted = known.length > 1 || known.some(({ attempt }) => attempt > 1)
  return isRestarted ? { known, lost: gapsIn(known) } : { known: [], lost: [] }
}

type Found = Omit<ReportedAttempt, 'attempt'> & {
  /** The least number that the attempt has. */
  readonly least: number
}

/**
 * Returns the attempts in the logs of one start of the observers: its last one, and those before.
 *
 * @param number of the start, unless the logs say it
 */
function attemptsOfLogs(
  assessed: AssessedRun,
  number: number,
  isCounted: boolean,
): readonly Found[] {
  const { run, podOf, pods, jobs, efficiency } = assessed
  const logs = [...run.sources.values()].flatMap(({ log }) => log ?? [])
  const base = Math.max(...logs.map(({ attempt }) => attempt ?? 0), 0) || number
  const earlier = Map.groupBy(run.evidence.earlier.values(), ({ attempt }) => attempt)
  const last = Math.max(...run.evidence.attempts.values(), 1)
  const counted = new Set(jobs.flatMap(({ processes }) => processes.map(idOf)))
  const before = [...earlier].map(([attempt, own]): Found => {
    const stores = joinStores(own.map((one) => one.stores))
    const evidence = groupByPod({ ...NO_ROWS, stores }, podOf)
    const sources = own.map(({ source }) => source)
    const isBeforeLast = attempt === last - 1
    return {
      least: base + attempt - 1,
      isCounted: false,
      pods: distinct(sources.map(podOf)),
      ended: isBeforeLast ? endsIn(assessed, sources, true) : [],
      ...measure(evidence, counted),
    }
  })
  const whole = {
    least: base + last - 1,
    isCounted,
    pods,
    ended: endsIn(assessed, [...run.sources.keys()], false),
    mpi: sumJobs(jobs.flatMap(({ processes }) => processes)),
    efficiency: efficiency.root,
  }
  return [...before.toSorted((a, b) => a.least - b.least), whole]
}

/** Gives each attempt a number that is greater than that of the attempt before. */
function numbered(found: readonly Found[]): readonly ReportedAttempt[] {
  let number = 0
  return found.map(({ least, ...others }) => {
    number = Math.max(number + 1, least)
    return { attempt: number, ...others }
  })
}

function gapsIn(known: readonly ReportedAttempt[]): ReportedAttempts['lost'] {
  return known.flatMap(({ attempt }, index) => {
    const first = (known[index - 1]?.attempt ?? 0) + 1
    return first < attempt ? [[first, attempt - 1] as const] : []
  })
}

const NO_ROWS = {
  sections: new Map(),
  ended: new Map(),
  podLimits: new Map(),
  uses: new Map(),
  profiles: new Map(),
  standIns: [],
}

/** @param counted the processes of later attempts */
function measure(evidence: RunEvidence, counted: ReadonlySet<string>) {
  const jobs: readonly RecordedJob[] = evidence.view(recordedJobs)
  const processes = jobs.flatMap((job) => job.processes).filter((one) => !counted.has(idOf(one)))
  const isWhole = processes.length === sumBy(jobs, (job) => job.processes.length)
  const efficiency =
    isWhole && processes.length > 0
      ? runEfficiency(evidence, false).root
      : missingFactor('efficiency', 'no calls of MPI were recorded of this attempt alone')
  return { mpi: sumJobs(processes), efficiency }
}

function idOf({ source, pid, rank }: RecordedProcess): string {
  return JSON.stringify([source, pid, pid === null ? rank : null])
}

function sumJobs(processes: readonly RecordedProcess[]): ReportedAttempt['mpi'] {
  if (processes.length === 0) return null
  return {
    ranks: processes.length,
    calls: sumBy(processes, ({ calls }) => calls),
    bytes: sumBy(processes, ({ bytes }) => bytes),
  }
}

/** Returns how the observed containers of some logs ended, once for each pod. */
function endsIn(
  { whole, podOf }: AssessedRun,
  sources: readonly string[],
  isRestarted: boolean,
): readonly EndedContainer[] {
  const byPod = Map.groupBy(sources, podOf)
  return [...byPod.values()].flatMap((own) => {
    const logs = own.flatMap((source) => whole.sources.get(source)?.log ?? [])
    const log = logs.find(({ ended }) => ended?.some(({ restarted }) => restarted === isRestarted))
    const target = log?.metadata.container
    return (log?.ended ?? []).filter(({ restarted, container }) => {
      return restarted === isRestarted && (target === undefined || target === container)
    })
  })
}
