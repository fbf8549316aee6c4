import { PRIVILEGES, type Privilege } from '../catalog.ts'
import {
  ENFORCE_LABEL,
  ENFORCE_VERSION_LABEL,
  KEYS,
  PRIVILEGE_LABEL,
  TOOLS_LABEL,
} from '../keys.ts'
import { asFields, asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { type LimitRange, readLimitRange } from '../kubernetes/limit-range.ts'
import { findOwners } from '../kubernetes/managed-fields.ts'
import { readEnforceVersion } from '../kubernetes/pod-security.ts'
import { type Quota, readQuota } from '../kubernetes/quota.ts'
import { type Annotations, readAnnotations } from '../request.ts'
import { findMoveOrigin, readRevision } from './revision.ts'

/** The properties of a pod's namespace that Ridealong uses. */
export interface Namespace {
  readonly name: string
  readonly annotations: Annotations
  /**
   * A time at which the namespace already had its `inject` annotation; undefined if managedFields
   * has no owner of the annotation. The format is RFC 3339 in UTC with whole seconds, as in the
   * metadata of all Kubernetes objects, so that times can be compared as text.
   */
  readonly requestedSince: string | undefined
  /**
   * The enforced Pod Security level; undefined if no label sets it, so that the cluster's default
   * applies.
   */
  readonly enforce: Privilege | undefined
  /**
   * The version 1.N of Kubernetes whose Pod Security rules are enforced; undefined for the latest.
   */
  readonly enforceVersion: number | undefined
  /** The privilege that the administrator grants to observers in this namespace. */
  readonly privilege: Privilege
  /** The revision of the release that handles the pods; undefined for the default release. */
  readonly revision: string | undefined
  /**
   * The name of the former revision, if the revision changed a few seconds ago, so that the former
   * release may also have handled a pod. Users who may label the namespace can set any name.
   */
  readonly movedFrom: string | undefined
  /** Whether the administrator allows metrics that load a library into the application. */
  readonly allowsTools: boolean
  readonly limitRanges: readonly LimitRange[]
  readonly quotas: readonly Quota[]
}

/** The objects that limit the pods of a namespace, as the API returns them. */
export interface NamespaceRules {
  readonly limitRanges: readonly unknown[]
  readonly resourceQuotas: readonly unknown[]
}

const NO_RULES: NamespaceRules = { limitRanges: [], resourceQuotas: [] }

/**
 * Reads a core/v1 Namespace and its rules. An unknown Pod Security level counts as `restricted`, as
 * in the apiserver (pod-security-admission api/helpers.go). A missing or unknown privilege also
 * counts as `restricted`.
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
    enforceVersion: readEnforceVersion(labels[ENFORCE_VERSION_LABEL]),
    privilege: readLevel(labels[PRIVILEGE_LABEL]) ?? 'restricted',
    revision: readRevision(object),
    movedFrom: findMoveOrigin(object),
    allowsTools: labels[TOOLS_LABEL] === 'true',
    limitRanges: limitRanges.map(readLimitRange),
    quotas: resourceQuotas.map(readQuota),
  }
}

/**
 * Returns the earliest time in the managedFields entries that own the annotation. The annotation
 * existed at that time.
 */
function readSince(object: Fields): string | undefined {
  const times = findOwners(object, KEYS.inject).flatMap(({ time }) => asText(time) ?? [])
  return times.sort()[0]
}

function readLevel(label: unknown): Privilege | undefined {
  if (label === undefined) return undefined
  return PRIVILEGES.find((level) => level === label) ?? 'restricted'
}
