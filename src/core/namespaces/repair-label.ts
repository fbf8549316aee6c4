import { ARMED_LABEL, MOVED_FROM_LABEL } from '../keys.ts'
import { asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { requestsMetrics } from '../request.ts'
import { relabel } from './arm-namespace.ts'
import { readNamespace } from './namespace.ts'
import { endsMove, readRevision } from './revision.ts'

/**
 * A repair of the labels of a namespace. `armed` and `disarmed`: the namespace was changed without
 * a review by the webhook, so its label `ridealong.dev/armed` is wrong. `settled`: the namespace
 * was moved to another release a while ago, so its label `ridealong.dev/moved-from` is removed.
 */
export interface Rearming {
  readonly outcome: 'armed' | 'disarmed' | 'settled'
  /** A JSON merge patch (RFC 7386) for the Namespace. */
  readonly patch: Fields
}

/** The part of the namespaces that a release handles, and the state of a namespace's move. */
export interface RepairSettings {
  readonly excludedNamespaces: ReadonlySet<string>
  /** The revision of this release; undefined for the default release. */
  readonly revision?: string | undefined
  /** Whether the label `ridealong.dev/moved-from` was set long enough. */
  readonly isMoveOver?: boolean | undefined
}

/**
 * Decides whether a label on a namespace must be repaired.
 *
 * The patch contains the resourceVersion on which the decision is based. If the namespace has
 * changed since then, for example because another replica repaired the label, the apiserver returns
 * a conflict and changes nothing.
 *
 * @returns undefined if the labels are correct, if another release handles the namespace, or if the
 * administrator excludes the namespace
 */
export function rearm(
  object: unknown,
  { excludedNamespaces, revision, isMoveOver }: RepairSettings,
): Rearming | undefined {
  const metadata = fieldsOrNone(fieldsOrNone(object).metadata)
  const name = asText(metadata.name) ?? ''
  if (excludedNamespaces.has(name)) return undefined
  const arming = readRevision(object) === revision ? findArming(name, object) : undefined
  const settling = isMoveOver ? findMark(object, revision) : undefined
  if ((arming ?? settling) === undefined) return undefined
  const { resourceVersion } = metadata
  const labels = { ...settling, ...(arming && ARMING_LABELS[arming]) }
  return { outcome: arming ?? 'settled', patch: { metadata: { resourceVersion, labels } } }
}

/** Returns the removal of the label `ridealong.dev/moved-from`, if this release may remove it. */
function findMark(object: unknown, revision: string | undefined): Fields | undefined {
  return endsMove(object, revision) ? { [MOVED_FROM_LABEL]: null } : undefined
}

const ARMING_LABELS = {
  armed: { [ARMED_LABEL]: 'true' },
  disarmed: { [ARMED_LABEL]: null },
} as const

/** Returns the repair of the label `ridealong.dev/armed`; undefined if the label is correct. */
function findArming(name: string, object: unknown): 'armed' | 'disarmed' | undefined {
  const isAsking = requestsMetrics(readNamespace(name, object).annotations)
  if (relabel(object, isAsking).length === 0) return undefined
  return isAsking ? 'armed' : 'disarmed'
}
