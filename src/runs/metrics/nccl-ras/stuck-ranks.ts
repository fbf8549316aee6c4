import { type RunEvidence, stackFinder } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { type AbsentActivity, activityOf } from '../../waiting/absent-activity.ts'
import type { CurrentStack } from '../../waiting/current-stacks.ts'
import {
  NCCL_STORE,
  type NcclAnswer,
  type NcclCommunicator,
  type NcclProcess,
  type NcclRank,
  type NcclRun,
} from './nccl-run.ts'

/** A rank that has launched fewer operations than others, or whose process does not answer. */
export interface LateRank extends NcclRank {
  /** Whether its process does not answer the service. */
  readonly isMissing: boolean
  /** Its process, if a pod of the run has a row about it. */
  readonly process: NcclProcess | null
  /** The pod of the process, as reports name it. */
  readonly pod: string | null
  /** What its process does; null if no row says that. */
  readonly activity: AbsentActivity | null
  /** The line of Python in which the main thread of its process is; null if it is not known. */
  readonly line: string | null
}

/** Ranks of a communicator that make no progress. */
export interface StuckRanks {
  /**
   * - `nccl-late`: ranks have not launched an operation that others have launched, or their
   *   processes do not answer.
   * - `nccl-mismatch`: the ranks have launched different operations.
   */
  readonly why: 'nccl-late' | 'nccl-mismatch'
  readonly answer: NcclAnswer
  /** The pod that has asked, as reports name it. */
  readonly askingPod: string
  /** The containers of this pod whose processes have rows. */
  readonly askingContainers: readonly string[]
  readonly communicator: NcclCommunicator
  /** The ranks that others wait for, as far as they have rows. */
  readonly late: readonly LateRank[]
  /** The ranks that have rows and have launched all operations, with their pods. */
  readonly waiting: readonly WaitingRank[]
  /** The seconds for which no rank has launched anything; null if that is not known. */
  readonly waited: number | null
}

export interface WaitingRank {
  readonly rank: number
  readonly pod: string
}

/** Returns the ranks of NCCL that are behind or do not answer, whether that counts or not. */
export function ncclRanks({ stores, podOf, view }: RunEvidence): readonly StuckRanks[] {
  return findStuckRanks(storeOf(stores, NCCL_STORE), podOf, view(stackFinder))
}

/**
 * Finds the ranks of NCCL for which others wait. All ranks of a communicator launch its operations
 * in the same order, so a rank that has launched fewer of them than another one is late.
 *
 * NCCL counts an operation when it is launched, which can be long before the GPU executes it. So
 * the counts of a job that goes on change from answer to answer, and differ between ranks: only the
 * time for which they have not changed says that ranks wait. For each job, only its latest answer
 * is read, and of the communicators with the same late processes, only the largest.
 *
 * @param podOf returns the pod of a log, as reports name it
 * @param pythonOf returns the current stack of Python of a process of such a pod
 */
export function findStuckRanks(
  run: NcclRun,
  podOf: (source: string) => string,
  pythonOf: PythonOf = () => undefined,
): readonly StuckRanks[] {
  const processes = processesAt(run, podOf)
  const containers = containersByLog(run)
  const latest = latestRows(run)
  return latestAnswers(run).flatMap((answer) => {
    const ranks = Map.groupBy(answer.ranks, (rank) => rank.communicator)
    const late = answer.communicators
      .filter(({ missing, behind }) => missing + behind > 0)
      .sort((a, b) => (b.size ?? 0) - (a.size ?? 0))
    // A forged answer can have many communicators of one name, and each rank would be in all.
    const byName = Map.groupBy(late, ({ name }) => name)
    const largest = [...byName.values()].flatMap((own) => own.slice(0, 1))
    const all = largest.map((communicator) =>
      describe({ processes, containers, latest, answer, ranks, communicator, podOf, pythonOf }),
    )
    const seen = new Set<string>()
    return all.filter((stuck) => {
      const key = causeOf(stuck)
      const isNew = !seen.has(key)
      seen.add(key)
      return isNew
    })
  })
}

type PythonOf = (pod: string, pid: number | null) => CurrentStack | undefined

/** Identifies the cause by the processes of the late ranks, or by their numbers. */
function causeOf({ why, late }: StuckRanks): string {
  return JSON.stringify([why, ...late.map(({ host, pid, rank }) => [host, pid ?? rank])])
}

/**
 * Returns the latest answer about each job. Answers about the same job, by which two pods learn of
 * it, have a communicator in common. On a node, the service can be that of another job.
 */
function latestAnswers({ answers }: NcclRun): readonly NcclAnswer[] {
  const usable = [...answers.values()].filter((one) => !one.isOfNode || one.ownRanks > 0)
  const sorted = usable.sort((a, b) => (b.at ?? 0) - (a.at ?? 0))
  const seen = new Set<string>()
  return sorted.filter(({ communicators }) => {
    const isKnown = communicators.some(({ name }) => seen.has(name))
    for (const { name } of communicators) seen.add(name)
    return !isKnown
  })
}

