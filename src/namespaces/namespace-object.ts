import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { unreadableIn } from '../core/kubernetes/resource-list.ts'

/** A Namespace, a LimitRange or a ResourceQuota. */
export interface NamespaceObject {
  readonly kind: (typeof KINDS)[number]
  /** The name of the Namespace, or the namespace of the object. */
  readonly namespace: string
  readonly object: unknown
}

const KINDS = ['Namespace', 'LimitRange', 'ResourceQuota'] as const

/**
 * Determines the kind and the namespace of an object.
 *
 * @returns the object, or the problem that makes it invalid, as the rest of a sentence about its
 * document
 */
export function readNamespaceObject(
  object: unknown,
): NamespaceObject | { readonly problem: string } {
  const { kind: written, metadata, spec, status } = fieldsOrNone(object)
  const kind = KINDS.find((known) => known === written)
  if (kind === undefined) {
    return { problem: 'is not a Namespace, LimitRange or ResourceQuota' }
  }
  const key = kind === 'Namespace' ? 'name' : 'namespace'
  const namespace = asText(fieldsOrNone(metadata)[key])
  if (namespace === undefined) return { problem: `is a ${kind} without metadata.${key}` }
  const wrong = kind === 'Namespace' ? undefined : unreadableAmong(readLists(spec, status))
  if (wrong === undefined) return { kind, namespace, object }
  return { problem: `is a ${kind} whose amount of ${wrong} is not a quantity, such as 500m or 2Gi` }
}

/** Returns the ResourceLists of a LimitRange or a ResourceQuota. */
function readLists(spec: unknown, status: unknown): readonly unknown[] {
  const { limits, hard } = fieldsOrNone(spec)
  const { hard: enforced, used } = fieldsOrNone(status)
  const items = listOrNone(limits).map(fieldsOrNone)
  return [hard, enforced, used, ...items.flatMap(listsOfItem)]
}

function listsOfItem({ min, max, default: limit, defaultRequest, ...more }: Fields): unknown[] {
  return [min, max, limit, defaultRequest, more.maxLimitRequestRatio]
}

function unreadableAmong(lists: readonly unknown[]): string | undefined {
  return lists.map((list) => unreadableIn(fieldsOrNone(list))).find((name) => name !== undefined)
}
