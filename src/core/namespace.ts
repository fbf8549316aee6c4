import { PRIVILEGES, type Privilege } from './catalog.ts'
import { fieldsOf, fieldsOrNone } from './json.ts'
import { ENFORCE_LABEL, PRIVILEGE_LABEL } from './keys.ts'
import { type LimitRange, readLimitRange } from './limit-range.ts'
import { type Quota, readQuota } from './quota.ts'
import { type Annotations, readAnnotations } from './request.ts'

/** What Ridealong needs to know of a pod's namespace. */
export interface Namespace {
  readonly name: string
  readonly annotations: Annotations
  /** The Pod Security level that is enforced. */
  readonly enforce: Privilege
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
  const metadata = fieldsOrNone(fieldsOf(object)?.metadata)
  const labels = fieldsOrNone(metadata.labels)
  return {
    name,
    annotations: readAnnotations(fieldsOf(metadata.annotations)),
    enforce: readLevel(labels[ENFORCE_LABEL], 'privileged'),
    privilege: readLevel(labels[PRIVILEGE_LABEL], 'restricted'),
    limitRanges: limitRanges.map(readLimitRange),
    quotas: resourceQuotas.map(readQuota),
  }
}

function readLevel(label: unknown, absent: Privilege): Privilege {
  if (label === undefined) return absent
  return PRIVILEGES.find((level) => level === label) ?? 'restricted'
}
