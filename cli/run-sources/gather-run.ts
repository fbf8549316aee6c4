import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { pause } from '../../src/lib/pause.ts'
import type { ArtifactFolder } from '../../src/runs/collect/artifacts.ts'
import { withAttemptBefore } from '../../src/runs/collect/attempts.ts'
import {
  type Destination,
  openDestination,
  type Target,
} from '../../src/runs/collect/destination.ts'
import { startCrowd } from '../../src/runs/collect/follow.ts'
import type { Gathered } from '../../src/runs/collect/gather.ts'
import { gatherOnce } from '../../src/runs/collect/gather-once.ts'
import { logName } from '../../src/runs/collect/log-identity.ts'
import { openLogStore } from '../../src/runs/collect/log-store.ts'
import { countPods } from '../../src/runs/collect/observed-pods.ts'
import {
  type PodOfObservers,
  type RunningObserver,
  sourceName,
} from '../../src/runs/collect/observers.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import { listColumns } from '../../src/runs/log/columns.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import type { ObservedPods } from '../../src/runs/log/entry.ts'
import type { LogFormat, WorkloadStatus } from '../../src/runs/log/transcribe.ts'
import { csvHeader } from '../../src/runs/log/write.ts'
import { type CollectedTime, collectedDocument } from '../../src/runs/time/collected-time.ts'
import { UsageError } from '../shared/errors.ts'
import { type Progress, startProgress } from '../shared/progress.ts'
import type { Session } from '../shared/session.ts'
import type { FoundPod } from '../shared/workload-pods.ts'
import { type ReadTime, timeReader } from './run-time.ts'

/** How the logs of a workload are collected. */
export interface GatherOptions {
  readonly output: LogFormat
  readonly target: Target
  /** The folder for raw files; undefined if they are not collected. */
  readonly artifacts?: ArtifactFolder | undefined
  /** Whether to collect until all observers have ended. */
  readonly follow?: boolean | undefined
  /** The number of logs that are read at a time. */
  readonly parallel: number
}

/** Milliseconds between two requests for the list of pods. */
const LOOK_MS = 2000

/**
 * Collects the logs of all observers of a workload.
 *
 * @throws WriteError if the target cannot be written; UsageError if it must be a folder
 */
export async function gatherRun(
  { apiserver, namespace, words, pods, find, descriptions }: WorkloadPods<FoundPod>,
  options: GatherOptions,
  session: Session,
): Promise<GatheredRun> {
  const header = options.output === 'csv' ? csvHeader([...listColumns(descriptions).keys()]) : ''
  const observedPods = countPods(pods, words)
  const readTime = timeReader({ apiserver, namespace, words })
  const shared = { apiserver, words, pods, find, readTime, options }
  const work = { ...shared, descriptions, header, session }
  return options.follow ? followAll(work, observedPods) : collectOnce(work, observedPods)
}

interface Work {
  readonly apiserver: Apiserver
  /** The name of the workload. */
  readonly words: string
  readonly pods: readonly FoundPod[]
  readonly find: WorkloadPods<FoundPod>['find']
  readonly readTime: ReadTime
  readonly options: GatherOptions
  readonly descriptions: Descriptions
  /** The text at the beginning of each file. */
  readonly header: string
  readonly session: Session
}

/** The results of the logs, and how many pods of the workload are observed. */
export interface GatheredRun {
  readonly gathered: readonly Gathered[]
  readonly observedPods: ObservedPods | null
  /** Where the time of the run went; null if it is not known. */
  readonly time: CollectedTime | null
  /** The number of logs that were not read, because the command was interrupted. */
  readonly unread: number
  /** The folder in which complete logs are kept for the next run; undefined if none are kept. */
  readonly kept: string | undefined
  /** Whether all pods have ended. */
  readonly isOver: boolean
}

/** Runs `gathering` with a progress bar and a signal for SIGINT and SIGTERM. */
async function untilInterrupted<Result>(
  { onInterruption }: Session,
  progress: Progress,
  gathering: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const interrupted = new AbortController()
  // The second signal ends the process.
  const stopListening = onInterruption(['SIGINT', 'SIGTERM'], () => {
    stopListening()
    interrupted.abort()
  })
  try {
    return await gathering(interrupted.signal)
  } finally {
    progress.clear()
    stopListening()
  }
}

/** The milliseconds between two lines about the progress, if standard error is no terminal. */
const PROGRESS_MS = 5000

