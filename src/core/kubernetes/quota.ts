import { asFields, asText, fieldsOrNone } from './json.ts'
import { readScopes, type Scope } from './quota-scope.ts'
import { type ResourceList, readResourceList } from './resource-list.ts'

/**
 * A core/v1 ResourceQuota: the amount of each resource that the pods of a namespace may use
 * together.
 */
export interface Quota {
  readonly name: string
  readonly hard: ResourceList
  /**
   * The usage that the quota controller last reported. It changes between a review and admission as
   * pods are created and deleted.
   */
  readonly used: ResourceList
  readonly scopes: readonly Scope[]
}

/**
 * Reads a ResourceQuota. Kubernetes enforces `status.hard`. A quota without this field is new or
 * comes from a file; `spec.hard` is used instead, because Kubernetes will soon enforce it.
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
