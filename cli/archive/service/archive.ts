import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { ApiError, isMissing } from '../../../src/cluster/api-error.ts'
import { connectApiserver } from '../../../src/cluster/apiserver.ts'
import type { Access } from '../../../src/cluster/cluster.ts'
import { pathOfResource } from '../../../src/cluster/discovery.ts'
import { type Reflector, startReflector } from '../../../src/cluster/reflect/reflector.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { pauseInBackground } from '../../../src/lib/pause.ts'
import { minimum } from '../../../src/lib/statistics.ts'
import type { Retention } from '../../../src/runs/archive/retention.ts'
import { runPool } from '../../../src/runs/collect/pool.ts'
import type { ReadinessCheck } from '../../../webhook/status-app.ts'
import { pathOfRuns } from '../../shared/path-of-runs.ts'
import type { RunStorage } from '../storage/stored-runs.ts'
import { type ControllerMemory, createControllerMemory } from './controller-memory.ts'
import { NO_FAILURES } from './failures.ts'
import { ARCHIVE_PACE, type ArchivePace, PARALLEL_WRITES } from './pace.ts'
import { createPodMemory, type PodMemory } from './pod-memory.ts'
import {
  isSettled,
  type RememberedRun,
  scheduleChanged,
  scheduleReading,
  scheduleRetry,
} from './remembered-run.ts'
import { createRememberedRuns, type RememberedRuns } from './remembered-runs.ts'
import { type ArchiveReport, createArchiveReport } from './report.ts'
import { createRowsArchive, type RowsArchive, type RowsArchiveOptions } from './rows-archive.ts'
import { createRowsReport } from './rows-report.ts'
import { createRunClient, type RunClient } from './run-client.ts'
import { createRunIndex, type RunIndex, readIndexed } from './run-index.ts'
import { sweepRuns } from './sweep.ts'
import { createSweepClock, type SweepClock } from './sweep-clock.ts'
import { type Updated, updateRun } from './update-run.ts'
import { readWatchedPod } from './watched-pod.ts'

export interface ArchiveOptions {
  readonly access: Access
  /** The namespaces whose pods are watched; all namespaces if there are none. */
  readonly namespaces: readonly string[]
  /** The names of the metrics that `attach` can add to a pod. */
  readonly metrics: ReadonlySet<string>
  readonly retention: Retention
  readonly registry: Registry
  readonly log: Logger
  /** Where logs are kept and rows are stored; undefined if the archive may not read logs. */
  readonly storage?: RunStorage | undefined
  /** The URL at which users find the storage. */
  readonly publicUrl?: string | undefined
  readonly pace?: ArchivePace
}

export interface Archive {
  checks(): readonly ReadinessCheck[]
  stop(): Promise<void>
}

/** The parts of a running archive. */
interface Parts {
  readonly pace: ArchivePace
  readonly retention: Retention
  readonly clock: SweepClock
  readonly memory: PodMemory
  readonly controllers: ControllerMemory
  readonly client: RunClient
  readonly index: RunIndex
  readonly runs: RememberedRuns
  readonly report: ArchiveReport
  readonly rows: RowsArchive | undefined
}

/** The time for which an idle connection is kept, less than that of an apiserver. */
const KEPT_MS = 30_000

/**
 * Watches pods, and writes an object Run for each run of observed pods, until `stop` is called. No
 * pod is changed, and a pod that no observer was requested for is dropped while it is parsed.
 */
export function startArchive(options: ArchiveOptions): Archive {
  const { access, namespaces, metrics, registry, log, retention, pace = ARCHIVE_PACE } = options
  const clock = createSweepClock()
  const api = connectApiserver(access, KEPT_MS, clock.note)
  const [memory, index] = [createPodMemory((uid) => noteLogs(uid, parts)), createRunIndex()]
  const report = createArchiveReport(registry, log, () => readState(memory, runs, watches))
  const { onForbidden, onTroubleOf } = report
  const controllers = createControllerMemory({ api, answerMs: pace.answerMs, onForbidden })
  const runs = createRememberedRuns(memory, controllers)
  const client = createRunClient(api, pace.answerMs)
  const onProgress = (key: string, sentence: string | undefined) =>
    noteProgress(runs, runs.get(key), sentence, pace)
  const rows = startRows({ api, client, index, pace, onProgress }, options)
  const places = namespaces.length === 0 ? [undefined] : namespaces
  const watches = places.flatMap((namespace) => [
    startReflector({
      api,
      pace,
      onTrouble: onTroubleOf('pods'),
      collection: memory.collect(),
      path: pathOfResource({ apiVersion: 'v1', namespace, plural: 'pods' }),
      itemOf: (object) => readWatchedPod(object, metrics, options.storage !== undefined),
    }),
    startReflector({
      api,
      pace,
      onTrouble: onTroubleOf('runs'),
      collection: index.collect(),
      path: pathOfRuns(namespace),
      itemOf: readIndexed,
    }),
  ])
  const known = { memory, controllers, index, runs }
  const parts: Parts = { pace, retention, clock, client, report, rows, ...known }
  const isListed = () => watches.every((watch) => watch.isListed)
  const stopped = new AbortController()
  const ended = follow(parts, isListed, stopped.signal)
  return {
    checks: () => [
      buildCheck(watches),
      { name: 'writes', problem: report.trouble, fatal: false },
      ...(rows === undefined ? [] : [{ name: 'rows', problem: rows.trouble, fatal: false }]),
    ],
    async stop() {
      stopped.abort()
      for (const watch of watches) watch.stop()
      await Promise.all([ended, rows?.stop()])
      api.close()
    },
  }
}

