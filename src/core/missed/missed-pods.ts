import type { Catalog } from '../catalog.ts'
import { KEYS, MIRROR_KEY, STATUS_KEY } from '../keys.ts'
import { asFields, asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { type OwnerReference, readController } from '../kubernetes/owner-reference.ts'
import type { Namespace } from '../namespaces/namespace.ts'
import { readAnnotations, requestsMetrics } from '../request.ts'
import { differencesFrom, listObservers } from '../rules/observer-difference.ts'
import {
  hasRoom,
  injectedBefore,
  lackedIn,
  MAX_STATUS_LENGTH,
  readStatus,
  reasonIn,
  variablesBefore,
} from '../status.ts'
import { printable } from '../text/printable.ts'
import { findDrift } from './observer-drift.ts'
import { requestedAtCreation } from './requested-at-creation.ts'

/**
 * The causes of missing observers that an Event reports, each with the reason of the Event. Other
 * causes, such as an invalid request, are not included, because the webhook reports them in a
 * warning when the pod is created.
 */
export const MISSED_POD_REASONS = {
  unanswered: 'NotObserved',
  altered: 'ObserverAltered',
  'observer-unavailable': 'ObserverUnavailable',
  'revision-absent': 'RevisionAbsent',
} as const satisfies Record<string, string>

export type MissedPodReason = keyof typeof MISSED_POD_REASONS

/**
 * A pod that lacks its observers. This record contains no text from the annotation
 * `ridealong.dev/status`, because an Event would publish the text, which may come from the author
 * of the pod. In this file, "status" means this annotation.
 */
export interface MissedPod {
  readonly reason: MissedPodReason
  readonly namespace: string
  readonly pod: string
  /** The creation time of the pod, in RFC 3339 format. */
  readonly created: string
  /** The pod's controller, or the pod itself if it has no valid controller reference. */
  readonly regarding: OwnerReference
}

/** The namespace of a pod, and the webhook settings that apply to the pod. */
export interface Surroundings {
  readonly namespace: Namespace
  /** Whether no release has the revision of the namespace. */
  readonly isAbandoned?: boolean | undefined
  readonly excludedNamespaces: ReadonlySet<string>
  /** The catalog that the webhook currently serves. */
  readonly catalog: Catalog
}

/**
 * Decides whether an existing pod lacks observers that were requested when the pod was created. The
 * possible causes are that the webhook did not answer, that no release has the revision of the
 * namespace, that the observers were altered, and that no node was known to have the image.
 *
 * @param object a Pod as returned by the apiserver
 * @returns undefined if the pod does not lack its observers for one of these causes
 */
export function findMissedPod(
  object: Fields,
  { namespace, isAbandoned = false, excludedNamespaces, catalog }: Surroundings,
): MissedPod | undefined {
  if (excludedNamespaces.has(namespace.name)) return undefined
  const metadata = fieldsOrNone(object.metadata)
  const annotations = fieldsOrNone(metadata.annotations)
  if (annotations[MIRROR_KEY] !== undefined) return undefined
  const own = readAnnotations(annotations)
  const asker = own.has(KEYS.inject) ? own : namespace.annotations
  if (!requestsMetrics(asker)) return undefined
  const found = hasAnswer(annotations) ? readAnswer(object, catalog) : missed(object, namespace)
  const reason = isAbandoned && found === 'unanswered' ? 'revision-absent' : found
  return reason && { reason, ...identify(metadata, namespace.name) }
}

/**
 * Reports whether a pod has a status that is not empty. The status may be invalid, because the
 * author of the pod may have written it.
 */
function hasAnswer(annotations: Fields): boolean {
  return (asText(annotations[STATUS_KEY]) ?? '') !== ''
}

function readAnswer({ metadata, spec }: Fields, catalog: Catalog): MissedPodReason | undefined {
  const annotations = asFields(fieldsOrNone(metadata).annotations)
  const status = readStatus(annotations)
  if (status?.outcome === 'left' && reasonIn(status) === 'observer-unavailable')
    return 'observer-unavailable'
  const metrics = injectedBefore(annotations)
  if (metrics.length === 0) return undefined
  const fields = fieldsOrNone(spec)
  const isAltered = findDrift(fields, metrics, variablesBefore(annotations)).length > 0
  if (isAltered || differs(fields, metrics, status?.catalog, catalog)) return 'altered'
  const isUnavailable = lackedIn(status).some(({ reason }) => reason === 'observer-unavailable')
  return isUnavailable ? 'observer-unavailable' : undefined
}

/**
 * Reports whether a container that the pod's status names differs from the catalog's observer.
 * Containers are compared only if the status names the current revision of the catalog, because
 * after an upgrade all older observers differ.
 */
function differs(
  spec: Fields,
  metrics: readonly string[],
  revision: unknown,
  catalog: Catalog,
): boolean {
  return revision === catalog.revision && differencesFrom(catalog, spec, metrics).length > 0
}

/**
 * A placeholder with the maximum length of a status. A pod without room for a status was left
 * with the reason `too-large`, which is therefore not recorded in the pod.
 */
const STATUS_ROOM = { [STATUS_KEY]: ' '.repeat(MAX_STATUS_LENGTH) }

function missed(object: Fields, namespace: Namespace): MissedPodReason | undefined {
  // The webhook writes no status for a copy of an injected pod, which has the observers already.
  if (listObservers(fieldsOrNone(object.spec)).length > 0) return undefined
  const { annotations, creationTimestamp } = fieldsOrNone(object.metadata)
  const podAnnotations = fieldsOrNone(annotations)
  const asked =
    podAnnotations[KEYS.inject] === undefined
      ? wasAsking(namespace, creationTimestamp)
      : requestedAtCreation(object)
  if (!asked) return undefined
  const isRoomy = hasRoom(
    { annotations: podAnnotations, size: Number.POSITIVE_INFINITY },
    STATUS_ROOM,
  )
  return isRoomy ? 'unanswered' : undefined
}

/**
 * Reports whether the namespace requested observers before the pod was created. The webhook adds no
 * observers to older pods.
 */
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

/** Returns a name or UID that the apiserver has validated, limited to 253 characters. */
function boundName(value: unknown): string {
  return printable(asText(value) ?? '', 253)
}
