import { asId, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** The part of an apps/v1 DaemonSet that says which images its pods run, and how many pods do. */
export interface DaemonSet {
  readonly generation: unknown
  readonly images: readonly string[]
  readonly status: unknown
}

/** Reads a DaemonSet. Fields of another type count as absent. */
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
 * Whether at least one pod of a DaemonSet runs its present template. The status counts pods that are
 * ready, of any template, and pods of the present template, ready or not; where these are together
 * more than all pods, one is both (kubernetes pkg/controller/daemon/daemon_controller.go,
 * updateDaemonSetStatus). So an update in progress counts from its first pod that is ready, and a
 * status older than the template counts for nothing.
 */
export function runsAnywhere({ generation, status }: DaemonSet): boolean {
  const counted = fieldsOrNone(status)
  const count = (field: string) => asId(counted[field]) ?? 0
  if (count('observedGeneration') < (asId(generation) ?? 0)) return false
  const pods = count('currentNumberScheduled')
  return count('numberReady') + count('updatedNumberScheduled') > pods
}
