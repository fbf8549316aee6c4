import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { ruleItem, type StoredObject } from '../../../src/cluster/reflect/item.ts'
import { type Reflector, startReflector } from '../../../src/cluster/reflect/reflector.ts'
import { createStore } from '../../../src/cluster/reflect/store.ts'
import {
  type DaemonSet,
  isAnyReady,
  readDaemonSet,
  runsAnywhere,
} from '../../../src/core/kubernetes/daemon-set.ts'
import type { Intervals } from '../intervals.ts'

/** The label of the DaemonSets that keep images on nodes. */
const HOLDER = 'ridealong.dev/image'

export interface HeldImageOptions {
  readonly api: Apiserver
  /** The namespace of the DaemonSets. */
  readonly namespace: string
  readonly pace: Intervals
  onTrouble(trouble: string, isLasting: boolean): void
  /** Called for each image that is new, or that becomes available or unavailable. */
  onChange(image: string, isHeld: boolean): void
}

/** The images that at least one node is known to have. */
export interface HeldImages {
  /**
   * Returns an immutable set, which is empty before the first list. An observer whose image is not
   * in the set is not injected.
   */
  current(): ReadonlySet<string>
  readonly mirror: Reflector
  stop(): void
}

/**
 * Watches the DaemonSets of a namespace that keep images on nodes.
 *
 * An image becomes unavailable when no pod of its DaemonSet is ready any more. In two cases, an
 * available image stays available for `orphanMs`:
 * - The DaemonSet was deleted.
 * - The DaemonSet has a new template, and no pod of that template has been ready yet.
 *
 * Nodes keep unused images for a while (kubelet pkg/kubelet/images, image_gc_manager.go), and an
 * upgrade replaces the DaemonSets or their pods before the servers read the new catalog.
 */
export function watchHeldImages(options: HeldImageOptions): HeldImages {
  const { api, namespace, pace, onTrouble, onChange } = options
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`
  let known: ReadonlyMap<string, boolean> = new Map()
  let current: ReadonlySet<string> = new Set()
  let proven: ReadonlyMap<string, unknown> = new Map()
  const orphans = new Map<string, NodeJS.Timeout>()
  const update = () => {
    const holders = collection.of(namespace)
    proven = findProven(holders, proven)
    const evidence = classify(holders, proven)
    const isKnown = (image: string) => (evidence.get(image) ?? 'unknown') !== 'unknown'
    for (const image of [...current].filter((each) => !isKnown(each))) adopt(image)
    for (const image of [...evidence.keys()].filter(isKnown)) release(image)
    const told = [...evidence].map(([image, word]) => [image, word === 'held'] as const)
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
    api,
    path,
    selector: HOLDER,
    itemOf: holderItem,
    collection,
    pace,
    onTrouble,
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

/**
 * Returns the generations of the DaemonSets whose current template has had a ready pod, now or at
 * an earlier call. The keys are the names of the DaemonSets.
 */
function findProven(
  holders: readonly StoredObject[],
  before: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, unknown> {
  const proven = holders.filter((holder) => isHeld(holder) || isProven(holder, before))
  return new Map(proven.map((holder) => [holder.name, generationOf(holder)]))
}

function isProven(holder: StoredObject, proven: ReadonlyMap<string, unknown>): boolean {
  return proven.has(holder.name) && proven.get(holder.name) === generationOf(holder)
}

/**
 * The state of an image according to its DaemonSets:
 * - `held`: a ready pod of the current template runs the image.
 * - `lost`: no pod is ready, but a pod of the current template was ready before.
 * - `unknown`: any other state, for example if the DaemonSet or its template is new.
 */
type Evidence = 'held' | 'lost' | 'unknown'

function classify(
  holders: readonly StoredObject[],
  proven: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, Evidence> {
  const isLost = (holder: StoredObject) => isProven(holder, proven) && !hasReadyPod(holder)
  const mark = (some: readonly StoredObject[], evidence: Evidence) =>
    some.flatMap(listImages).map((image) => [image, evidence] as const)
  return new Map([
    ...mark(holders, 'unknown'),
    ...mark(holders.filter(isLost), 'lost'),
    ...mark(holders.filter(isHeld), 'held'),
  ])
}

function tellChanges(
  before: ReadonlyMap<string, boolean>,
  after: ReadonlyMap<string, boolean>,
  onChange: HeldImageOptions['onChange'],
): void {
  for (const [image, isHeld] of after) if (isHeld !== before.get(image)) onChange(image, isHeld)
  for (const [image, wasHeld] of before) if (wasHeld && !after.has(image)) onChange(image, false)
}

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
function generationOf(holder: StoredObject): unknown {
  return daemonSetOf(holder).generation
}

/** Reports whether at least one pod of the DaemonSet is ready, whatever its template. */
function hasReadyPod(holder: StoredObject): boolean {
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
