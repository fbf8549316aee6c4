import { STATUS_KEY } from '../../../src/core/keys.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import { type RunPod, readPodFacts } from '../../../src/runs/card/pod-facts.ts'

/** A pod of which Ridealong has decided, at one resourceVersion. */
export interface WatchedPod {
  readonly resourceVersion: string
  readonly pod: RunPod
}

/**
 * Reads a pod in a list or a watch. The apiserver cannot select pods by annotation, so most pods
 * are none of ours.
 *
 * @param metrics the names of the metrics that `attach` can add to a pod
 * @returns undefined for a pod that no observer was requested for
 */
export function readWatchedPod(
  object: unknown,
  metrics: ReadonlySet<string>,
): WatchedPod | undefined {
  const fields = fieldsOrNone(object)
  if (!mayBeObserved(fields)) return undefined
  const pod = readPodFacts(fields, metrics)
  if (!pod.isObserved && !hasStatus(fields)) return undefined
  return { resourceVersion: asText(fieldsOrNone(fields.metadata).resourceVersion) ?? '', pod }
}

function mayBeObserved(pod: Fields): boolean {
  return hasStatus(pod) || listOrNone(fieldsOrNone(pod.spec).ephemeralContainers).length > 0
}

function hasStatus({ metadata }: Fields): boolean {
  return fieldsOrNone(fieldsOrNone(metadata).annotations)[STATUS_KEY] !== undefined
}
