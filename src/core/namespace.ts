import { PRIVILEGES, type Privilege } from './catalog.ts'
import { fieldsOf, fieldsOrNone } from './json.ts'
import { ENFORCE_LABEL, PRIVILEGE_LABEL } from './keys.ts'
import { type Annotations, readAnnotations } from './request.ts'

/** What Ridealong needs to know of a pod's namespace. */
export interface Namespace {
  readonly name: string
  readonly annotations: Annotations
  /** The Pod Security level that is enforced. */
  readonly enforce: Privilege
  /** The privilege that the administrator grants to observers here. */
  readonly privilege: Privilege
}

/** What Kubernetes enforces on the pods of a namespace besides: core/v1 objects, as they came. */
export interface NamespaceRules {
  readonly limitRanges: readonly unknown[]
  readonly resourceQuotas: readonly unknown[]
}

/**
 * Reads a core/v1 Namespace. A level that nobody knows counts as the strictest: the apiserver does
 * so for what it enforces (pod-security-admission api/helpers.go), and we for what is granted.
 */
export function readNamespace(name: string, object: unknown, _rules?: NamespaceRules): Namespace {
  const metadata = fieldsOrNone(fieldsOf(object)?.metadata)
  const labels = fieldsOrNone(metadata.labels)
  return {
    name,
    annotations: readAnnotations(fieldsOf(metadata.annotations)),
    enforce: readLevel(labels[ENFORCE_LABEL], 'privileged'),
    privilege: readLevel(labels[PRIVILEGE_LABEL], 'restricted'),
  }
}

function readLevel(label: unknown, absent: Privilege): Privilege {
  if (label === undefined) return absent
  return PRIVILEGES.find((level) => level === label) ?? 'restricted'
}
