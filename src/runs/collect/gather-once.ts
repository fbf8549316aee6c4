import type { Apiserver } from '../../cluster/apiserver.ts'
import type { Descriptions } from '../log/descriptions.ts'
import type { LogFormat, WorkloadStatus } from '../log/transcribe.ts'
import type { ArtifactFolder } from './artifacts.ts'
import { type Gathered, gather } from './gather.ts'
import type { CollectedLog } from './journal.ts'
import type { LogFile } from './log-file.ts'
import { hashFacts, hashFormat } from './log-identity.ts'
import type { LogStore } from './log-store.ts'
import { type RunningObserver, sourceName } from './observers.ts'
import { runPool } from './pool.ts'

/** The logs to collect, and how. */
export interface OnceWork {
  readonly apiserver: Apiserver
  readonly observers: readonly RunningObserver[]
  readonly status: WorkloadStatus
  readonly form: LogFormat
  readonly header: string
  readonly descriptions: Descriptions
  /** The maximum number of logs that are read at the same time. */
  readonly parallel: number
  readonly store: LogStore
  readonly artifacts: ArtifactFolder | undefined
  readonly signal: AbortSignal
  /** Shows how many of all logs are collected. */
  readonly showProgress: (done: number, all: number, words: string) => void
  readonly say: (sentence: string) => void
}

/** The logs that were collected by this run or earlier runs. */
export interface CollectedLogs {
  /** The results of the observers' logs in the order of the observers, if they were read. */
  readonly gathered: readonly Gathered[]
  /** The logs of pods that do not exist any more. Earlier runs have collected them. */
  readonly gone: readonly CollectedLog[]
}

/**
 * Collects the current logs of all observers, except those that an earlier run has collected
 * completely. After SIGINT, the logs that are being read are dropped.
 *
 * @throws WriteError if a file cannot be written
 */
export async function gatherOnce(work: OnceWork): Promise<CollectedLogs> {
  const { observers, store, parallel } = work
  const format = hashFormat(work.form, work.header, work.descriptions)
  const { results, gone } = await findBefore(work, format)
  tellBefore(work, results.size, gone.length)
  const show = startShowing(work, results)
  const failed = new AbortController()
  const signal = AbortSignal.any([work.signal, failed.signal])
  const remaining = observers.filter((observer) => !results.has(observer))
  await runPool(remaining, {
    parallel,
    isOrdered: store.isOrdered,
    signal,
    work: async (observer) => {
      try {
        return await gatherInto(observer, { ...work, signal }, format)
      } catch (error) {
        // The other logs cannot be written either.
        failed.abort()
        throw error
      }
    },
    done: async (gathered) => {
      if (gathered === undefined) return
      const { observer, text } = gathered
      await store.pass({ ...observer, text })
      results.set(observer, gathered)
      show(gathered.samples)
    },
  })
  return { gathered: observers.flatMap((observer) => results.get(observer) ?? []), gone }
}

/**
 * Returns a function that shows the progress, with an estimate of the remaining time. Its argument
 * is the number of samples of the log that was just collected.
 */
function startShowing(
  { observers, showProgress }: OnceWork,
  results: ReadonlyMap<RunningObserver, Gathered>,
): (samples: number) => void {
  const began = performance.now()
  const before = results.size
  let samples = [...results.values()].reduce((sum, one) => sum + one.samples, 0)
  return (more) => {
    const done = results.size
    const all = observers.length
    samples += more
    const left = describeRemaining(done - before, all - done, performance.now() - began)
    const words = [`${samples} samples`, ...(left === undefined ? [] : [left])]
    showProgress(done, all, words.join(', '))
  }
}

interface Before {
  readonly results: Map<RunningObserver, Gathered>
  readonly gone: readonly CollectedLog[]
}

