import { asFields, asText, fieldsOrNone } from './json.ts'
import { readScopes, type Scope } from './quota-scope.ts'
import { type ResourceList, readResourceList } from './resource-list.ts'

/**
 * A core/v1 ResourceQuota: the amount of each resource that the counted pods of a namespace may use
 * together.
 */
export interface Quota {
  readonly name: string
  readonly hard: ResourceList
  /**
   * The usage that the quota controller last reported. Usage changes as pods are created and
   * deleted, so the usage may be different when Kubernetes checks the quota.
   */
  readonly used: ResourceList
  readonly scopes: readonly Scope[]
}

/**
 * Reads a ResourceQuota. Kubernetes enforces `status.hard`. If this field is missing, the quota is
 * new or comes from a file, and `spec.hard` is used instead.
 */
export function readQuota(object: unknown): Quota {
  const { metadata, spec, status } = fieldsOrNone(object)
  const { hard, used } = fieldsOrNone(status)
  const wanted = fieldsOrNone(spec)
  return {
    name: asText(fieldsOrNone(metadata).name) ?? '',
    hard: readResourceList(asFields(hard) ?? fieldsOrNone(wanted.hard)),
    used: readResourceList(fieldsOrNone(used)),
    scopes: readScopes(wanted),
  }
}
