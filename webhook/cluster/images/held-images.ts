import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import type { Intervals } from '../backoff.ts'
import type { StoredObject } from '../reflect/item.ts'
import { type Reflector, startReflector } from '../reflect/reflector.ts'
import { createStore } from '../reflect/store.ts'
import { holderItem, isHeld, listImages } from './image-holder.ts'

/** The label of the DaemonSets that keep images on nodes. */
const HOLDER = 'ridealong.dev/image'

export interface HeldImageOptions {
  readonly api: Apiserver
  /** The namespace of the DaemonSets. */
  readonly namespace: string
  readonly pace: Intervals
  onTrouble(trouble: string, isLasting: boolean): void
  /** Called for each image that becomes available or unavailable. */
  onChange(image: string, isHeld: boolean): void
}

/** The images that at least one node is known to have. */
export interface HeldImages {
  /**
   * Returns an immutable set. The set is empty before the first list: an observer whose image is
   * not known to be available is not injected.
   */
  current(): ReadonlySet<string>
  readonly mirror: Reflector
  stop(): void
}

/**
 * Watches the DaemonSets of a namespace that keep images on nodes.
 *
 * If a DaemonSet has no running pod, its image is not available. If a DaemonSet was deleted, or now
 * has another image, its old image counts as available for `orphanMs`: nodes keep images for a
 * while (kubelet pkg/kubelet/images, image_gc_manager.go), and an upgrade replaces the DaemonSets
 * before the servers read the new catalog.
 */
export function watchHeldImages(options: HeldImageOptions): HeldImages {
  const { api, namespace, pace, onTrouble, onChange } = options
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`
  let known: ReadonlyMap<string, boolean> = new Map()
  let current: ReadonlySet<string> = new Set()
  const orphans = new Map<string, NodeJS.Timeout>()
  const update = () => {
    const told = toldBy(collection.of(namespace))
    for (const image of current) if (!told.has(image)) adopt(image)
    for (const image of told.keys()) release(image)
    const next = new Map([...told, ...[...orphans.keys()].map((image) => [image, true] as const)])
    const before = known
    known = next
    current = new Set([...next].flatMap(([image, held]) => (held ? [image] : [])))
    tellChanges(before, next, onChange)
  }
  const adopt = (image: string) => {
    if (orphans.has(image)) return
    orphans.set(image, setTimeout(forget, pace.orphanMs, image).unref())
  }
  const release = (image: string) => {
    clearTimeout(orphans.get(image))
    orphans.delete(image)
  }
  const forget = (image: string) => {
    orphans.delete(image)
    current = new Set([...current].filter((other) => other !== image))
    update()
  }
  const collection = createStore(update)
  const followed = startReflector({
    ...{ api, path, selector: HOLDER, itemOf: holderItem, collection, pace, onTrouble },
  })
  return {
    current: () => current,
    mirror: followed,
    stop() {
      followed.stop()
      for (const image of orphans.keys()) release(image)
    },
  }
}

/** Returns, by image, whether one of the DaemonSets with this image has a pod that runs it. */
function toldBy(holders: readonly StoredObject[]): Map<string, boolean> {
  const told = new Map<string, boolean>()
  for (const holder of holders) {
    for (const image of listImages(holder)) {
      told.set(image, told.get(image) === true || isHeld(holder))
    }
  }
  return told
}

function tellChanges(
  before: ReadonlyMap<string, boolean>,
  after: ReadonlyMap<string, boolean>,
  onChange: HeldImageOptions['onChange'],
): void {
  for (const [image, isHeld] of after) if (isHeld !== before.get(image)) onChange(image, isHeld)
  for (const [image, wasHeld] of before) if (wasHeld && !after.has(image)) onChange(image, false)
}
