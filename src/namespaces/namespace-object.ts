import { asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { unreadableIn } from '../core/kubernetes/resource-list.ts'

/** An object that says something about a namespace. */
export interface NamespaceObject {
  readonly kind: (typeof KINDS)[number]
  /** The namespace that it is, or that it is in. */
  readonly namespace: string
  readonly object: unknown
}

const KINDS = ['Namespace', 'LimitRange', 'ResourceQuota'] as const

/**
 * Tells what an object says of which namespace.
 *
 * @returns the object, or why it says nothing, as the rest of a sentence about it
 */
export function readNamespaceObject(
  object: unknown,
): NamespaceObject | { readonly problem: string } {
  const { kind: written, metadata, spec, status } = fieldsOrNone(object)
  const kind = KINDS.find((known) => known === written)
  if (kind === undefined) {
    return { problem: 'holds what is no Namespace, LimitRange or ResourceQuota' }
  }
  const key = kind === 'Namespace' ? 'name' : 'namespace'
  const namespace = asText(fieldsOrNone(metadata)[key])
  if (namespace === undefined) return { problem: `holds a ${kind} without metadata.${key}` }
  const wrong = kind === 'Namespace' ? undefined : unreadableAmong(readLists(spec, status))
  if (wrong === undefined) return { kind, namespace, object }
  return { problem: `holds a ${kind} whose amount of ${wrong} is no quantity such as 500m or 2Gi` }
}

/** The ResourceLists of a LimitRange or a ResourceQuota. */
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
