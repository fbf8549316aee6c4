import { errorMessage } from '../../../src/lib/error-message.ts'
import { minimum } from '../../../src/lib/statistics.ts'
import { hasProgress } from '../../../src/runs/top/progress-log.ts'
import { createTurns, type Turns } from '../shares.ts'
import type { KeptLogs, KeptRun } from '../storage/kept-logs.ts'
import { createThread, isOutOfMemory, type Thread, ThreadDeadlineError } from '../thread.ts'
import type { KeptLog } from './kept-log.ts'
import type { LogToRead, Look, RunToLookAt } from './progress-looks.ts'

/** Looks for runs without progress in the logs that are kept, in a thread of its own. */
export interface ProgressWatch {
  /**
   * Begins to look at the runs whose logs were all read again since the last look.
   *
   * @param runs the logs of each run
   * @returns resolves when no run is looked at any more
   */
  begin(runs: Iterable<readonly KeptLog[]>): Promise<void>
  /** Forgets the rows of a run. */
  forget(key: string): void
  /** Ends the look that goes on. */
  stop(): Promise<void>
}

export interface ProgressWatchOptions {
  readonly kept: KeptLogs
  /** The longest time of a look at a run, in milliseconds. */
  readonly lookMs: number
  /** @param sentence about processes that make no progress; undefined if there are none */
  onLook(key: string, sentence: string | undefined): void
  /** @param message why it is not known whether a run makes progress */
  onUnknown(namespace: string, message: string): void
}

/** A task for the thread. */
export interface LookTask {
  readonly run: RunToLookAt
  /** The keys of the runs whose rows are to be forgotten first. */
  readonly forgotten: readonly string[]
}

interface WatchedRun {
  readonly kept: KeptRun
  /** The time until which all logs were read, in milliseconds since 1970. */
  lookedAt: number
  /** Whether a look needs too much memory or time. The run is then not looked at any more. */
  isGivenUp: boolean
}

/** A run to look at. */
interface DueRun {
  readonly kept: KeptRun
  readonly logs: readonly KeptLog[]
  /** The time until which all logs were read, in milliseconds since 1970. */
  readonly until: number
}

interface State extends ProgressWatchOptions {
  readonly thread: Thread<LookTask, Look>
  readonly runs: Map<string, WatchedRun>
  readonly queue: Map<string, DueRun>
  /** The namespaces of the runs in the queue take turns. */
  readonly turns: Turns<KeptRun>
  /** The runs whose rows the thread may have, and that are forgotten. */
  readonly forgotten: Set<string>
  looking: Promise<void> | undefined
  isStopped: boolean
}

/** The most memory for the rows of all runs, in MiB. */
const HEAP_MIB = 160

/**
 * The logs of a run are read one after another, so their last rows are up to a minute apart. All
 * logs are therefore compared as they were when the earliest of the last readings began. The newer
 * rows are left on the volume until the next look.
 *
 * Users write the logs, so a look must not keep the archive from its other work: a look that needs
 * too much time or memory ends with its thread. The rows of the other runs are then read again.
 */
export function createProgressWatch(options: ProgressWatchOptions): ProgressWatch {
  const module = new URL('./progress-worker.ts', import.meta.url)
  const thread = createThread<LookTask, Look>(module, { heapMib: HEAP_MIB })
  const nothing = { runs: new Map(), queue: new Map(), forgotten: new Set<string>() }
  const turns = createTurns<KeptRun>(1, ({ namespace }) => namespace)
  const beginning = { ...nothing, turns, looking: undefined, isStopped: false }
  const state: State = { ...options, ...beginning, thread }
  return {
    begin(runs) {
      for (const logs of runs) enqueue(state, logs.filter(isWatched))
      state.looking ??= lookAtAll(state).finally(() => {
        state.looking = undefined
      })
      return state.looking
    },
    forget(key) {
      if (state.runs.delete(key)) state.forgotten.add(key)
      const due = state.queue.get(key)
      state.queue.delete(key)
      if (due !== undefined) state.turns.remove(due.kept)
    },
    async stop() {
      state.isStopped = true
      await thread.stop()
      await state.looking
    },
  }
}

function isWatched({ observer }: KeptLog): boolean {
  return hasProgress(observer.container)
}

