import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { systemMessage } from '../../../src/lib/error-message.ts'
import { pageUrl, type RunOfRows } from '../../../src/runs/archive/rows-path.ts'
import type { StoredRows } from '../../../src/runs/archive/stored-rows.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import type { RunPod } from '../../../src/runs/facts/pod-facts.ts'
import { createTurns, type Turns } from '../shares.ts'
import type { KeptFacts, KeptRun } from '../storage/kept-logs.ts'
import type { RunStorage } from '../storage/stored-runs.ts'
import { addFailure, type Failures, NO_FAILURES, pauseAfter } from './failures.ts'
import { createLogKeeper, type LogKeeper } from './log-keeper.ts'
import type { ArchivePace } from './pace.ts'
import { createProgressWatch, type ProgressWatch } from './progress-watch.ts'
import type { RowsReport } from './rows-report.ts'
import type { RunClient } from './run-client.ts'
import type { RunIndex } from './run-index.ts'

/** Keeps the logs of observers, and stores their rows when their run has ended. */
export interface RowsArchive {
  readonly unread: number
  /** The last failure since the last success; undefined if there is none. */
  readonly trouble: string | undefined
  /** Notes a changed pod of a run. */
  note(run: KeptRun, pod: RunPod, observers: readonly RunningObserver[]): void
  /** Reads the logs that are due, and stores the rows of these runs, which have ended. */
  takeTurn(ended: readonly KeptRun[]): void
  /** Reports whether a run that has ended has nothing more to store, or cannot store it. */
  isSettled(key: string): boolean
  /** Forgets a run. Rows that are not stored yet are stored in a sweep. */
  release(key: string): void
  /** Removes the kept logs of a run for which there will be no object Run. */
  drop(run: KeptRun): Promise<void>
  /** Notes that a run is not kept any longer. Its rows are removed in a sweep. */
  remove(run: RunOfRows): void
  /**
   * Begins to store the rows of the runs whose pods were deleted while no archive watched them, to
   * remove those that are not kept any longer, or have no Run and are too old, and to write the
   * indexes of namespaces.
   *
   * @param isLive reports whether pods of a run are remembered
   * @param before the start of the oldest run to keep, in milliseconds since 1970
   */
  sweep(isLive: (key: string) => boolean, before: number): void
  stop(): Promise<void>
}

export interface RowsArchiveOptions {
  readonly api: Apiserver
  readonly storage: RunStorage
  /** The URL at which users find the storage; undefined if there is none. */
  readonly publicUrl: string | undefined
  readonly client: RunClient
  readonly index: RunIndex
  readonly pace: ArchivePace
  readonly report: RowsReport
  /**
   * Is called after each look at the logs of a run that goes on.
   *
   * @param sentence about processes that make no progress; undefined if there are none
   */
  onProgress(key: string, sentence: string | undefined): void
}

/** A run whose rows could not be stored. */
interface Failing {
  readonly failures: Failures
  /** When it is stored again, in milliseconds since 1970. */
  readonly dueAt: number
}

interface State extends RowsArchiveOptions {
  readonly keeper: LogKeeper
  /** The runs that wait to be stored. */
  readonly turns: Turns<KeptRun>
  readonly storing: Map<string, Promise<void>>
  readonly failing: Map<string, Failing>
  /** The runs whose rows are to be removed. */
  readonly removed: Set<RunOfRows>
  /** When all rows are listed again, in milliseconds since 1970. */
  listAt: number
  /** Resolves when the last sweep has ended; undefined while there is none. */
  sweeping: Promise<void> | undefined
  /** When the indexes may be written again, in milliseconds since 1970. */
  indexAt: number
  isStopped: boolean
}

/**
 * The most runs that are stored at once. Their files are written one after another, and can wait
 * for those of a run that needs much time.
 */
const PARALLEL = 16

