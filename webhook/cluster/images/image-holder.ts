import {
  asId,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../../src/core/kubernetes/json.ts'
import { ruleItem, type StoredObject } from '../reflect/item.ts'

/**
 * Keeps of a DaemonSet the images that its pods run, and how many of them do.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function holderItem(object: unknown): StoredObject {
  const { generation } = fieldsOrNone(fieldsOrNone(object).metadata)
  const { status, spec } = fieldsOrNone(object)
  const images = readContainers(spec).flatMap(({ image }) => asText(image) ?? [])
  return { ...ruleItem(object), object: { generation, images, status } }
}

function readContainers(spec: unknown): readonly Fields[] {
  const template = fieldsOrNone(fieldsOrNone(spec).template)
  return listOrNone(fieldsOrNone(template.spec).containers).map(fieldsOrNone)
}

/** The images of a holder's pods, as its template has them now. */
export function listImages({ object }: StoredObject): readonly string[] {
  return object.images as readonly string[]
}

/**
 * Whether one pod of a holder, at least, runs what its template says now. The status counts pods that
 * are ready, whatever they run, and pods of the present template, ready or not; where these are
 * together more than all pods, one is both (kubernetes pkg/controller/daemon/daemon_controller.go,
 * updateDaemonSetStatus). So an update in progress counts from its first pod that is ready, and a
 * status older than the template counts for nothing.
 */
export function isHeld({ object: { generation, status } }: StoredObject): boolean {
  const counted = fieldsOrNone(status)
  const count = (field: string) => asId(counted[field]) ?? 0
  if (count('observedGeneration') < (asId(generation) ?? 0)) return false
  const pods = count('currentNumberScheduled')
  return count('numberReady') + count('updatedNumberScheduled') > pods
}
