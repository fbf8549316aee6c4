import type { Catalog } from '../catalog.ts'
import { ARMED_LABEL, MOVED_FROM_LABEL } from '../keys.ts'
import { asFields, fieldsOrNone } from '../kubernetes/json.ts'
import { type Operation, pointerTo } from '../patch.ts'
import { REASONS } from '../reasons.ts'
import { type Annotations, type Request, readRequest, requestsMetrics } from '../request.ts'
import { allow, allowPatched, type ReviewResponse } from '../response.ts'
import type { Review } from '../review.ts'
import { readNamespace } from './namespace.ts'
import { findFormerRevision, readMovedFrom } from './revision.ts'

/** The settings of the webhook that concern namespaces. */
export interface NamespaceSettings {
  readonly excludedNamespaces: ReadonlySet<string>
  /**
   * Whether a namespace whose revision changes gets the label `ridealong.dev/moved-from`. Only a
   * server that also removes the label may set it.
   */
  readonly marksMoves?: boolean | undefined
}

/** The result of reviewing a namespace. */
export interface NamespaceReview {
  /** `moved`: the namespace was marked as moved, and its label `ridealong.dev/armed` is right. */
  readonly outcome: 'armed' | 'disarmed' | 'moved' | 'unchanged'
  readonly response: ReviewResponse
  /** An internal error, after which the namespace was allowed unchanged. */
  readonly fault?: unknown
}

/**
 * Reviews a namespace. If the namespace requests metrics and is not excluded, the response arms the
 * namespace: it adds the label `ridealong.dev/armed`, with which the webhook is called for all pods
 * of the namespace. Otherwise the response removes the label. Warnings describe the effect of the
 * request or its problem, because only this response reaches the user who annotates the namespace.
 * Never throws.
 *
 * If an update changes the revision of the namespace, the response also sets the label
 * `ridealong.dev/moved-from`, with which the former release handles pods for a while.
 */
export function reviewNamespace(
  review: Review,
  catalog: Catalog,
  settings: NamespaceSettings,
): NamespaceReview {
  try {
    const isWritten = review.operation === 'CREATE' || review.operation === 'UPDATE'
    if (!isWritten || review.subResource !== '') return unchanged(review)
    return arm(review, catalog, settings)
  } catch (fault) {
    const warning = `internal-error: ${REASONS['internal-error'].sentence}`
    return { outcome: 'unchanged', response: allow(review, [warning]), fault }
  }
}

function unchanged(review: Review): NamespaceReview {
  return { outcome: 'unchanged', response: allow(review) }
}

function arm(
  review: Review,
  catalog: Catalog,
  { excludedNamespaces, marksMoves = false }: NamespaceSettings,
): NamespaceReview {
  const { annotations } = readNamespace(review.name, review.object)
  const request = readRequest(new Map(), annotations, catalog)
  const isExcluded = excludedNamespaces.has(review.name)
  const isAsking = requestsMetrics(annotations) && !isExcluded
  const arming = relabel(review.object, isAsking)
  const marking = marksMoves && !isExcluded ? markMove(review, arming) : []
  const operations = [...arming, ...marking]
  const isNews = !isSame(annotations, readNamespace(review.name, review.oldObject).annotations)
  return {
    outcome: resolveOutcome(arming.length > 0, marking.length > 0, isAsking),
    response: allowPatched(review, operations, isNews ? listWarnings(request, isExcluded) : []),
  }
}

function resolveOutcome(
  isRelabelled: boolean,
  isMarked: boolean,
  isAsking: boolean,
): NamespaceReview['outcome'] {
  if (isRelabelled) return isAsking ? 'armed' : 'disarmed'
  return isMarked ? 'moved' : 'unchanged'
}

/**
 * Returns the operations that set the label `ridealong.dev/moved-from` if the update changes the
 * revision.
 *
 * @param arming the earlier operations of the patch, which may already add the map of labels
 */
function markMove(
  { object, oldObject, operation }: Review,
  arming: readonly Operation[],
): readonly Operation[] {
  if (operation !== 'UPDATE') return []
  const from = findFormerRevision(oldObject, object)
  if (from === undefined || from === readMovedFrom(object)) return []
  const labels = asFields(fieldsOrNone(fieldsOrNone(object).metadata).labels)
  const hasLabels = labels !== undefined || arming.some(({ op }) => op === 'add')
  return hasLabels
    ? [{ op: 'add', path: pointerTo('/metadata/labels', MOVED_FROM_LABEL), value: from }]
    : [{ op: 'add', path: '/metadata/labels', value: { [MOVED_FROM_LABEL]: from } }]
}

/** Returns the operations that make the label `ridealong.dev/armed` match `isAsking`. */
export function relabel(object: unknown, isAsking: boolean): Operation[] {
  const labels = asFields(fieldsOrNone(fieldsOrNone(object).metadata).labels)
  const path = pointerTo('/metadata/labels', ARMED_LABEL)
  const label = labels?.[ARMED_LABEL]
  if (!isAsking) return label === undefined ? [] : [{ op: 'remove', path }]
  if (label === 'true') return []
  if (labels !== undefined) return [{ op: 'add', path, value: 'true' }]
  return [{ op: 'add', path: '/metadata/labels', value: { [ARMED_LABEL]: 'true' } }]
}

function isSame(a: Annotations, b: Annotations): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value)
}

function listWarnings(request: Request, isExcluded: boolean): readonly string[] {
  if (request.kind === 'nothing') return []
  if (isExcluded) {
    return ['the administrator has excluded this namespace, so its pods get no observers']
  }
  if (request.kind === 'wrong') return [`${request.reason}: ${request.message}`]
  return ['pods that are created from now on get observers; running pods are not changed']
}