/** Starts to keep rows, if there is a storage. */
function startRows(
  tools: Omit<RowsArchiveOptions, 'storage' | 'publicUrl' | 'report'>,
  { storage, publicUrl, registry, log }: ArchiveOptions,
): RowsArchive | undefined {
  if (storage === undefined) return undefined
  const report = createRowsReport(registry, log, () => rows.unread)
  const rows: RowsArchive = createRowsArchive({
    ...tools,
    storage,
    publicUrl,
    report,
  })
  return rows
}

/** Notes the logs of a changed pod at once: they can vanish with it a second after its end. */
function noteLogs(uid: string, { memory, runs, rows }: Parts): void {
  const [pod, run] = [memory.get(uid), runs.find(uid)]
  if (pod !== undefined && run !== undefined) rows?.note(run.kept, pod, memory.observersOf(uid))
}

/** Schedules the Run of a run whose processes stopped to make progress, or that goes on again. */
function noteProgress(
  runs: RememberedRuns,
  run: RememberedRun | undefined,
  sentence: string | undefined,
  pace: ArchivePace,
): void {
  if (run === undefined || run.noProgress === sentence) return
  run.noProgress = sentence
  scheduleChanged(run, runs.podsOf(run), pace, Date.now())
}

/** An archive without a first list has nothing to write, and is not ready. */
function buildCheck(watches: readonly Reflector[]): ReadinessCheck {
  const unlisted = watches.find(({ isListed }) => !isListed)
  const found = unlisted ?? watches.find(({ trouble }) => trouble !== undefined)
  const waiting = unlisted === undefined ? undefined : 'waiting for the apiserver'
  return { name: 'watches', problem: found?.trouble ?? waiting, fatal: unlisted !== undefined }
}

function readState(memory: PodMemory, runs: RememberedRuns, watches: readonly Reflector[]) {
  const now = Date.now()
  const due = minimum([now, ...[...runs.all()].map(({ dueAt }) => dueAt)]) ?? now
  const inStepAt = Math.min(...watches.map((watch) => watch.inStepAt))
  return {
    pods: memory.size,
    runs: runs.size,
    behind: (now - due) / 1000,
    watchAge: (performance.now() - inStepAt) / 1000,
  }
}

/** Takes turns until the signal is aborted. */
async function follow(parts: Parts, isListed: () => boolean, signal: AbortSignal): Promise<void> {
  const turn = createTurn(parts, signal)
  while (!signal.aborted) {
    const isMore = isListed() && (await turn())
    if (!isMore) await pauseInBackground(parts.pace.turnMs, signal).catch(() => {})
  }
}

/** Returns a function that takes a turn, and returns whether there is more to write. */
function createTurn(parts: Parts, signal: AbortSignal): () => Promise<boolean> {
  let sweepAt = 0
  return async () => {
    const isMore = await takeTurn(parts, signal)
    if (Date.now() >= sweepAt) sweepAt = Date.now() + (await sweep(parts, signal))
    return isMore
  }
}

/**
 * The most Runs that are written in a turn. In a longer one, pods that changed after its start
 * would wait for all of them.
 */
const MAX_WRITES = 200

