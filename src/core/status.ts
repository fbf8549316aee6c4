import { ANNOTATIONS_LIMIT, STATUS_KEY } from './keys.ts'
import { asObjects, asText, type Fields, listOrNone, parseFields } from './kubernetes/json.ts'
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

/** A metric that an injected pod lacks, as the status annotation records it. */
export interface LackedMetric {
  /** The requested name. It may be any text, if no metric of the catalog has it. */
  readonly metric: string
  readonly reason: Reason
  /** Undefined if the status had no room for it. */
  readonly message: string | undefined
}

/** Returns the metrics that a pod lacks, according to the status of an injected pod. */
export function lackedIn(status: Fields | undefined): readonly LackedMetric[] {
  if (status?.outcome !== 'injected') return []
  return asObjects(status.left).flatMap(({ metric, reason, message }) => {
    const name = asText(metric)
    return name !== undefined && isReason(reason)
      ? [{ metric: name, reason, message: asText(message) }]
      : []
  })
}

/** Describes a metric that a pod lacks, with the reason. */
export function describeLacked({ metric, reason, message }: LackedMetric): string {
  return `without ${metric}: ${[reason, ...(message === undefined ? [] : [message])].join(': ')}`
}

/** Reports whether a status fits in its annotation. A status is ASCII, one byte per character. */
export function isShort(status: string): boolean {
  return status.length <= MAX_STATUS_LENGTH
}

/**
 * Returns the status of an injected pod: the fields, and the metrics that were left. Until the
 * status is short enough and `fits`, the messages of these metrics are shortened, and then metrics
 * are omitted from the end. Returns undefined if it does not fit without them either.
 */
export function injectedStatus(
  fields: Fields,
  left: readonly LackedMetric[],
  fits: (status: string) => boolean = () => true,
): string | undefined {
  for (const shown of shorten(left)) {
    const status = JSON.stringify(shown.length > 0 ? { ...fields, left: shown } : fields)
    if (isShort(status) && fits(status)) return status
  }
  return undefined
}

/** The minimum length of a shortened message; shorter messages are omitted. */
const MIN_MESSAGE_LENGTH = 48

/** Yields shorter and shorter descriptions of left metrics; the last has no metric. */
function* shorten(left: readonly LackedMetric[]): Iterable<readonly Partial<LackedMetric>[]> {
  const longest = left.length > 0 ? MAX_STATUS_LENGTH : 0
  for (let most = longest; most >= MIN_MESSAGE_LENGTH; most = Math.floor(most * 0.8))
    yield left.map((each) => ({ ...each, message: each.message && ascii(each.message, most) }))
  for (let count = left.length; count >= 0; count -= 1)
    yield left.slice(0, count).map(({ metric, reason }) => ({ metric, reason }))
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
