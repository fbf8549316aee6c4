import { STATUS_KEY } from '../../../src/core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import { withAttemptBefore } from '../../../src/runs/collect/attempts.ts'
import { findObservers, type RunningObserver } from '../../../src/runs/collect/observers.ts'
import { type RunPod, readPodFacts } from '../../../src/runs/facts/pod-facts.ts'

/** A pod of which Ridealong has decided, at one resourceVersion. */
export interface WatchedPod {
  readonly resourceVersion: string
  readonly pod: RunPod
  /** Its observers if their logs are kept, each after its attempt that the kubelet keeps. */
  readonly observers: readonly RunningObserver[]
}

/**
 * Reads a pod in a list or a watch. The apiserver cannot select pods by annotation, so most pods
 * are none of ours.
 *
 * @param metrics the names of the metrics that `attach` can add to a pod
 * @param keepsLogs whether the observers are needed, and not only the facts about the pod
 * @returns undefined for a pod that no observer was requested for
 */
export function readWatchedPod(
  object: unknown,
  metrics: ReadonlySet<string>,
  keepsLogs: boolean,
): WatchedPod | undefined {
  const fields = fieldsOrNone(object)
  if (!mayBeObserved(fields)) return undefined
  const pod = readPodFacts(fields, metrics)
  if (!pod.isObserved && !hasStatus(fields)) return undefined
  const resourceVersion = asText(fieldsOrNone(fields.metadata).resourceVersion) ?? ''
  return { resourceVersion, pod, observers: keepsLogs ? listAttempts(fields, metrics) : [] }
}

function listAttempts(pod: Fields, metrics: ReadonlySet<string>): readonly RunningObserver[] {
  const { observers } = findObservers(pod, metrics, undefined)
  return observers.flatMap((observer) => withAttemptBefore(observer).toReversed())
}

function mayBeObserved(pod: Fields): boolean {
  return hasStatus(pod) || listOrNone(fieldsOrNone(pod.spec).ephemeralContainers).length > 0
}

function hasStatus({ metadata }: Fields): boolean {
  return fieldsOrNone(fieldsOrNone(metadata).annotations)[STATUS_KEY] !== undefined
}
