import { ANNOTATIONS_LIMIT, STATUS_KEY } from './keys.ts'
import { asFields, type Fields, listOrNone } from './kubernetes/json.ts'
import type { Pod } from './kubernetes/pod.ts'
import { ascii } from './text/printable.ts'

/** The most bytes that the status annotation takes. */
const LONGEST_STATUS = 512

/** The names of the observers that an earlier round of admission added, by the pod's own status. */
export function injectedBefore(annotations: Fields | undefined): readonly string[] {
  const status = readStatus(annotations)
  if (status?.outcome !== 'injected') return []
  return listOrNone(status.metrics).filter((name) => typeof name === 'string')
}

const SHARING = ['absent', 'false', 'true']

/** What the pod said of its process namespace before the first round, if there was one. */
export function sharedBefore({ annotations, shareProcessNamespace }: SharingPod): string {
  const status = readStatus(annotations)
  const before = status?.outcome === 'injected' ? status.shareProcessNamespace : undefined
  return SHARING.find((word) => word === before) ?? shareProcessNamespace
}

type SharingPod = Pick<Pod, 'annotations' | 'shareProcessNamespace'>

/** The status that a pod carries, read; nothing where there is none that holds. */
export function readStatus(annotations: Fields | undefined): Fields | undefined {
  const written = annotations?.[STATUS_KEY]
  if (typeof written !== 'string' || written.length > LONGEST_STATUS) return undefined
  try {
    return asFields(JSON.parse(written))
  } catch {
    return undefined
  }
}

/** Whether a status has room in its annotation. All that is written in one is ASCII. */
export function isShort(status: string): boolean {
  return status.length <= LONGEST_STATUS
}

/** The status of a pod that was left, its message in ASCII and cut where it is too long. */
export function leftStatus(reason: string, message: string): string {
  const shown = ascii(message)
  const whole = JSON.stringify({ outcome: 'left', reason, message: shown })
  return isShort(whole) ? whole : cutStatus(reason, shown.slice(0, LONGEST_STATUS))
}

function cutStatus(reason: string, message: string): string {
  const status = JSON.stringify({ outcome: 'left', reason, message: `${message}...` })
  if (isShort(status)) return status
  // A character takes one place, two when escaped: so never more is cut than must be.
  const excess = Math.ceil((status.length - LONGEST_STATUS) / 2)
  return cutStatus(reason, message.slice(0, -excess))
}

/** Whether a pod's annotations still fit with others added: bytes of UTF-8, keys and values together. */
export function hasRoom({ annotations, size }: AnnotatedPod, added: Fields): boolean {
  // No character of JSON takes more than three bytes of UTF-8: most pods need no closer look.
  const needed = countBytes(added)
  return (
    size * 3 + needed <= ANNOTATIONS_LIMIT ||
    needed + countBytes(annotations, added) <= ANNOTATIONS_LIMIT
  )
}

type AnnotatedPod = Pick<Pod, 'annotations' | 'size'>

/** The bytes of annotations, without those that are replaced; counted no further than the limit. */
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
