import { type Fields, fieldsOrNone, textOf } from '../core/json.ts'
import type { Review } from '../core/review.ts'
import { UNKNOWN_SOURCE } from '../core/source.ts'
import type { About } from './explain-facts.ts'

/** A pod that was created, from how it is now. */
export function aboutPod(pod: Fields, subject: string): About {
  return { subject, review: creationOf(pod), created: pod, pods: 1 }
}

function creationOf(object: Fields): Review {
  const { name, namespace, uid } = fieldsOrNone(object.metadata)
  return {
    source: UNKNOWN_SOURCE,
    uid: textOf(uid) ?? '',
    operation: 'CREATE',
    subResource: '',
    namespace: textOf(namespace) ?? '',
    name: textOf(name) ?? '',
    dryRun: false,
    object,
    oldObject: null,
  }
}