export function createRowsArchive(options: RowsArchiveOptions): RowsArchive {
  const { api, storage, pace, report, index } = options
  const keeper = createLogKeeper({
    api,
    kept: storage.logs,
    readMs: pace.readMs,
    readingMs: pace.readingMs,
    giveUpMs: pace.giveUpLogMs,
    failing: pace.storing,
    onFailure: report.onFailure,
  })
  const progress = startProgressWatch(options)
  const forget = (key: string) => {
    keeper.forget(key)
    progress.forget(key)
  }
  const turns = createTurns<KeptRun>(PARALLEL, ({ namespace }) => namespace)
  const state: State = { ...options, keeper, turns, ...beginning() }
  return {
    get unread() {
      return keeper.unread
    },
    get trouble() {
      return report.trouble
    },
    note(run, pod, observers) {
      if (!isStored(index, run, pod)) keeper.note(run, pod, observers)
    },
    takeTurn(ended) {
      keeper.begin()
      for (const run of ended) if (isDue(state, run.key)) state.turns.add(run)
      storeDue(state)
      progress.begin(keeper.texts())
    },
    isSettled: (key) => isSettled(state, key),
    release(key) {
      forget(key)
      state.failing.delete(key)
    },
    async drop(run) {
      forget(run.key)
      await storage.logs.remove(run)
    },
    remove: (run) => state.removed.add(run),
    sweep(isLive, before) {
      state.sweeping ??= sweep(state, isLive, before)
        .catch((error: unknown) => report.onFailure('', systemMessage(error)))
        .finally(() => {
          state.sweeping = undefined
        })
    },
    async stop() {
      state.isStopped = true
      await Promise.all([keeper.stop(), progress.stop()])
      await storage.close()
      await Promise.all([...state.storing.values(), state.sweeping])
    },
  }
}

function beginning() {
  const none = { storing: new Map(), failing: new Map(), removed: new Set<RunOfRows>() }
  return { ...none, listAt: 0, indexAt: 0, sweeping: undefined, isStopped: false }
}

/** Reports whether the rows of a pod were stored, maybe by an earlier archive. */
function isStored(index: RunIndex, run: KeptRun, pod: RunPod): boolean {
  const known = index.find(run.namespace, run.name)
  return known?.hasRows === true && (pod.ended ?? Infinity) <= (known.ended ?? 0)
}

function startProgressWatch(options: RowsArchiveOptions): ProgressWatch {
  const { storage, pace, onProgress, report } = options
  const { onUnknown } = report
  const { lookMs } = pace
  return createProgressWatch({ kept: storage.logs, lookMs, onLook: onProgress, onUnknown })
}

/** Begins to store runs, as many as may be stored at once. */
function storeDue(state: State): void {
  const { turns, keeper } = state
  for (let run = turns.take(); run !== undefined; run = turns.take()) {
    const taken = run
    const end = () => turns.end(taken)
    if (isDue(state, taken.key)) void start(state, taken, keeper.logsOf(taken.key)).finally(end)
    else end()
  }
}

function isDue({ keeper, storing, failing }: State, key: string): boolean {
  if (storing.has(key)) return false
  const isReady = keeper.isRead(key) && keeper.logsOf(key).size > 0
  return isReady && (failing.get(key)?.dueAt ?? 0) <= Date.now()
}

function isSettled({ keeper, storing, failing, pace }: State, key: string): boolean {
  if (storing.has(key)) return false
  const { since } = failing.get(key)?.failures ?? NO_FAILURES
  return keeper.logsOf(key).size === 0 || Date.now() - since > pace.giveUpMs
}

/**
 * Begins to store a run, which is not stored a second time meanwhile.
 *
 * @param logs those of its pods that were watched
 */
function start(state: State, run: KeptRun, logs: ReadonlyMap<string, KeptFacts>): Promise<void> {
  const { storing, keeper, failing } = state
  const settle = () => {
    failing.delete(run.key)
    keeper.settle(run.key, logs.keys())
  }
  const task = store(state, run, logs)
    .then(settle, (error: unknown) => fail(state, run, error))
    .finally(() => storing.delete(run.key))
  storing.set(run.key, task)
  return task
}

