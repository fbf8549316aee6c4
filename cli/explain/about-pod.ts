import { UNKNOWN_BODY } from '../../src/core/body-scan.ts'
import { asText, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import type { Review } from '../../src/core/review.ts'
import type { About } from './explain-facts.ts'

/** Describes a created pod from its current state. */
export function aboutPod(pod: Fields, subject: string): About {
  return { subject, review: buildReview(pod), created: pod, pods: 1 }
}

function buildReview(object: Fields): Review {
  const { name, namespace, uid } = fieldsOrNone(object.metadata)
  return {
    source: UNKNOWN_BODY,
    uid: asText(uid) ?? '',
    operation: 'CREATE',
    subResource: '',
    namespace: asText(namespace) ?? '',
    name: asText(name) ?? '',
    dryRun: false,
    object,
    oldObject: null,
  }
}
