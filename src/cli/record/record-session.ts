import { setTimeout as sleep } from 'node:timers/promises'
import type { Catalog } from '../../core/catalog.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import type { Review } from '../../core/review.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { caseName } from '../../recording/case-name.ts'
import { redactReview } from '../../recording/redact.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import type { CaseFolder } from './record-files.ts'

export interface SessionOptions {
  readonly folder: CaseFolder
  /** Whose observers keep their command and args. */
  readonly catalog: Catalog
  /** Ends the session when so many are written. */
  readonly count: number
  /** Reads a namespace and what is in it. */
  read(namespace: string): Promise<readonly Fields[]>
  print(line: string): void
  say(sentence: string): void
  /** Called when there are enough, or with what stands in the way. */
  end(trouble?: unknown): void
}

/** What is being recorded. */
export interface Session {
  /** Takes a review; the apiserver may have its answer when it resolves. */
  take(review: Review, body: Fields): Promise<void>
  /**
   * Waits until what was taken is written.
   *
   * @returns how many there are
   * @throws UsageError with what could not be read or written
   */
  finish(): Promise<number>
}

/**
 * The first pod of a namespace waits for so long until that is read: the ResourceQuotas there are about to
 * count the pod, and an answer depends on what they had counted before it.
 */
const READ_MS = 200

/** Records reviews one after the other, in the order in which they came. */
export function startSession(options: SessionOptions): Session {
  const { folder, catalog, count, print, end } = options
  const namespaces = new Map<string, Promise<readonly Fields[]>>()
  let taken = 0
  let written = 0
  let trouble: unknown
  let writing = Promise.resolve()
  const read = (name: string) => {
    const reading = namespaces.get(name) ?? readOnce(name, options)
    namespaces.set(name, reading)
    return reading
  }
  const fail = (error: unknown) => {
    trouble = error
    end(error)
  }
  const write = async (review: Review, body: Fields) => {
    if (trouble !== undefined) return
    const objects = await read(review.namespace)
    await folder.addNamespace(review.namespace, objects).catch(usageError)
    const name = await folder
      .addCase(caseName(review), redactReview(body, catalog))
      .catch(usageError)
    written += 1
    print(`${name}: pod ${review.name} in ${review.namespace}`)
    if (written === count) end()
  }
  return {
    async take(review, body) {
      if (taken === count) return
      taken += 1
      const reading = read(review.namespace).catch(() => {})
      writing = writing.then(() => write(review, body)).catch(fail)
      await Promise.race([reading, sleep(READ_MS, undefined, { ref: false })])
    },
    async finish() {
      await writing
      if (trouble !== undefined) throw trouble
      return written
    },
  }
}

/** A Namespace that the folder has already decides its other cases, and stays. */
async function readOnce(
  name: string,
  { folder, say, read }: SessionOptions,
): Promise<readonly Fields[]> {
  if (folder.hasNamespace(name)) {
    say(`the folder has Namespace ${name} already, which stays as it is`)
    return []
  }
  return read(name).catch((error: unknown) => {
    throw new UsageError(`cannot read namespace ${name}: ${errorMessage(error)}`)
  })
}
