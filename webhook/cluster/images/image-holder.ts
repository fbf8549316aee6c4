import {
  type DaemonSet,
  readDaemonSet,
  runsAnywhere,
} from '../../../src/core/kubernetes/daemon-set.ts'
import { ruleItem, type StoredObject } from '../reflect/item.ts'

/**
 * Keeps of a DaemonSet the images that its pods run, and how many of them do.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function holderItem(object: unknown): StoredObject {
  return { ...ruleItem(object), object: { ...readDaemonSet(object) } }
}

/** The images of a holder's pods, by its present template. */
export function listImages({ object }: StoredObject): readonly string[] {
  return (object as unknown as DaemonSet).images
}

/** Whether at least one pod of a holder runs the present template. */
export function isHeld({ object }: StoredObject): boolean {
  return runsAnywhere(object as unknown as DaemonSet)
}
