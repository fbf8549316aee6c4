import type { Catalog } from '../../src/core/catalog.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { readPod } from '../../src/core/kubernetes/pod.ts'
import type { Review } from '../../src/core/review.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { pauseInBackground } from '../../src/lib/pause.ts'
import { redactReview } from '../../src/pods/recording/redact.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import type { CaseFolder } from './record-files.ts'

export interface RecordingOptions {
  readonly folder: CaseFolder
  /** The catalog of the observers whose command and args are not redacted. */
  readonly catalog: Catalog
  /** The number of written cases after which the recording ends. */
  readonly count: number
  /** Reads a namespace and its objects. */
  read(namespace: string): Promise<readonly Fields[]>
  print(line: string): void
  note(line: string): void
  /** Called when `count` cases are written, or with an error, after which nothing is recorded. */
  end(trouble?: unknown): void
}

/** A recording of reviews. */
export interface Recording {
  /** Adds a review to the recording. Answer the review only after the promise resolves. */
  take(review: Review, body: Fields): Promise<void>
  /**
   * Waits until all reviews are written.
   *
   * @returns the number of written cases
   * @throws UsageError with the error that prevented reading or writing
   */
  finish(): Promise<number>
}

/**
 * The maximum delay of the first pod of a namespace, in milliseconds, while the namespace is read.
 * The recorded ResourceQuotas must not count the pod yet, because the decision depends on the usage
 * without the pod.
 */
const READ_MS = 200

/** Records reviews one after another, in the order of their arrival. */
export function startRecording(options: RecordingOptions): Recording {
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
      await Promise.race([reading, pauseInBackground(READ_MS)])
    },
    async finish() {
      await writing
      if (trouble !== undefined) throw trouble
      return written
    },
  }
}

/**
 * Reads a namespace, unless the folder already contains the Namespace. A Namespace in the folder
 * belongs to existing cases and is kept.
 */
async function readOnce(
  name: string,
  { folder, note, read }: RecordingOptions,
): Promise<readonly Fields[]> {
  if (folder.hasNamespace(name)) {
    note(`Namespace ${name} is in the folder already and is not changed`)
    return []
  }
  return read(name).catch((error: unknown) => {
    throw new UsageError(`cannot read namespace ${name}: ${errorMessage(error)}`)
  })
}

/**
 * The maximum length of a name, in bytes. File systems allow 255 bytes; the rest is reserved for a
 * suffix that makes the name unique.
 */
const MAX_LENGTH = 100

/**
 * Returns the name of the test case for a review, made from the kind of the pod's owner and the
 * name of the pod: `job-indexed-0`, `pod-bare`. The apiserver has not validated the name of the pod
 * yet. The result contains only lower-case letters, digits and hyphens, which are safe in shells
 * and file systems.
 */
export function caseName(review: Review): string {
  const pod = readPod(review.object)
  const kind = ('owner' in pod ? pod.owner?.kind : undefined) ?? 'pod'
  return `${kind}-${review.name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '')
}
