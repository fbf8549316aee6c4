import { ruleItem, type StoredObject } from '../../../src/cluster/reflect/item.ts'
import {
  type DaemonSet,
  isAnyReady,
  readDaemonSet,
  runsAnywhere,
} from '../../../src/core/kubernetes/daemon-set.ts'

/**
 * Selects the fields of a DaemonSet to keep: its generation, the images of its pods, and the status
 * with the numbers of pods.
 *
 * @throws an error for an object without a name, a namespace or a resourceVersion
 */
export function holderItem(object: unknown): StoredObject {
  return { ...ruleItem(object), object: { ...readDaemonSet(object) } }
}

/** Returns the images of the DaemonSet's current pod template. */
export function listImages(holder: StoredObject): readonly string[] {
  return daemonSetOf(holder).images
}

/** Returns the generation of the DaemonSet, which each change of its template increases. */
export function generationOf(holder: StoredObject): unknown {
  return daemonSetOf(holder).generation
}

/** Reports whether at least one pod of the DaemonSet is ready, whatever its template. */
export function hasReadyPod(holder: StoredObject): boolean {
  return isAnyReady(daemonSetOf(holder))
}

/** Reports whether at least one pod runs the current pod template and is ready. */
export function isHeld(holder: StoredObject): boolean {
  return runsAnywhere(daemonSetOf(holder))
}

/**
 * Casts the object to the type that `holderItem` keeps. A store has one type for all kinds of
 * objects.
 */
function daemonSetOf({ object }: StoredObject): DaemonSet {
  return object as unknown as DaemonSet
}
