import { type Fields, fieldsOrNone, listOrNone, textOf } from '../core/json.ts'
import { KEYS } from '../core/keys.ts'

/**
 * When an object was given its `ridealong.dev/inject`, as its managedFields tell: the earliest moment at
 * which one who owns the annotation has written (structured-merge-diff, `f:` and the field's name).
 *
 * @returns milliseconds since 1970, or undefined where nobody's name stands on it
 */
export function annotatedAt(object: Fields): number | undefined {
  const managers = listOrNone(fieldsOrNone(object.metadata).managedFields).map(fieldsOrNone)
  const times = managers.flatMap(({ fieldsV1, time }) => {
    const metadata = fieldsOrNone(fieldsOrNone(fieldsV1)['f:metadata'])
    const annotations = fieldsOrNone(metadata['f:annotations'])
    const isOwner = Object.hasOwn(annotations, `f:${KEYS.inject}`)
    return isOwner ? [Date.parse(textOf(time) ?? '')] : []
  })
  const known = times.filter((time) => !Number.isNaN(time))
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Whether what asks for a pod was written only after the pod was created. */
export function isAnnotatedLater(asker: Fields, pod: Fields): boolean {
  const created = Date.parse(textOf(fieldsOrNone(pod.metadata).creationTimestamp) ?? '')
  const annotated = annotatedAt(asker)
  return annotated !== undefined && annotated > created
}
