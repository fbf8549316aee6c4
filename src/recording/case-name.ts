import { readPod } from '../core/kubernetes/pod.ts'
import type { Review } from '../core/review.ts'

/** Room for what makes it unique, in a file system that allows 255 bytes. */
const LONGEST = 100

/**
 * Names the case of a review after who makes the pod, and the pod: `job-indexed-0`, `pod-bare`. A name is
 * lower-case ASCII that no shell and no file system takes for something else, since the apiserver has not
 * looked at a pod's own yet.
 */
export function caseName(review: Review): string {
  const pod = readPod(review.object)
  const kind = ('owner' in pod ? pod.owner?.kind : undefined) ?? 'pod'
  return `${kind}-${review.name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, '')
}
