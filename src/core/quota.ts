import { type Amounts, readAmounts } from './amounts.ts'
import { fieldsOf, fieldsOrNone, textOf } from './json.ts'
import { readScopes, type Scope } from './quota-scope.ts'

/** A core/v1 ResourceQuota: how much of each resource the pods of a namespace may have together. */
export interface Quota {
  readonly name: string
  readonly hard: Amounts
  /** By the last word of the quota controller: pods come and go between a review and admission. */
  readonly used: Amounts
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
    name: textOf(fieldsOrNone(metadata).name) ?? '',
    hard: readAmounts(fieldsOf(hard) ?? fieldsOrNone(wanted.hard)),
    used: readAmounts(fieldsOrNone(used)),
    scopes: readScopes(wanted),
  }
}