async function collectOnce(
  { options, pods, readTime, header, session, ...work }: Work,
  observedPods: ObservedPods | null,
): Promise<GatheredRun> {
  const observers = observersOf(pods)
  const { output: form, parallel, artifacts } = options
  const time = await readTime(pods)
  const status = statusOf(observedPods, time)
  const store = await openLogStore(options.target, form, header)
  const progress = startProgress(session, PROGRESS_MS)
  try {
    return await untilInterrupted(session, progress, async (signal) => {
      const { say } = session
      const shared = { observers, status, form, header, parallel, artifacts, store, signal }
      const once = { ...work, ...shared, say }
      const { gathered, gone } = await gatherOnce({ ...once, showProgress: progress.show })
      const unread = observers.length - gathered.length
      const found = leaveOutLost(gathered, say)
      const isComplete = unread === 0 && !found.some(isMissing)
      const logs = found.map(({ observer, text }) => ({ ...observer, text }))
      const isGood = found.some(isUseful) && (unread === 0 || store.isOrdered)
      const others = gone.map((log) => ({ ...log, text: 'whole' as const }))
      if (isGood) await store.finish([...logs, ...others], isComplete)
      const isOver = pods.every((pod) => pod.isOver)
      return { gathered: found, observedPods, time, unread, kept: store.kept(), isOver }
    })
  } finally {
    await store.close()
  }
}

function statusOf(observedPods: ObservedPods | null, time: CollectedTime | null): WorkloadStatus {
  return { observedPods, time: time === null ? null : collectedDocument(time) }
}

/** Returns the observers of pods, each followed by its attempt before, if that has a log. */
function observersOf(pods: readonly PodOfObservers[]): readonly RunningObserver[] {
  return pods.flatMap((pod) => pod.observers.flatMap(withAttemptBefore))
}

const isMissing = ({ missing }: Gathered) => missing !== undefined
const isUseful = ({ missing, samples }: Gathered) => missing === undefined || samples > 0

async function followAll(work: Work, observedPods: ObservedPods | null): Promise<GatheredRun> {
  const { options, header, session } = work
  const destination = await openDestination(options.target, options.output, header)
  if (options.output === 'logs' && !destination.isFolder)
    throw new UsageError(
      '--follow with --output logs needs a folder, so that logs do not mix: use --to DIR/',
    )
  const progress = startProgress(session)
  let isGood = false
  try {
    return await untilInterrupted(session, progress, async (signal) => {
      const run = await followInto(destination, work, observedPods, { progress, signal })
      isGood = run.gathered.some(isUseful)
      return run
    })
  } finally {
    await destination.close(isGood)
  }
}

async function followInto(
  destination: Destination,
  { apiserver, words, pods, find, readTime, options, descriptions, session: { say } }: Work,
  observedPods: ObservedPods | null,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<GatheredRun> {
  const write = (observer: RunningObserver, text: string) =>
    destination.write(logName(observer), text)
  const { output: form, artifacts } = options
  let now = pods
  let counted = observedPods
  const readStatus = async () => statusOf(counted, await readTime(now))
  const shared = { apiserver, descriptions, signal, artifacts, readStatus }
  const crowd = startCrowd({ ...shared, form, write, pauseMs: LOOK_MS })
  while (!signal.aborted) {
    crowd.take(observersOf(now))
    const { done, all } = crowd.counts()
    progress.show(done, all, 'following')
    if (done === all && now.every((pod) => pod.isOver)) break
    await pause(LOOK_MS, signal)
    // If the list fails, for example while the apiserver restarts, the previous list is kept until
    // the next attempt. Each log reconnects separately.
    now = await find().catch(() => now)
    counted = keepMost(counted, countPods(now, words))
  }
  const isOver = now.every((pod) => pod.isOver)
  const gathered = leaveOutLost(await crowd.end(), say)
  const time = await readTime(now)
  return { gathered, observedPods: counted, time, unread: 0, kept: undefined, isOver }
}

/**
 * Says which logs of earlier attempts cannot be read, and leaves out those of which there is no
 * termination message either. Usually the kubelet has removed such a log, so that reading it again
 * does not help, and nothing counts as missing.
 */
function leaveOutLost(gathered: readonly Gathered[], say: Session['say']): readonly Gathered[] {
  const isLost = ({ observer, missing }: Gathered) => observer.isPrevious && missing !== undefined
  for (const { observer, missing } of gathered.filter(isLost))
    say(`the log of ${sourceName(observer)}, an earlier attempt, cannot be read: ${missing}`)
  return gathered.flatMap((one) => {
    if (!isLost(one)) return one
    return one.text === 'none' ? [] : { ...one, missing: undefined }
  })
}

/** Returns the later count unless it has fewer pods, because pods were deleted after their end. */
function keepMost(before: ObservedPods | null, now: ObservedPods | null): ObservedPods | null {
  return (now?.total ?? 0) < (before?.total ?? 0) ? before : now
}

/** Says which logs are missing or cut, and returns the number of those that are missing. */
export function sayMissing(gathered: readonly Gathered[], say: Session['say']): number {
  const missing = gathered.filter((one) => one.missing !== undefined)
  for (const one of missing)
    say(`the log of ${sourceName(one.observer)} is missing or incomplete: ${one.missing}`)
  for (const { observer, cuts } of gathered)
    if (cuts.length > 0) say(`the log of ${sourceName(observer)} is cut: ${cuts.join('; ')}`)
  return missing.length
}
