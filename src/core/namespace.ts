import { PRIVILEGES, type Privilege } from './catalog.ts'
import { ENFORCE_LABEL, KEYS, PRIVILEGE_LABEL } from './keys.ts'
import { asFields, asText, type Fields, fieldsOrNone } from './kubernetes/json.ts'
import { type LimitRange, readLimitRange } from './kubernetes/limit-range.ts'
import { findOwners } from './kubernetes/managed-fields.ts'
import { type Quota, readQuota } from './kubernetes/quota.ts'
import { type Annotations, readAnnotations } from './request.ts'

/** What Ridealong needs to know of a pod's namespace. */
export interface Namespace {
  readonly name: string
  readonly annotations: Annotations
  /**
   * Since when the namespace has its `inject`, at the latest; undefined where nobody's name stands on it.
   * RFC 3339 in UTC and whole seconds, as Kubernetes writes every time: they compare as text.
   */
  readonly requestedSince: string | undefined
  /** The Pod Security level that its label enforces; undefined: the default of the cluster. */
  readonly enforce: Privilege | undefined
  /** The privilege that the administrator grants to observers here. */
  readonly privilege: Privilege
  readonly limitRanges: readonly LimitRange[]
  readonly quotas: readonly Quota[]
}

/** The objects in a namespace that refuse pods, as the API serves them. */
export interface NamespaceRules {
  readonly limitRanges: readonly unknown[]
  readonly resourceQuotas: readonly unknown[]
}

const NO_RULES: NamespaceRules = { limitRanges: [], resourceQuotas: [] }

/**
 * Reads a core/v1 Namespace and what rules in it, once for all the pods that come. A level that
 * nobody knows counts as the strictest: the apiserver does so for what it enforces
 * (pod-security-admission api/helpers.go), and we for what is granted.
 */
export function readNamespace(
  name: string,
  object: unknown,
  { limitRanges, resourceQuotas }: NamespaceRules = NO_RULES,
): Namespace {
  const metadata = fieldsOrNone(asFields(object)?.metadata)
  const labels = fieldsOrNone(metadata.labels)
  return {
    name,
    annotations: readAnnotations(asFields(metadata.annotations)),
    requestedSince: readSince(fieldsOrNone(object)),
    enforce: readLevel(labels[ENFORCE_LABEL]),
    privilege: readLevel(labels[PRIVILEGE_LABEL]) ?? 'restricted',
    limitRanges: limitRanges.map(readLimitRange),
    quotas: resourceQuotas.map(readQuota),
  }
}

/** The first of its owners to have written last: the annotation was there by then. */
function readSince(object: Fields): string | undefined {
  const times = findOwners(object, KEYS.inject).flatMap(({ time }) => asText(time) ?? [])
  return times.sort()[0]
}

function readLevel(label: unknown): Privilege | undefined {
  if (label === undefined) return undefined
  return PRIVILEGES.find((level) => level === label) ?? 'restricted'
}
