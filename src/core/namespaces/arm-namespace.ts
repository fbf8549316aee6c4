import type { Catalog } from '../catalog.ts'
import { ARMED_LABEL, MOVED_FROM_LABEL } from '../keys.ts'
import { asFields, fieldsOrNone } from '../kubernetes/json.ts'
import { type Operation, pointerTo } from '../patch.ts'
import { REASONS } from '../reasons.ts'
import { type Annotations, type Request, readRequest, requestsMetrics } from '../request.ts'
import { allow, allowPatched, type ReviewResponse } from '../response.ts'
import type { Review } from '../review.ts'
import { listIgnoredOptions, listOverlaps } from '../rules/overlapping-metrics.ts'
import { describeLacked } from '../status.ts'
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
  /**
   * `moved`: the label `ridealong.dev/moved-from` was corrected, and the label
   * `ridealong.dev/armed` is right.
   */
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
 * `ridealong.dev/moved-from`, with which the former release handles pods for a while. The response
 * removes this label if a user has set it.
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
  const mark = resolveMark(review, marksMoves && !isExcluded)
  const operations = changeLabels(review.object, [armedLabel(isAsking), [MOVED_FROM_LABEL, mark]])
  const isNews = !isSame(annotations, readNamespace(review.name, review.oldObject).annotations)
  return {
    outcome: resolveOutcome(arming.length > 0, operations.length > arming.length, isAsking),
    response: allowPatched(
      review,
      operations,
      isNews ? listWarnings(request, annotations, isExcluded) : [],
    ),
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
 * Returns the label `ridealong.dev/moved-from` that a namespace must have: the former revision if
 * an update changes the revision, and otherwise the earlier label. A user can remove the label, but
 * cannot set it.
 */
function resolveMark(
  { object, oldObject, operation }: Review,
  marksMoves: boolean,
): string | undefined {
  if (operation !== 'UPDATE') return undefined
  const from = marksMoves ? findFormerRevision(oldObject, object) : undefined
  return from ?? (readMovedFrom(object) && readMovedFrom(oldObject))
}

/** Returns the operations that make the label `ridealong.dev/armed` match `isAsking`. */
export function relabel(object: unknown, isAsking: boolean): readonly Operation[] {
  return changeLabels(object, [armedLabel(isAsking)])
}

/** The name of a label and its new value; undefined to remove the label. */
type LabelChange = readonly [string, string | undefined]

function armedLabel(isAsking: boolean): LabelChange {
  return [ARMED_LABEL, isAsking ? 'true' : undefined]
}

/** Returns the operations that change labels. A label that has its new value needs none. */
function changeLabels(object: unknown, changes: readonly LabelChange[]): readonly Operation[] {
  const labels = asFields(fieldsOrNone(fieldsOrNone(object).metadata).labels)
  const needed = changes.filter(([name, value]) => labels?.[name] !== value)
  return needed.map(([name, value], place) => {
    const path = pointerTo('/metadata/labels', name)
    if (value === undefined) return { op: 'remove', path }
    // The first operation adds the map of labels if there is none.
    if (labels === undefined && place === 0)
      return { op: 'add', path: '/metadata/labels', value: { [name]: value } }
    return { op: 'add', path, value }
  })
}

function isSame(a: Annotations, b: Annotations): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value)
}

function listWarnings(
  request: Request,
  annotations: Annotations,
  isExcluded: boolean,
): readonly string[] {
  if (request.kind === 'nothing') return []
  if (isExcluded) {
    return ['the administrator has excluded this namespace, so its pods get no observers']
  }
  if (request.kind === 'wrong') return [`${request.reason}: ${request.message}`]
  const metrics = request.metrics.map(({ metric }) => metric)
  return [
    'pods that are created from now on get observers; running pods are not changed',
    ...request.left.map(describeLacked),
    ...listOverlaps(metrics),
    ...listIgnoredOptions(metrics, annotations),
  ]
}
