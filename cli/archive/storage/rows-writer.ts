import { createThread, isOutOfMemory } from '../thread.ts'
import type { RunToWrite, WrittenRows } from './write-run.ts'

/** Writes the rows and the pages of runs. Both functions throw errors of the system. */
export interface RowsWriter {
  /** Returns the rows that were written, or a sentence if the run is too large. */
  rows(run: RunToWrite): Promise<WrittenRows | string>
  /** Returns a sentence if the run is too large; otherwise undefined. */
  page(run: RunToWrite): Promise<string | undefined>
  close(): Promise<void>
}

/** The most memory for the objects of one run, in MiB. */
const HEAP_MIB = 224

type Task = 'rows' | 'page'

/** A task for the thread. */
export interface RowsTask {
  readonly task: Task
  readonly run: RunToWrite
}

/** The result of a task. */
export type RowsAnswer = { readonly written: WrittenRows | undefined } | { readonly error: string }

/**
 * Starts a writer, which handles one run at a time in a thread of its own: the archive can answer
 * while a large run is written, and a run that needs too much memory ends the thread and not the
 * archive. The thread ends when there is nothing to write.
 */
export function createRowsWriter(): RowsWriter {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const module = new URL('./rows-worker.ts', import.meta.url)
  const thread = createThread<RowsTask, RowsAnswer>(module, { heapMib: HEAP_MIB })
  const handle = async (message: RowsTask) => {
    const answer = await thread.ask(message)
    if ('error' in answer) throw new Error(answer.error)
    return answer.written
  }
  const enqueue = (task: Task, run: RunToWrite) => {
    waiting += 1
    const result = last.then(() => handle({ task, run }))
    last = result.then(ignore, ignore).then(async () => {
      waiting -= 1
      if (waiting === 0) await thread.stop()
    })
    return result
  }
  return {
    rows: (run) => enqueue('rows', run).then(mustBeWritten).catch(tooLarge('the rows were')),
    page: (run) =>
      enqueue('page', run)
        .then(() => undefined)
        .catch(tooLarge('the page was')),
    close: thread.stop,
  }
}

function ignore(): void {}

function mustBeWritten(written: WrittenRows | undefined): WrittenRows {
  if (written === undefined) throw new Error('the rows were not written')
  return written
}

/** Returns a function for use in `catch`, which returns a sentence if memory was short. */
function tooLarge(what: string): (error: unknown) => string {
  return (error) => {
    if (!isOutOfMemory(error)) throw error
    return `${what} not made: that needs more than ${HEAP_MIB} MiB of memory`
  }
}
