import { createHash } from 'node:crypto'
import { attemptName } from '../log/attempt.ts'
import type { ObservedPods } from '../log/entry.ts'
import type { LogFormat } from '../log/transcribe.ts'
import { describeObserver } from './gather.ts'
import type { RunningObserver } from './observers.ts'

/** The maximum length of the name of a log's file without extensions. A name has 255 bytes. */
const MAX_NAME_LENGTH = 220

/**
 * Returns the name of a log's file without the extension. Kubernetes names contain no slash. A name
 * that is too long for a file ends with a hash.
 */
export function logName({
  pod,
  container,
  attempt,
}: Pick<RunningObserver, 'pod' | 'container' | 'attempt'>): string {
  const name = attemptName(`${pod}.${container}`, '.', attempt)
  if (name.length <= MAX_NAME_LENGTH) return name
  const hash = hashOf(name)
  return `${name.slice(0, MAX_NAME_LENGTH - hash.length - 1)}-${hash}`
}

/**
 * Returns the hash of everything except the log and its pod that determines the text of a file. If
 * it has changed since an earlier run, the log is collected again.
 *
 * @param descriptions the descriptions of the rows of the catalog's metrics
 */
export function hashFormat(
  form: LogFormat,
  header: string,
  descriptions: ReadonlyMap<string, unknown>,
): string {
  return hashOf(form === 'logs' ? [form] : [form, header, [...descriptions]])
}

/** Returns the hash of the facts about a pod that are in the file of its log. */
export function hashFacts(
  form: LogFormat,
  observer: RunningObserver,
  observedPods: ObservedPods | null,
): string {
  if (form === 'logs') return hashOf([])
  return hashOf([describeObserver(observer), observer.message, observedPods])
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
