import { KEYS } from '../keys.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { findOwners } from '../kubernetes/managed-fields.ts'

/**
 * Whether the pod had its annotation from the first. Whoever created it owns its spec; `kubectl annotate`
 * owns the annotation alone. Times say less: a Job's controller writes to its pods as they end.
 */
export function requestedAtCreation(object: Fields): boolean {
  const owners = findOwners(object, KEYS.inject)
  return (
    owners.length === 0 ||
    owners.some(({ fieldsV1 }) => fieldsOrNone(fieldsV1)['f:spec'] !== undefined)
  )
}
