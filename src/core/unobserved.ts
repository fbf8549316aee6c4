import { alterations } from './alterations.ts'
import { askedAtBirth } from './asked-at-birth.ts'
import { type Fields, fieldsOf, fieldsOrNone, listOrNone, textOf } from './json.ts'
import { KEYS, MIRROR_KEY, STATUS_KEY } from './keys.ts'
import type { Namespace } from './namespace.ts'
import { asks, readAnnotations } from './request.ts'
import { hasRoom, injectedBefore, readStatus } from './status.ts'

/** Why a pod that asked is there without its observers, no wish of its author's, and the reason of the Event. */
export const UNOBSERVED = {
  unanswered: 'NotObserved',
  altered: 'ObserverAltered',
  'observer-unavailable': 'ObserverUnavailable',
} as const satisfies Record<string, string>

export type UnobservedReason = keyof typeof UNOBSERVED

/** An object that an Event is about (core/v1 ObjectReference). */
export interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** A pod that was found to be there without its observers. */
export interface Unobserved {
  readonly reason: UnobservedReason
  /** What is known beyond the reason; empty where it says all. */
  readonly detail: string
  readonly namespace: string
  readonly pod: string
  /** When the pod was created: RFC 3339. */
  readonly created: string
  /** The pod's controller, or the pod where it has none. */
  readonly regarding: Reference
}

/**
 * Decides whether a pod that is there asked for observers, when it was created, and has none: nobody
 * answered, another webhook altered what was added, or no node had the image. Where in doubt, it did not.
 *
 * @param object a Pod as the apiserver serves it
 */
export function unobserved(
  object: Fields,
  namespace: Namespace,
  excludedNamespaces: ReadonlySet<string>,
): Unobserved | undefined {
  if (excludedNamespaces.has(namespace.name)) return undefined
  const metadata = fieldsOrNone(object.metadata)
  const annotations = fieldsOrNone(metadata.annotations)
  if (annotations[MIRROR_KEY] !== undefined) return undefined
  const own = readAnnotations(annotations)
  const asker = own.has(KEYS.inject) ? own : namespace.annotations
  if (!asks(asker)) return undefined
  const why = hasAnswer(annotations) ? readAnswer(object) : missed(object, namespace)
  return why && { ...why, ...identify(metadata, namespace.name) }
}

type Why = Pick<Unobserved, 'reason' | 'detail'>

/** Any at all: what a pod's status says, its author may have written. */
function hasAnswer(annotations: Fields): boolean {
  return (textOf(annotations[STATUS_KEY]) ?? '') !== ''
}

function readAnswer({ metadata, spec }: Fields): Why | undefined {
  const annotations = fieldsOf(fieldsOrNone(metadata).annotations)
  const status = readStatus(annotations)
  if (status?.outcome === 'left' && status.reason === 'observer-unavailable')
    return { reason: 'observer-unavailable', detail: textOf(status.message) ?? '' }
  const metrics = injectedBefore(annotations)
  const problems = metrics.length === 0 ? [] : alterations(fieldsOrNone(spec), metrics)
  return problems.length === 0 ? undefined : { reason: 'altered', detail: problems.join('; ') }
}

/** More bytes than any status takes: a pod without room for it was left for that, and cannot say so. */
const STATUS_ROOM = { [STATUS_KEY]: ' '.repeat(512) }

function missed(object: Fields, namespace: Namespace): Why | undefined {
  const { annotations, creationTimestamp } = fieldsOrNone(object.metadata)
  const own = fieldsOrNone(annotations)
  const asked =
    own[KEYS.inject] === undefined ? wasAsking(namespace, creationTimestamp) : askedAtBirth(object)
  if (!asked) return undefined
  const isRoomy = hasRoom({ annotations: own, size: Number.POSITIVE_INFINITY }, STATUS_ROOM)
  return isRoomy ? { reason: 'unanswered', detail: '' } : undefined
}

/** Pods that were there before their namespace asked are no business of the webhook's. */
function wasAsking({ asksSince }: Namespace, created: unknown): boolean {
  return asksSince !== undefined && (textOf(created) ?? '') > asksSince
}

function identify(metadata: Fields, namespace: string) {
  const pod = nameOf(metadata.name)
  const owner = listOrNone(metadata.ownerReferences)
    .map(fieldsOrNone)
    .find(({ controller }) => controller === true)
  return {
    namespace,
    pod,
    created: textOf(metadata.creationTimestamp) ?? '',
    regarding: referenceTo(owner ?? { ...metadata, apiVersion: 'v1', kind: 'Pod' }),
  }
}

function referenceTo({ apiVersion, kind, name, uid }: Fields): Reference {
  const named = { apiVersion: nameOf(apiVersion), kind: nameOf(kind), name: nameOf(name) }
  return { ...named, uid: nameOf(uid) }
}

/** What an owner is called is for whoever creates the pod to say, at any length. */
function nameOf(value: unknown): string {
  return (textOf(value) ?? '').slice(0, 253)
}
