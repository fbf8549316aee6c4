import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** A thread that answers one message at a time, and keeps what it knows between them. */
export interface Thread<Message, Answer> {
  /**
   * Sends a message, and starts the thread if it does not run. If this fails, the thread has ended,
   * and the next message starts another one.
   *
   * @param deadlineMs the longest time until the answer, in milliseconds
   * @throws ThreadDeadlineError after the deadline; the error of a thread that has failed or needs
   * too much memory; an error if the thread was stopped
   */
  ask(message: Message, deadlineMs?: number): Promise<Answer>
  /** Ends the thread, also while it answers. */
  stop(): Promise<void>
}

/** A thread has not answered until its deadline. */
export class ThreadDeadlineError extends Error {
  override readonly name = 'ThreadDeadlineError'
  /** The deadline in milliseconds. */
  readonly ms: number

  constructor(ms: number) {
    super(`the thread has not answered for ${ms / 1000} s`)
    this.ms = ms
  }
}

/** Reports whether a thread has ended because it needed more memory than it may have. */
export function isOutOfMemory(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/**
 * Returns a thread, which is not started yet.
 *
 * @param module answers each message of `parentPort` with one message
 * @param heapMib the most memory for its objects, in MiB
 */
export function createThread<Message, Answer>(
  module: URL,
  { heapMib }: { readonly heapMib: number },
): Thread<Message, Answer> {
  let worker: Worker | undefined
  const stop = async () => {
    const before = worker
    worker = undefined
    await before?.terminate()
  }
  return {
    stop,
    async ask(message, deadlineMs) {
      worker ??= startWorker(module, heapMib)
      try {
        return (await askWorker(worker, message, deadlineMs)) as Answer
      } catch (error) {
        await stop()
        throw error
      }
    },
  }
}

function startWorker({ href }: URL, heapMib: number): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 16 }
  // In the built command, the module is beside this one, and its name ends in .mjs.
  const isBuilt = import.meta.url.endsWith('.mjs')
  const module = new URL(isBuilt ? href.replace(/\.ts$/, '.mjs') : href)
  // Without a listener, an error of the thread would end the archive.
  return new Worker(module, { resourceLimits }).on('error', () => {})
}

/** Only the listeners of this message are removed: without those of Node, no answer arrives. */
async function askWorker(
  worker: Worker,
  message: unknown,
  deadlineMs: number | undefined,
): Promise<unknown> {
  const ended = new AbortController()
  const { signal } = ended
  const answered = once(worker, 'message', { signal }).then(([answer]) => answer)
  const stopped = once(worker, 'exit', { signal }).then((): never => {
    throw new Error('the thread was stopped')
  })
  const late = deadlineMs === undefined ? [] : [failAfter(deadlineMs, signal)]
  worker.postMessage(message)
  return Promise.race([answered, stopped, ...late]).finally(() => ended.abort())
}

async function failAfter(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { signal })
  throw new ThreadDeadlineError(ms)
}
