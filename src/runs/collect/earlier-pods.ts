import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'

/** The label of the pods of a JobSet (jobset api/jobset/v1alpha2, RestartsKey). */
const RESTART_ATTEMPT_KEY = 'jobset.sigs.k8s.io/restart-attempt'

/**
 * The annotation of the pods of a Job with `backoffLimitPerIndex` (kubernetes pkg/apis/batch,
 * JobIndexFailureCountAnnotation).
 */
const INDEX_FAILURES_KEY = 'batch.kubernetes.io/job-index-failure-count'

/** Returns how often the JobSet of a pod had restarted when the pod was created; otherwise 0. */
export function readJobSetRestarts({ labels }: Fields): number {
  return readCount(fieldsOrNone(labels)[RESTART_ATTEMPT_KEY])
}

/** Returns how often the index of a pod had failed before; 0 if its Job does not count that. */
export function readIndexFailures({ annotations }: Fields): number {
  return readCount(fieldsOrNone(annotations)[INDEX_FAILURES_KEY])
}

/** Returns how many pods are known to have been replaced by a pod. @param metadata of the pod */
export function countEarlierPods(metadata: Fields): number {
  return readJobSetRestarts(metadata) + readIndexFailures(metadata)
}

function readCount(written: unknown): number {
  const number = Number(written)
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
