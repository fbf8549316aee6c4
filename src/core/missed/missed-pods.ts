import type { Catalog } from '../catalog.ts'
import { KEYS, MIRROR_KEY, STATUS_KEY } from '../keys.ts'
import { asFields, asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { type OwnerReference, readController } from '../kubernetes/owner-reference.ts'
import type { Namespace } from '../namespace.ts'
import { readAnnotations, requestsMetrics } from '../request.ts'
import { differencesFrom } from '../rules/observer-difference.ts'
import { hasRoom, injectedBefore, readStatus } from '../status.ts'
import { printable } from '../text/printable.ts'
import { findDrift } from './observer-drift.ts'
import { requestedAtCreation } from './requested-at-creation.ts'

/** Why a pod that asked is there without its observers, no wish of its author's, and the reason of the Event. */
export const MISSED_POD_REASONS = {
  unanswered: 'NotObserved',
  altered: 'ObserverAltered',
  'observer-unavailable': 'ObserverUnavailable',
} as const satisfies Record<string, string>

export type MissedPodReason = keyof typeof MISSED_POD_REASONS

/**
 * A pod that was found to be there without its observers. Nothing here repeats the pod's status, which
 * its author may have written: an Event would carry that text on.
 */
export interface MissedPod {
  readonly reason: MissedPodReason
  readonly namespace: string
  readonly pod: string
  /** When the pod was created: RFC 3339. */
  readonly created: string
  /** The pod's controller, or the pod where it names none that can exist. */
  readonly regarding: OwnerReference
}

/** The namespace of a pod, and the settings of the webhook that pods there are judged by. */
export interface Surroundings {
  readonly namespace: Namespace
  readonly excludedNamespaces: ReadonlySet<string>
  /** The catalog that the webhook serves now. */
  readonly catalog: Catalog
}

/**
 * Decides whether a pod that is there asked for observers, when it was created, and has none: nobody
 * answered, another webhook altered what was added, or no node had the image. Where in doubt, it did not.
 *
 * @param object a Pod as the apiserver serves it
 */
export function findMissedPod(
  object: Fields,
  { namespace, excludedNamespaces, catalog }: Surroundings,
): MissedPod | undefined {
  if (excludedNamespaces.has(namespace.name)) return undefined
  const metadata = fieldsOrNone(object.metadata)
  const annotations = fieldsOrNone(metadata.annotations)
  if (annotations[MIRROR_KEY] !== undefined) return undefined
  const own = readAnnotations(annotations)
  const asker = own.has(KEYS.inject) ? own : namespace.annotations
  if (!requestsMetrics(asker)) return undefined
  const reason = hasAnswer(annotations) ? readAnswer(object, catalog) : missed(object, namespace)
  return reason && { reason, ...identify(metadata, namespace.name) }
}

/** Any at all: what a pod's status says, its author may have written. */
function hasAnswer(annotations: Fields): boolean {
  return (asText(annotations[STATUS_KEY]) ?? '') !== ''
}

function readAnswer({ metadata, spec }: Fields, catalog: Catalog): MissedPodReason | undefined {
  const annotations = asFields(fieldsOrNone(metadata).annotations)
  const status = readStatus(annotations)
  if (status?.outcome === 'left' && status.reason === 'observer-unavailable')
    return 'observer-unavailable'
  const metrics = injectedBefore(annotations)
  if (metrics.length === 0) return undefined
  const fields = fieldsOrNone(spec)
  const isAltered = findDrift(fields, metrics).length > 0
  return isAltered || differs(fields, metrics, status?.catalog, catalog) ? 'altered' : undefined
}

/**
 * Whether a container is not the observer that the pod's status names. Only a status that names the
 * present revision is compared: after an upgrade, every observer that still runs differs.
 */
function differs(
  spec: Fields,
  metrics: readonly string[],
  revision: unknown,
  catalog: Catalog,
): boolean {
  return revision === catalog.revision && differencesFrom(catalog, spec, metrics).length > 0
}

/** More bytes than any status takes: a pod without room for it was left for that, and cannot say so. */
const STATUS_ROOM = { [STATUS_KEY]: ' '.repeat(512) }

function missed(object: Fields, namespace: Namespace): MissedPodReason | undefined {
  const { annotations, creationTimestamp } = fieldsOrNone(object.metadata)
  const own = fieldsOrNone(annotations)
  const asked =
    own[KEYS.inject] === undefined
      ? wasAsking(namespace, creationTimestamp)
      : requestedAtCreation(object)
  if (!asked) return undefined
  const isRoomy = hasRoom({ annotations: own, size: Number.POSITIVE_INFINITY }, STATUS_ROOM)
  return isRoomy ? 'unanswered' : undefined
}

/** Pods that were there before their namespace asked are no business of the webhook's. */
function wasAsking({ requestedSince }: Namespace, created: unknown): boolean {
  return requestedSince !== undefined && (asText(created) ?? '') > requestedSince
}

function identify(metadata: Fields, namespace: string): Omit<MissedPod, 'reason'> {
  const pod = boundName(metadata.name)
  const itself = { apiVersion: 'v1', kind: 'Pod', name: pod, uid: boundName(metadata.uid) }
  return {
    namespace,
    pod,
    created: asText(metadata.creationTimestamp) ?? '',
    regarding: readController(metadata.ownerReferences) ?? itself,
  }
}

/** A name or uid of at most 253 characters: the apiserver has validated it. */
function boundName(value: unknown): string {
  return printable(asText(value) ?? '', 253)
}