/** Finds the logs that earlier runs have collected, if their text would still be the same. */
async function findBefore(work: OnceWork, format: string): Promise<Before> {
  const { observers, store } = work
  // The last entry of a log is valid.
  const latest = new Map(store.before.map((log) => [sourceName(log), log]))
  const results = new Map<RunningObserver, Gathered>()
  for (const observer of observers) {
    const log = latest.get(sourceName(observer))
    if (log === undefined || !isSame(log, identify(observer, work, format))) continue
    if (await store.has(log)) results.set(observer, gatheredBefore(observer, log))
  }
  for (const observer of observers) latest.delete(sourceName(observer))
  return { results, gone: await findGone([...latest.values()], work, format) }
}

/** Finds the logs of deleted pods that had the same controller as a pod that exists. */
async function findGone(
  logs: readonly CollectedLog[],
  { observers, store }: OnceWork,
  format: string,
): Promise<readonly CollectedLog[]> {
  const owners = new Set(observers.flatMap(({ owner }) => owner ?? []))
  const gone: CollectedLog[] = []
  for (const log of logs) {
    const isOurs = log.owner !== null && owners.has(log.owner) && log.format === format
    if (isOurs && (await store.has(log))) gone.push(log)
  }
  return gone
}

function isSame(log: CollectedLog, { uid, restarts, format, facts }: Identity): boolean {
  return (
    log.uid === uid && log.restarts === restarts && log.format === format && log.facts === facts
  )
}

function gatheredBefore(observer: RunningObserver, { samples, cuts }: CollectedLog): Gathered {
  return { observer, samples, cuts, missing: undefined, text: 'whole', artifacts: undefined }
}

function tellBefore({ observers, say }: OnceWork, before: number, gone: number): void {
  const count = (number: number) => number.toLocaleString('en-US')
  const all = observers.length
  if (before > 0)
    say(`collected ${count(before)} of ${count(all)} logs before; ${count(all - before)} remain`)
  if (gone > 0) say(`kept ${count(gone)} logs of pods that do not exist any more`)
}

/** Reads a log into its file. Returns undefined if the signal was aborted. */
async function gatherInto(
  observer: RunningObserver,
  work: OnceWork,
  format: string,
): Promise<Gathered | undefined> {
  const { store, signal, status } = work
  const file = await store.open(observer)
  const gathering = { ...work, readStatus: async () => status }
  const gathered = await gather(observer, gathering, file).catch(async (error: unknown) => {
    await file.discard().catch(() => {})
    throw error
  })
  const { missing, text, samples, cuts } = gathered
  const isInterrupted = signal.aborted && missing !== undefined
  const bytes = await endFile(file, isInterrupted ? 'none' : text)
  if (isInterrupted) return undefined
  if (missing === undefined && observer.state === 'ended')
    await store.record({ ...identify(observer, work, format), bytes, samples, cuts })
  return gathered
}

/** Ends the file of a log, and returns its size in bytes; 0 if it is not complete. */
async function endFile(file: LogFile, text: Gathered['text']): Promise<number> {
  if (text === 'whole') return file.complete()
  await (text === 'none' ? file.discard() : file.leave())
  return 0
}

/** What identifies a log and the text of its file. */
type Identity = Omit<CollectedLog, 'bytes' | 'samples' | 'cuts'>

function identify(observer: RunningObserver, { form, status }: OnceWork, format: string): Identity {
  const { namespace, pod, container, uid, owner, attempt, restarts } = observer
  const facts = hashFacts(form, observer, status.observedPods)
  return { namespace, pod, container, uid, owner, attempt, restarts, format, facts }
}

/** The milliseconds before the remaining time is estimated. */
const MEASURED_MS = 2000

/**
 * Estimates the remaining time from the mean time of the items that are done, in words such as
 * `about 3 min left`.
 *
 * @param done the number of items that were done in this run
 * @param remaining the number of items that are not done
 * @param passedMs the time since the start of this run, in milliseconds
 * @returns undefined if too little was done for an estimate
 */
export function describeRemaining(
  done: number,
  remaining: number,
  passedMs: number,
): string | undefined {
  if (done === 0 || remaining === 0 || passedMs < MEASURED_MS) return undefined
  return `about ${describeSeconds(((passedMs / done) * remaining) / 1000)} left`
}

function describeSeconds(seconds: number): string {
  if (seconds < 59.5) return `${Math.max(1, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
