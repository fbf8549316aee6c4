import { asId, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** The fields of an apps/v1 DaemonSet that show its images and the number of its ready pods. */
export interface DaemonSet {
  readonly generation: unknown
  readonly images: readonly string[]
  readonly status: unknown
}

/** Reads a DaemonSet. Fields of the wrong type count as absent. */
export function readDaemonSet(object: unknown): DaemonSet {
  const { generation } = fieldsOrNone(fieldsOrNone(object).metadata)
  const { status, spec } = fieldsOrNone(object)
  return { generation, images: readImages(spec), status }
}

function readImages(spec: unknown): readonly string[] {
  const template = fieldsOrNone(fieldsOrNone(spec).template)
  const containers: readonly Fields[] = listOrNone(fieldsOrNone(template.spec).containers).map(
    fieldsOrNone,
  )
  return containers.flatMap(({ image }) => asText(image) ?? [])
}

/**
 * Reports whether at least one pod of a DaemonSet runs the current template and is ready.
 *
 * `numberReady` counts the ready pods of any template, and `updatedNumberScheduled` counts the pods
 * of the current template, ready or not. If the sum of the two counts is greater than the number of
 * all pods, at least one pod is in both groups (kubernetes
 * pkg/controller/daemon/daemon_controller.go, updateDaemonSetStatus). During an update in which all
 * other pods are ready, the first ready pod of the current template is therefore enough. The result
 * is false for a status that is older than the spec.
 */
export function runsAnywhere({ generation, status }: DaemonSet): boolean {
  if (count(status, 'observedGeneration') < (asId(generation) ?? 0)) return false
  const pods = count(status, 'currentNumberScheduled')
  return count(status, 'numberReady') + count(status, 'updatedNumberScheduled') > pods
}

/** Reports whether at least one pod of a DaemonSet, of any template, is ready. */
export function isAnyReady({ status }: DaemonSet): boolean {
  return count(status, 'numberReady') > 0
}

function count(status: unknown, field: string): number {
  return asId(fieldsOrNone(status)[field]) ?? 0
}