/** @returns whether there is more to write */
async function takeTurn(parts: Parts, signal: AbortSignal): Promise<boolean> {
  const { memory, runs, report, rows } = parts
  const pool = { parallel: PARALLEL_WRITES, isOrdered: false, signal, done: async () => {} }
  const changed = new Set<RememberedRun>()
  const add = (uid: string) => addPod(uid, parts, changed)
  await runPool(memory.takeChanged(), { ...pool, work: add })
  for (const run of changed) scheduleChanged(run, runs.podsOf(run), parts.pace, Date.now())
  const due = listDue(runs)
  await runPool(due.slice(0, MAX_WRITES), { ...pool, work: (run) => write(run, parts) })
  const all = [...runs.all()]
  rows?.takeTurn(all.filter(({ overAt }) => overAt !== undefined).map(({ kept }) => kept))
  for (const run of all) if (isArchived(run, parts)) release(run, parts)
  if (all.every(({ failures }) => failures.count === 0)) report.onRepaired()
  return due.length > MAX_WRITES
}

/** Lists the runs whose Runs are to be written, in the order in which they became due. */
function listDue(runs: RememberedRuns): readonly RememberedRun[] {
  const now = Date.now()
  const due = [...runs.all()].filter(({ dueAt }) => dueAt <= now)
  return due.sort((a, b) => a.dueAt - b.dueAt)
}

/** If the controllers of a pod cannot be read, the pod is handled again in the next turn. */
async function addPod(uid: string, parts: Parts, changed: Set<RememberedRun>): Promise<void> {
  const { memory, runs, report } = parts
  try {
    const isNew = runs.find(uid) === undefined
    const run = await runs.add(uid)
    if (run !== undefined) changed.add(run)
    if (isNew) noteLogs(uid, parts)
  } catch (error) {
    report.onFailure(memory.get(uid)?.namespace ?? '', errorMessage(error))
    memory.putBack(uid)
  }
}

function isArchived({ key, overAt, dueAt }: RememberedRun, { pace, rows }: Parts): boolean {
  if (overAt === undefined || dueAt !== Number.POSITIVE_INFINITY) return false
  return Date.now() - overAt > pace.lingerMs && (rows?.isSettled(key) ?? true)
}

/** Forgets a run. Rows that are not stored yet are stored in a sweep. */
function release(run: RememberedRun, { runs, rows }: Parts): void {
  runs.release(run)
  rows?.release(run.key)
}

async function write(run: RememberedRun, parts: Parts): Promise<void> {
  const now = Date.now()
  run.dueAt = Number.POSITIVE_INFINITY
  try {
    const updated = await updateRun(run, parts.runs.podsOf(run), parts, now)
    run.failures = NO_FAILURES
    parts.report.onWritten()
    await settle(run, updated, parts, now)
  } catch (error) {
    fail(run, error, parts, now)
  }
}

/** Decides when a run is written again. */
async function settle(
  run: RememberedRun,
  updated: Updated,
  { runs, rows, pace }: Parts,
  now: number,
): Promise<void> {
  if (updated === 'dropped') {
    runs.release(run)
    await rows?.drop(run.kept)
    return
  }
  run.overAt = updated === 'over' ? (run.overAt ?? now) : undefined
  const isEnding = updated === 'written' && isSettled(runs.podsOf(run))
  if (isEnding) scheduleReading(run, pace, now)
  else run.readings = 0
}

function fail(run: RememberedRun, error: unknown, parts: Parts, now: number): void {
  const { runs, pace, report } = parts
  const { namespace } = run
  const message = errorMessage(error)
  report.onFailure(namespace, message)
  const isTooOld = now - run.failures.since > pace.giveUpMs
  if ((isTooOld && isSettled(runs.podsOf(run))) || isNamespaceGone(error, namespace)) {
    report.onGivenUp(namespace, message)
    release(run, parts)
    return
  }
  scheduleRetry(run, pace.writing, error instanceof ApiError ? error.retryAfterMs : 0, now)
}

/** The apiserver names the namespace that does not exist (apiserver, NamespaceLifecycle). */
function isNamespaceGone(error: unknown, namespace: string): boolean {
  return (
    isMissing(error) &&
    error instanceof ApiError &&
    error.said === `namespaces "${namespace}" not found`
  )
}

/** @returns the milliseconds until the next sweep: while there is more, it follows the next turn */
async function sweep(parts: Parts, signal: AbortSignal): Promise<number> {
  const { report, runs, rows, memory, retention, pace, clock } = parts
  const isLive = (key: string) => runs.has(key)
  let pause = pace.sweepMs
  try {
    // The index of runs says how a run ended, so its Run is ended before its rows are stored.
    if (await sweepRuns({ ...parts, isLive, signal }, Date.now())) pause = 0
  } catch (error) {
    report.onFailure('', errorMessage(error))
  }
  // While the run of a pod is not known, any run may be its one.
  rows?.sweep(
    (key) => memory.hasChanged || isLive(key),
    (clock.now() ?? Number.NEGATIVE_INFINITY) - retention.maxAgeMs,
  )
  return pause
}
