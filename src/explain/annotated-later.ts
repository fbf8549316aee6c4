import { type Fields, fieldsOrNone, textOf } from '../core/json.ts'
import { KEYS } from '../core/keys.ts'
import { ownersOf } from '../core/managed-fields.ts'

/**
 * When an object was given its `ridealong.dev/inject`, as its managedFields tell: the earliest moment at
 * which one who owns the annotation has written (structured-merge-diff, `f:` and the field's name).
 *
 * @returns milliseconds since 1970, or undefined where nobody's name stands on it
 */
export function annotatedAt(object: Fields): number | undefined {
  const times = ownersOf(object, KEYS.inject).map(({ time }) => Date.parse(textOf(time) ?? ''))
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Whether a namespace was annotated only after the pod was created. */
export function isAnnotatedLater(namespace: Fields, pod: Fields): boolean {
  const created = Date.parse(textOf(fieldsOrNone(pod.metadata).creationTimestamp) ?? '')
  const annotated = annotatedAt(namespace)
  return annotated !== undefined && annotated > created
}
