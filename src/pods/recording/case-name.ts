import { readPod } from '../../core/kubernetes/pod.ts'
import type { Review } from '../../core/review.ts'

/**
 * The maximum length of a name, in bytes. File systems allow 255 bytes; the rest is reserved for a
 * suffix that makes the name unique.
 */
const MAX_LENGTH = 100

/**
 * Returns the name of the test case for a review, made from the kind of the pod's owner and the
 * name of the pod: `job-indexed-0`, `pod-bare`. The apiserver has not validated the name of the pod
 * yet. The result contains only lower-case letters, digits and hyphens, which are safe in shells
 * and file systems.
 */
export function caseName(review: Review): string {
  const pod = readPod(review.object)
  const kind = ('owner' in pod ? pod.owner?.kind : undefined) ?? 'pod'
  return `${kind}-${review.name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '')
}
