import { type Fields, fieldsOrNone, idOf, listOrNone, textOf } from '../../src/core/json.ts'
import { type Item, ruleItem } from './item.ts'

/**
 * Keeps of a DaemonSet the images that its pods run, and how many of them do.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function holderItem(object: unknown): Item {
  const { generation } = fieldsOrNone(fieldsOrNone(object).metadata)
  const { status, spec } = fieldsOrNone(object)
  const images = containersOf(spec).flatMap(({ image }) => textOf(image) ?? [])
  return { ...ruleItem(object), object: { generation, images, status } }
}

function containersOf(spec: unknown): readonly Fields[] {
  const template = fieldsOrNone(fieldsOrNone(spec).template)
  return listOrNone(fieldsOrNone(template.spec).containers).map(fieldsOrNone)
}

/** The images of a holder's pods, as its template has them now. */
export function imagesOf({ object }: Item): readonly string[] {
  return object.images as readonly string[]
}

/**
 * Whether one pod of a holder, at least, runs what its template says now. The status counts pods that
 * are ready, whatever they run, and pods of the present template, ready or not; where these are
 * together more than all pods, one is both (kubernetes pkg/controller/daemon/daemon_controller.go,
 * updateDaemonSetStatus). So an update in progress counts from its first pod that is ready, and a
 * status older than the template counts for nothing.
 */
export function isHeld({ object: { generation, status } }: Item): boolean {
  const counted = fieldsOrNone(status)
  const count = (field: string) => idOf(counted[field]) ?? 0
  if (count('observedGeneration') < (idOf(generation) ?? 0)) return false
  const pods = count('currentNumberScheduled')
  return count('numberReady') + count('updatedNumberScheduled') > pods
}