function enqueue({ runs, queue, turns }: State, logs: readonly KeptLog[]): void {
  const [first] = logs
  if (first === undefined) return
  const kept = first.run
  const { key } = kept
  const known = runs.get(key)
  const until = readUntil(logs)
  if (known?.isGivenUp === true || until <= (known?.lookedAt ?? 0)) return
  turns.remove(queue.get(key)?.kept ?? kept)
  turns.add(kept)
  queue.set(key, { kept, logs, until })
}

/** Returns the time until which all logs that go on were read; 0 if one of them never was. */
function readUntil(logs: readonly KeptLog[]): number {
  return minimum(logs.filter(({ isDone }) => !isDone).map(({ readAt = 0 }) => readAt)) ?? 0
}

async function lookAtAll(state: State): Promise<void> {
  const { queue, turns, runs } = state
  for (let kept = turns.take(); kept !== undefined; kept = turns.take()) {
    const due = queue.get(kept.key)
    queue.delete(kept.key)
    if (due !== undefined && !state.isStopped) await look(state, due)
    turns.end(kept)
  }
  if (runs.size === 0) await endThread(state)
}

async function endThread({ thread, forgotten }: State): Promise<void> {
  forgotten.clear()
  await thread.stop()
}

async function look(state: State, { kept, logs, until }: DueRun): Promise<void> {
  const { runs, forgotten } = state
  const { key } = kept
  const run = runs.get(key) ?? { kept, lookedAt: 0, isGivenUp: false }
  runs.set(key, run)
  run.lookedAt = until
  const task = { run: { key, logs: logsToRead(state, logs), until }, forgotten: [...forgotten] }
  forgotten.clear()
  const found = await askThread(state, task)
  if (state.isStopped) return
  for (const large of found.tooLarge) giveUp(state, runs.get(large), 'its last rows are too large')
  // A run that was forgotten meanwhile is not reported.
  if (runs.get(key) === run && !run.isGivenUp) report(state, run, found)
}

function report(state: State, run: WatchedRun, { sentence, problem, isGivenUp }: Look): void {
  if (problem === undefined) state.onLook(run.kept.key, sentence)
  else if (isGivenUp) giveUp(state, run, problem)
  else fail(state, run.kept, problem)
}

/** The rows of other runs may have used up the memory, so a look has a second attempt without. */
async function askThread({ thread, lookMs }: State, task: LookTask): Promise<Look> {
  const ask = () => thread.ask(task, lookMs)
  return ask()
    .catch((error: unknown) => (isOutOfMemory(error) ? ask() : Promise.reject(error)))
    .catch(failedLook)
}

/** Looks no more at a run. */
function giveUp(state: State, run: WatchedRun | undefined, problem: string): void {
  if (run === undefined) return
  run.isGivenUp = true
  state.onLook(run.kept.key, undefined)
  fail(state, run.kept, problem)
}

/** A look that needs too much time or memory would need it again. */
function failedLook(error: unknown): Look {
  const isGivenUp = error instanceof ThreadDeadlineError || isOutOfMemory(error)
  const large = `its last rows need more than ${HEAP_MIB} MiB of memory`
  const problem = isOutOfMemory(error) ? large : errorMessage(error)
  return { sentence: undefined, problem, isGivenUp, tooLarge: [] }
}

function fail({ onUnknown }: State, { namespace, name }: KeptRun, message: string): void {
  onUnknown(namespace, `the Run ${name}: ${message}`)
}

/** The kubelet serves the log of the last start of a container. */
function logsToRead({ kept }: State, logs: readonly KeptLog[]): readonly LogToRead[] {
  const byContainer = Map.groupBy(logs, ({ observer: { uid, container } }) => `${uid}/${container}`)
  const last = [...byContainer.values()].flatMap((own) => own.slice(-1))
  return last.flatMap((log) => {
    const { id, run, position, isLast, isDone } = log
    if (position === undefined) return []
    const { namespace, pod, uid, node, pod_index, container } = log.observer
    const observer = { namespace, pod, uid, node, pod_index, container }
    const path = kept.pathOf(run, id)
    return [{ id, path, observer, bytes: position.bytes, isOver: isLast && isDone }]
  })
}