/** Returns the seconds of the latest row of each log. */
function latestRows(run: NcclRun): ReadonlyMap<string, number> {
  const latest = new Map<string, number>()
  for (const { source, seconds } of run.processes.values())
    latest.set(source, Math.max(seconds, latest.get(source) ?? seconds))
  return latest
}

/**
 * Returns the processes of all pods by their ids and each of their addresses. Pods that use the
 * network of their node have the same address, and can have the same process ids: then it is not
 * known which one is meant, and there is none.
 */
function processesAt(
  run: NcclRun,
  podOf: (source: string) => string,
): ReadonlyMap<string, NcclProcess | undefined> {
  const all = [...run.processes.values()].flatMap((process) =>
    [...new Set(process.addresses)].map((address) => ({ process, address })),
  )
  const places = Map.groupBy(all, ({ process: { pid }, address }) => `${pid} ${address}`)
  return new Map(
    [...places].map(([place, own]) => {
      const pods = new Set(own.map(({ process }) => podOf(process.source)))
      return [place, pods.size === 1 ? own[0]?.process : undefined]
    }),
  )
}

/** Returns the names of the containers whose processes have rows, by log. */
function containersByLog(run: NcclRun): ReadonlyMap<string, readonly string[]> {
  const logs = Map.groupBy(run.processes.values(), ({ source }) => source)
  return new Map(
    [...logs].map(([source, own]) => {
      return [source, [...new Set(own.flatMap(({ container }) => container ?? []))]]
    }),
  )
}

interface Place {
  /** The processes of all pods, by `PID ADDRESS`. */
  readonly processes: ReadonlyMap<string, NcclProcess | undefined>
  /** The names of the containers of each log. */
  readonly containers: ReadonlyMap<string, readonly string[]>
  /** The seconds of the latest row of each log. */
  readonly latest: ReadonlyMap<string, number>
  readonly answer: NcclAnswer
  /** The ranks in the answer, by communicator. */
  readonly ranks: ReadonlyMap<string, readonly NcclRank[]>
  readonly communicator: NcclCommunicator
  readonly podOf: (source: string) => string
  readonly pythonOf: PythonOf
}

/** The states of ranks whose processes do not answer. */
const MISSING: ReadonlySet<string | null> = new Set(['dead', 'unresponsive', 'missing'])

function describe(place: Place): StuckRanks {
  const { answer, communicator, podOf } = place
  const own = place.ranks.get(communicator.name) ?? []
  const isMissing = ({ state }: NcclRank) => MISSING.has(state)
  const isMismatch = communicator.ahead === 0 && communicator.missing === 0
  const late = own.filter((rank) => isMissing(rank) || (rank.behind ?? 0) > 0)
  return {
    why: isMismatch ? 'nccl-mismatch' : 'nccl-late',
    answer,
    askingPod: podOf(answer.source),
    askingContainers: place.containers.get(answer.source) ?? [],
    communicator,
    late: late.map((rank) => lateRank(rank, isMissing(rank), place)),
    waiting: own.flatMap((rank) => {
      const process = rank.behind === 0 ? processOf(rank, place) : undefined
      return process === undefined ? [] : { rank: rank.rank, pod: podOf(process.source) }
    }),
    waited: answer.unchanged,
  }
}

function lateRank(rank: NcclRank, isMissing: boolean, place: Place): LateRank {
  const { podOf } = place
  const process = processOf(rank, place) ?? null
  return {
    ...rank,
    isMissing,
    process,
    pod: process === null ? null : podOf(process.source),
    activity: process === null ? null : activityIn(process, place),
    line: process === null ? null : lineIn(process, place),
  }
}

function processOf({ host, pid }: NcclRank, { processes }: Place): NcclProcess | undefined {
  return host === null || pid === null ? undefined : processes.get(`${pid} ${host}`)
}

/** The seconds by which a row may be late. */
const LATE_ROW = 5

/** Returns the activity of a process. The observers of two pods write at different times. */
function activityIn(process: NcclProcess, { latest, answer }: Place): AbsentActivity | null {
  const { source, seconds } = process
  const hasEnded = process.state === 'ended' || (latest.get(source) ?? seconds) > seconds
  if (hasEnded) return { is: 'ended', state: 'lost' }
  return isOld(process, answer) ? null : activityOf(process)
}

/** Returns the line of Python in which a process is, unless its row is old. */
function lineIn({ source, pid }: NcclProcess, { answer, podOf, pythonOf }: Place): string | null {
  const stack = pythonOf(podOf(source), pid)
  return stack === undefined || isOld(stack, answer) ? null : stack.line
}

/** Reports whether a row was written long before an answer. */
function isOld(
  { at, interval }: Pick<NcclProcess, 'at' | 'interval'>,
  answer: Pick<NcclAnswer, 'at'>,
): boolean {
  return (answer.at ?? 0) - (at ?? 0) > 2 * (interval ?? 0) + LATE_ROW
}