/** Writes the rows of a run, says in its Run where they are, and removes the logs. */
async function store(
  { storage, client, report, publicUrl, keeper }: State,
  run: KeptRun,
  logs: ReadonlyMap<string, KeptFacts>,
): Promise<void> {
  const kept = await readUnwatched(storage, run)
  // A run can get new pods while it is stored: their logs are stored later.
  const findNew = () => [...keeper.logsOf(run.key).keys()].filter((id) => !logs.has(id))
  const added = new Set(findNew())
  const all = new Map([...[...kept].filter(([id]) => !added.has(id)), ...logs])
  // An archive that was killed before it kept the first log has left an empty folder.
  if (all.size > 0) {
    const card = await client.readCard(run)
    const rows = await storage.store({ run, logs: all, card })
    await client.writeRows(run, rows, urlOf(rows, publicUrl))
  }
  // All logs of a run are in one folder.
  if (findNew().length === 0) await storage.logs.remove(run)
  report.onStored()
}

function urlOf({ path, hasPage }: StoredRows, publicUrl: string | undefined): string | undefined {
  if (path === null || !hasPage || publicUrl === undefined) return undefined
  return pageUrl(publicUrl, path)
}

const UNWATCHED = 'the archive did not run when its container ended'

/** Reads the facts about the logs that an earlier archive has kept. */
async function readUnwatched(
  storage: RunStorage,
  run: KeptRun,
): Promise<ReadonlyMap<string, KeptFacts>> {
  const kept = await storage.logs.read(run)
  const asUnwatched = (facts: KeptFacts): KeptFacts => {
    return facts.isDone ? facts : { ...facts, isDone: true, problem: UNWATCHED }
  }
  return new Map([...kept].map(([id, facts]) => [id, asUnwatched(facts)]))
}

function fail(state: State, { key, namespace, name }: KeptRun, error: unknown): void {
  const { failing, pace, report, isStopped } = state
  // An archive that stops ends the requests to a bucket.
  if (isStopped) return
  const now = Date.now()
  const failures = addFailure(failing.get(key)?.failures ?? NO_FAILURES, now)
  failing.set(key, { failures, dueAt: now + pauseAfter(failures, pace.storing) })
  report.onFailure(namespace, `the rows of the Run ${name}: ${systemMessage(error)}`)
}

async function sweep(
  state: State,
  isLive: (key: string) => boolean,
  before: number,
): Promise<void> {
  const { storage, storing, report } = state
  for (const run of await storage.logs.list()) {
    if (isLive(run.key) || storing.has(run.key) || state.isStopped) continue
    await start(state, run, new Map())
    state.failing.delete(run.key)
  }
  await removeRows(state, before).then(report.onSwept, (error: unknown) => {
    if (!state.isStopped) report.onSweepFailure(systemMessage(error))
  })
  if (!state.isStopped) await writeIndexes(state)
}

/** Removes the rows that are not kept any longer, and from time to time those without a Run. */
async function removeRows(state: State, before: number): Promise<void> {
  const { storage, removed, index, pace } = state
  const runs = [...removed]
  await storage.remove(runs)
  for (const run of runs) removed.delete(run)
  if (Date.now() < state.listAt) return
  await storage.removeOthers(index.all(), before)
  state.listAt = Date.now() + pace.listRowsMs
}

/** While Runs are deleted, sweeps follow each other, and an index is not written each time. */
async function writeIndexes(state: State): Promise<void> {
  const { storage, report, pace } = state
  if (Date.now() < state.indexAt) return
  await storage.writeIndexes(Date.now()).then(report.onIndexed, (error: unknown) => {
    if (!state.isStopped) report.onIndexFailure(systemMessage(error))
  })
  state.indexAt = Date.now() + pace.sweepMs
}
