import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { systemMessage } from '../../../src/lib/error-message.ts'
import { descriptionsIn } from '../../../src/runs/log/descriptions.ts'
import { VOLUME_FILES } from './volume-files.ts'
import { type RunToWrite, type WrittenRows, writePage, writeRows } from './write-run.ts'

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

interface Message {
  readonly task: Task
  readonly run: RunToWrite
}

type Answer = { readonly written: WrittenRows | undefined } | { readonly error: string }

/**
 * Starts a writer, which handles one run at a time in a thread of its own: the archive can answer
 * while a large run is written, and a run that needs too much memory ends the thread and not the
 * archive. The thread ends when there is nothing to write.
 */
export function createRowsWriter(): RowsWriter {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let worker: Worker | undefined
  const stop = async () => {
    const before = worker
    worker = undefined
    await before?.terminate()
  }
  const handle = async (message: Message) => {
    worker ??= startWorker()
    const answer = await askWorker(worker, message).catch(async (error: unknown) => {
      await stop()
      throw error
    })
    if ('error' in answer) throw new Error(answer.error)
    return answer.written
  }
  const enqueue = (task: Task, run: RunToWrite) => {
    waiting += 1
    const result = last.then(() => handle({ task, run }))
    last = result.then(ignore, ignore).then(async () => {
      waiting -= 1
      if (waiting === 0) await stop()
    })
    return result
  }
  return {
    rows: (run) => enqueue('rows', run).then(mustBeWritten).catch(tooLarge('the rows were')),
    page: (run) =>
      enqueue('page', run)
        .then(() => undefined)
        .catch(tooLarge('the page was')),
    close: stop,
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
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
    return `${what} not made: that needs more than ${HEAP_MIB} MiB of memory`
  }
}

function startWorker(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 16 }
  const worker = new Worker(new URL(import.meta.url), { workerData: WRITER, resourceLimits })
  // Without a listener, an error of the thread would end the archive.
  return worker.on('error', ignore)
}

/** Only the listeners of this message are removed: without those of Node, no answer arrives. */
async function askWorker(worker: Worker, message: Message): Promise<Answer> {
  const ended = new AbortController()
  const { signal } = ended
  const answered = once(worker, 'message', { signal }).then(([answer]) => answer as Answer)
  const stopped = once(worker, 'exit', { signal }).then((): never => {
    throw new Error('the writer was stopped')
  })
  worker.postMessage(message)
  return Promise.race([answered, stopped]).finally(() => ended.abort())
}

const WRITER = 'rows-writer'

async function answer({ task, run }: Message): Promise<Answer> {
  try {
    const descriptions = descriptionsIn(await loadCatalog({}))
    if (task === 'rows') return { written: await writeRows(VOLUME_FILES, run, descriptions) }
    await writePage(VOLUME_FILES, run, descriptions)
    return { written: undefined }
  } catch (error) {
    return { error: systemMessage(error) }
  }
}

if (!isMainThread && workerData === WRITER)
  parentPort?.on('message', async (message: Message) =>
    parentPort?.postMessage(await answer(message)),
  )
