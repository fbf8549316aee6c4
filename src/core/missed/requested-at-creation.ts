import { KEYS } from '../keys.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { findOwners } from '../kubernetes/managed-fields.ts'

/**
 * Reports whether a pod had its `inject` annotation when it was created. The field manager that
 * created the pod also owns its spec, while `kubectl annotate` owns only the annotation. Comparing
 * the times in managedFields would be less reliable: the Job controller updates its pods when they
 * end, which changes the time of its entry. If managedFields has no owner of the annotation, the
 * result is true.
 */
export function requestedAtCreation(object: Fields): boolean {
  const owners = findOwners(object, KEYS.inject)
  return (
    owners.length === 0 ||
    owners.some(({ fieldsV1 }) => fieldsOrNone(fieldsV1)['f:spec'] !== undefined)
  )
}
