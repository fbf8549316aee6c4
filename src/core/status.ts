import { ANNOTATIONS_LIMIT, STATUS_KEY } from './keys.ts'
import { type Fields, listOrNone, parseFields } from './kubernetes/json.ts'
import type { Pod } from './kubernetes/pod.ts'
import { isReason, type Reason } from './reasons.ts'
import { ascii } from './text/printable.ts'

/** The maximum size of the status annotation's value in bytes. */
export const MAX_STATUS_LENGTH = 768

/**
 * Returns the names of the observers that an earlier call of the webhook or `ridealong inject`
 * added, according to the status annotation.
 */
export function injectedBefore(annotations: Fields | undefined): readonly string[] {
  const status = readStatus(annotations)
  if (status?.outcome !== 'injected') return []
  return listOrNone(status.metrics).filter((name) => typeof name === 'string')
}

/** Returns the variables of the target that an injection added, according to the status. */
export function variablesBefore(annotations: Fields | undefined): readonly string[] {
  const { variables } = readStatus(annotations) ?? {}
  return listOrNone(variables).filter((name) => typeof name === 'string')
}

const SHARING = ['absent', 'false', 'true']

/** Returns the value that `shareProcessNamespace` had before Ridealong changed the pod. */
export function sharedBefore({ annotations, shareProcessNamespace }: SharingPod): string {
  const status = readStatus(annotations)
  const before = status?.outcome === 'injected' ? status.shareProcessNamespace : undefined
  return SHARING.find((word) => word === before) ?? shareProcessNamespace
}

type SharingPod = Pick<Pod, 'annotations' | 'shareProcessNamespace'>

/** Reads the status annotation of a pod; undefined if it is missing, invalid or too long. */
export function readStatus(annotations: Fields | undefined): Fields | undefined {
  const written = annotations?.[STATUS_KEY]
  if (typeof written !== 'string' || written.length > MAX_STATUS_LENGTH) return undefined
  return parseFields(written)
}

/** Returns the reason in a status; undefined if it has none that this version knows. */
export function reasonIn(status: Fields | undefined): Reason | undefined {
  return isReason(status?.reason) ? status.reason : undefined
}

/** Reports whether a status fits in its annotation. A status is ASCII, one byte per character. */
export function isShort(status: string): boolean {
  return status.length <= MAX_STATUS_LENGTH
}

/**
 * Returns the status of a pod that was left. The message is converted to ASCII and shortened if it
 * is too long.
 */
export function leftStatus(reason: string, message: string): string {
  const shown = ascii(message)
  const whole = JSON.stringify({ outcome: 'left', reason, message: shown })
  return isShort(whole) ? whole : cutStatus(reason, shown.slice(0, MAX_STATUS_LENGTH))
}

function cutStatus(reason: string, message: string): string {
  const status = JSON.stringify({ outcome: 'left', reason, message: `${message}...` })
  if (isShort(status)) return status
  // A character takes at most two bytes in JSON (if it is escaped). At least half as many
  // characters must therefore be removed as there are bytes in excess.
  const excess = Math.ceil((status.length - MAX_STATUS_LENGTH) / 2)
  return cutStatus(reason, message.slice(0, -excess))
}

/**
 * Reports whether a pod's annotations stay within the limit after `added` is added. Keys and values
 * are counted together, in bytes of UTF-8.
 */
export function hasRoom({ annotations, size }: AnnotatedPod, added: Fields): boolean {
  // The JSON of the pod has `size` characters, each of at most three bytes of UTF-8. Most pods
  // therefore need no exact count.
  const needed = countBytes(added)
  return (
    size * 3 + needed <= ANNOTATIONS_LIMIT ||
    needed + countBytes(annotations, added) <= ANNOTATIONS_LIMIT
  )
}

type AnnotatedPod = Pick<Pod, 'annotations' | 'size'>

/**
 * Returns the size of annotations in bytes, without the annotations that are replaced. Counting
 * stops at the limit.
 */
function countBytes(annotations: Fields | undefined, replaced: Fields = {}): number {
  let bytes = 0
  for (const key of Object.keys(annotations ?? {})) {
    if (Object.hasOwn(replaced, key)) continue
    const value = annotations?.[key]
    bytes += Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0)
    if (bytes > ANNOTATIONS_LIMIT) break
  }
  return bytes
}
