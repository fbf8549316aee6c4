import { open } from 'node:fs/promises'
import { sumBy } from '../../../src/lib/statistics.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import type { Descriptions } from '../../../src/runs/log/descriptions.ts'
import { findNoProgress } from '../../../src/runs/top/no-progress.ts'
import type { LivePod } from '../../../src/runs/top/pods.ts'
import { type ProgressLog, startProgressLog } from '../../../src/runs/top/progress-log.ts'

/** The text of a log on the volume. */
export interface LogToRead {
  readonly id: string
  readonly path: string
  readonly observer: Pick<
    RunningObserver,
    'namespace' | 'pod' | 'uid' | 'node' | 'pod_index' | 'container'
  >
  /** The bytes of its whole lines. */
  readonly bytes: number
  /** Whether the log was read to its end, after its container had ended. */
  readonly isOver: boolean
}

/** A run whose logs are looked at. */
export interface RunToLookAt {
  readonly key: string
  readonly logs: readonly LogToRead[]
  /** The time of the newest rows that count, in milliseconds since 1970. */
  readonly until: number
}

/** What a look has found. */
export interface Look {
  /** A sentence about processes that make no progress; undefined if there are none. */
  readonly sentence: string | undefined
  /** Why it is not known whether the run makes progress; undefined if that is known. */
  readonly problem: string | undefined
  /** Whether each later look would have this problem too. */
  readonly isGivenUp: boolean
  /** The keys of the runs whose rows are too large, and that are not to be looked at any more. */
  readonly tooLarge: readonly string[]
}

/** Looks for processes without progress, and keeps the last rows of each run for its next look. */
export interface ProgressLooks {
  /** @throws an error of the system if a text cannot be read */
  look(run: RunToLookAt): Promise<Look>
  /** Forgets the rows of a run. */
  forget(key: string): void
}

/** A log, and how many bytes of its text were read. */
interface WatchedLog {
  readonly progress: ProgressLog
  offset: number
}

interface WatchedRun {
  readonly namespace: string
  readonly logs: Map<string, WatchedLog>
}

/**
 * The most characters of rows that are kept of all runs. A process of MPI has about 1,900 in its
 * last two timepoints, which need 8 KiB of memory.
 */
const MAX_CHARACTERS = 16 * 2 ** 20

/** The bytes of a text that are read at once, and the most of a text that is read in one look. */
const PART_BYTES = 2 ** 20
const MAX_BYTES = 4 * PART_BYTES

export function createProgressLooks(descriptions: Descriptions): ProgressLooks {
  const runs = new Map<string, WatchedRun>()
  return {
    async look({ key, logs, until }) {
      const namespace = logs[0]?.observer.namespace ?? ''
      const run = runs.get(key) ?? { namespace, logs: new Map() }
      runs.set(key, run)
      keepOnly(run.logs, logs)
      for (const log of logs) await readLog(run.logs, log, until, descriptions)
      const tooLarge = dropTooLarge(runs, run)
      const sentence = tooLarge.includes(key) ? undefined : describe(run.logs, logs, until)
      return { sentence, problem: undefined, isGivenUp: false, tooLarge }
    },
    forget: (key) => runs.delete(key),
  }
}

/** Forgets the rows of all but these logs. */
function keepOnly(run: WatchedRun['logs'], logs: readonly LogToRead[]): void {
  const current = new Set(logs.map(({ id }) => id))
  for (const id of run.keys()) if (!current.has(id)) run.delete(id)
}

/** Reads the rows of a log that are new, and not newer than the look. */
async function readLog(
  run: WatchedRun['logs'],
  { id, path, observer, bytes, isOver }: LogToRead,
  until: number,
  descriptions: Descriptions,
): Promise<void> {
  const description = descriptions.get(observer.container)
  if (description === undefined) return
  const known = run.get(id)
  const isBehind = bytes - (known?.offset ?? 0) > MAX_BYTES
  // Only the last two timepoints count.
  const offset = isBehind ? bytes - MAX_BYTES : (known?.offset ?? 0)
  const progress = isBehind ? undefined : known?.progress
  const own: WatchedLog = {
    progress: progress ?? startProgressLog(observer, observer.container, description),
    offset,
  }
  run.set(id, own)
  await readText(path, own, bytes, until)
  // A log can also be done because it is too long, while its container runs.
  own.progress.observer.isOver = isOver && own.offset === bytes
}

/** Reads the lines of a text before the byte `end`. */
async function readText(path: string, log: WatchedLog, end: number, until: number): Promise<void> {
  if (log.offset >= end) return
  const file = await open(path)
  try {
    while (log.offset < end) {
      const size = Math.min(PART_BYTES, end - log.offset)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, log.offset)
      if (!pushLines(log, buffer.subarray(0, bytesRead), until)) return
    }
  } finally {
    await file.close()
  }
}

const LINE_FEED = 10

/** @returns whether there may be more lines to read */
function pushLines(log: WatchedLog, part: Buffer, until: number): boolean {
  let from = 0
  for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, from)) {
    if (!log.progress.push(part.toString('utf8', from, at), until)) {
      log.offset += from
      return false
    }
    from = at + 1
  }
  // A line that does not fit into a part is not from an observer.
  log.offset += from === 0 ? part.length : from
  return part.length > 0
}

/**
 * Forgets the rows of a run that has too many in a timepoint. While the rows of all runs are too
 * large, forgets those of the largest run of the namespace with the most.
 *
 * @returns the keys of these runs
 */
function dropTooLarge(runs: ReadonlyMap<string, WatchedRun>, last: WatchedRun): readonly string[] {
  const dropped: RunEntry[] = [...runs].filter(([, run]) => run === last && hasTooLarge(run))
  for (const [, { logs }] of dropped) logs.clear()
  while (sizeOf([...runs]) > MAX_CHARACTERS) {
    const largest = findLargest([...runs])
    if (largest === undefined) break
    largest[1].logs.clear()
    dropped.push(largest)
  }
  return dropped.map(([key]) => key)
}

function hasTooLarge({ logs }: WatchedRun): boolean {
  return [...logs.values()].some(({ progress }) => progress.isTooLarge)
}

type RunEntry = readonly [string, WatchedRun]

function findLargest(runs: readonly RunEntry[]): RunEntry | undefined {
  const namespaces = Map.groupBy(runs, ([, { namespace }]) => namespace)
  const [most = []] = [...namespaces.values()].sort((a, b) => sizeOf(b) - sizeOf(a))
  return most.toSorted((a, b) => sizeOf([b]) - sizeOf([a]))[0]
}

function sizeOf(runs: readonly RunEntry[]): number {
  const logs = runs.flatMap(([, run]) => [...run.logs.values()])
  return sumBy(logs, ({ progress }) => progress.size)
}

/** Returns a sentence about the processes that make no progress; undefined if there are none. */
function describe(
  run: WatchedRun['logs'],
  logs: readonly LogToRead[],
  until: number,
): string | undefined {
  const members = logs.flatMap(({ id, observer }) => {
    const watched = run.get(id)
    return watched === undefined ? [] : { observer, watched }
  })
  const byUid = Map.groupBy(members, ({ observer }) => observer.uid)
  const pods = [...byUid.values()].flatMap((own): readonly LivePod[] => {
    const [first] = own
    if (first === undefined) return []
    const { namespace, pod, node, pod_index } = first.observer
    const observers = own.map(({ watched }) => watched.progress.observer)
    return [{ namespace, pod, node, pod_index, observers }]
  })
  const [found, ...others] = findNoProgress(pods, until)
  if (found === undefined) return undefined
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `${found.sentence.replace(/\.$/, '')}${more}`
}
