import {
  type DaemonSet,
  isAnyReady,
  readDaemonSet,
  runsAnywhere,
} from '../../../src/core/kubernetes/daemon-set.ts'
import { ruleItem, type StoredObject } from '../reflect/item.ts'

/**
 * Selects the fields of a DaemonSet to keep: the images of its pods, and the status that counts the
 * pods.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function holderItem(object: unknown): StoredObject {
  return { ...ruleItem(object), object: { ...readDaemonSet(object) } }
}

/** Returns the images of the DaemonSet's current pod template. */
export function listImages({ object }: StoredObject): readonly string[] {
  return (object as unknown as DaemonSet).images
}

/** Returns the generation of the DaemonSet, which each change of its template increases. */
export function generationOf({ object }: StoredObject): unknown {
  return (object as unknown as DaemonSet).generation
}

/** Reports whether at least one pod of any template is ready. */
export function hasReadyPod({ object }: StoredObject): boolean {
  return isAnyReady(object as unknown as DaemonSet)
}

/** Reports whether at least one pod runs the current pod template and is ready. */
export function isHeld({ object }: StoredObject): boolean {
  return runsAnywhere(object as unknown as DaemonSet)
}
