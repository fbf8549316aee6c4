import { asId, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/**
 * The fields of an apps/v1 DaemonSet that tell which images its pods run and how many pods are
 * ready.
 */
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
 * of the current template, ready or not. If the sum of the two is greater than the number of all
 * pods, at least one pod is in both groups (kubernetes pkg/controller/daemon/daemon_controller.go,
 * updateDaemonSetStatus). While all other pods are ready, an update in progress therefore counts
 * from its first ready pod. A status that is older than the template is ignored.
 */
export function runsAnywhere({ generation, status }: DaemonSet): boolean {
  if (count(status, 'observedGeneration') < (asId(generation) ?? 0)) return false
  const pods = count(status, 'currentNumberScheduled')
  return count(status, 'numberReady') + count(status, 'updatedNumberScheduled') > pods
}

/** Reports whether at least one pod of a DaemonSet is ready, of any template. */
export function isAnyReady({ status }: DaemonSet): boolean {
  return count(status, 'numberReady') > 0
}

function count(status: unknown, field: string): number {
  return asId(fieldsOrNone(status)[field]) ?? 0
}
