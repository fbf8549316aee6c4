import { stat } from 'node:fs/promises'
import { sumBy } from '../../../src/lib/statistics.ts'
import { createTurns } from '../shares.ts'
import { createThread, isOutOfMemory, ThreadDeadlineError } from '../thread.ts'
import type { RunToWrite, WrittenRows } from './write-run.ts'

/** Writes the rows and the pages of runs. Both functions throw errors of the system. */
export interface RowsWriter {
  /** Returns the rows that were written, or a sentence if the run needs too much memory or time. */
  rows(run: RunToWrite): Promise<WrittenRows | string>
  /** Returns a sentence if the run needs too much memory or time; otherwise undefined. */
  page(run: RunToWrite): Promise<string | undefined>
  close(): Promise<void>
}

/** A task for a thread. */
export interface RowsTask {
  readonly task: 'rows' | 'page'
  readonly run: RunToWrite
}

/** The result of a task. */
export type RowsAnswer = { readonly written: WrittenRows | undefined } | { readonly error: string }

/** The memory and the time of a task. */
export interface TaskLimits {
  /** The most memory for its objects, in MiB. */
  readonly heapMib: number
  /** The longest time in milliseconds, and the time that each MiB of the logs adds to it. */
  readonly ms: number
  readonly msPerMib: number
}

/** Most runs need less: 20 MiB of rows of vitals took 2.8 s, and their page 2.4 s. */
const FIRST: TaskLimits = { heapMib: 96, ms: 5000, msPerMib: 0 }
const SECOND: TaskLimits = { heapMib: 224, ms: 60_000, msPerMib: 1000 }

export interface WriterOptions {
  /** The module of the threads. */
  readonly module: URL
  /** The limits of the first and the second attempt. */
  readonly first: TaskLimits
  readonly second: TaskLimits
}

const OPTIONS: WriterOptions = {
  module: new URL('./rows-worker.ts', import.meta.url),
  first: FIRST,
  second: SECOND,
}

/**
 * Starts a writer, which writes runs in threads: the archive can answer meanwhile, and a run that
 * needs too much memory or time ends its thread and not the archive.
 *
 * Users write the logs, so one run can need far more than others. It must not keep them waiting: a
 * run that exceeds the limits of the first attempt gets a second one, with higher limits, in
 * another thread. In each thread, the namespaces take turns.
 */
export function createRowsWriter({ module, first, second } = OPTIONS): RowsWriter {
  const [quick, slow] = [startLane(module, first), startLane(module, second)]
  const write = async (message: RowsTask) => {
    const secondTry = (error: unknown) => {
      if (!needsMore(error)) throw error
      return slow.ask(message)
    }
    const answer = await quick.ask(message).catch(secondTry)
    if ('error' in answer) throw new Error(answer.error)
    return answer.written
  }
  return {
    rows: (run) =>
      write({ task: 'rows', run }).then(mustBeWritten).catch(tooLarge('the rows were', second)),
    page: (run) =>
      write({ task: 'page', run })
        .then(() => undefined)
        .catch(tooLarge('the page was', second)),
    async close() {
      await Promise.all([quick.close(), slow.close()])
    },
  }
}

/** A task that waits for its turn. */
interface Waiting {
  readonly namespace: string
  start(): Promise<void>
}

/** Starts a thread for one task at a time. The thread ends when there is nothing to do. */
function startLane(module: URL, limits: TaskLimits) {
  const thread = createThread<RowsTask, RowsAnswer>(module, limits)
  const turns = createTurns<Waiting>(1, ({ namespace }) => namespace)
  let isClosed = false
  const ask = async (message: RowsTask) => {
    if (isClosed) throw new Error('the writer of rows was stopped')
    return thread.ask(message, await deadlineOf(message.run, limits))
  }
  const takeTurn = () => {
    const next = turns.take()
    if (next === undefined) return
    void next.start().finally(() => {
      turns.end(next)
      takeTurn()
      if (turns.used === 0) void thread.stop()
    })
  }
  return {
    ask: (message: RowsTask) =>
      new Promise<RowsAnswer>((resolve, reject) => {
        const namespace = message.run.logs[0]?.observer.namespace ?? ''
        turns.add({ namespace, start: () => ask(message).then(resolve, reject) })
        takeTurn()
      }),
    async close() {
      isClosed = true
      await thread.stop()
    },
  }
}

/** Returns the longest time of a task, in milliseconds. */
async function deadlineOf({ logs }: RunToWrite, { ms, msPerMib }: TaskLimits): Promise<number> {
  if (msPerMib === 0) return ms
  const sizes = logs.map(({ file }) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    ),
  )
  const bytes = sumBy(await Promise.all(sizes), (size) => size)
  return ms + Math.ceil(bytes / 2 ** 20) * msPerMib
}

function needsMore(error: unknown): boolean {
  return error instanceof ThreadDeadlineError || isOutOfMemory(error)
}

function mustBeWritten(written: WrittenRows | undefined): WrittenRows {
  if (written === undefined) throw new Error('the rows were not written')
  return written
}

/** Returns a function for use in `catch`, which returns a sentence if memory or time was short. */
function tooLarge(what: string, { heapMib }: TaskLimits): (error: unknown) => string {
  return (error) => {
    if (isOutOfMemory(error))
      return `${what} not made: that needs more than ${heapMib} MiB of memory`
    if (error instanceof ThreadDeadlineError)
      return `${what} not made: that needs more than ${error.ms / 1000} s`
    throw error
  }
}
