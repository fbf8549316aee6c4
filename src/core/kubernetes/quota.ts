import { asFields, asText, fieldsOrNone } from './json.ts'
import { readScopes, type Scope } from './quota-scope.ts'
import { type ResourceList, readResourceList } from './resource-list.ts'

/** A core/v1 ResourceQuota: how much of each resource the pods of a namespace may have together. */
export interface Quota {
  readonly name: string
  readonly hard: ResourceList
  /** By the last word of the quota controller: pods come and go between a review and admission. */
  readonly used: ResourceList
  readonly scopes: readonly Scope[]
}

/**
 * Reads a ResourceQuota. Kubernetes enforces what `status.hard` says; one without has just been
 * made, or was written by hand, and will in a moment enforce its `spec.hard`.
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
