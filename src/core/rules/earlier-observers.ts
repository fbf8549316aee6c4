import type { Catalog } from '../catalog.ts'
import { type Decision, type Left, leave, type Stripped } from '../decision.ts'
import { asObjects, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { isAlwaysRestarted } from '../kubernetes/restart-policy.ts'
import { injectedBefore, readStatus } from '../status.ts'
import { isAddedVolume } from '../tools/added-volumes.ts'
import {
  CATALOG_VARIABLE,
  type Difference,
  findContainer,
  isObserver,
  observerDifference,
} from './observer-difference.ts'

/**
 * Reports whether the pod has the observers of another catalog, according to its status annotation.
 * While a namespace moves from one release to another, both can be called for the same pod, and
 * their catalogs may differ. The observers of the first release are then not compared with the
 * catalog of the second.
 */
export function wasInjectedByOther({ annotations, spec }: Pod, catalog: Catalog): boolean {
  const names = injectedBefore(annotations)
  return (
    names.length > 0 &&
    readStatus(annotations)?.catalog !== catalog.revision &&
    names.every((name) => findContainer(spec, name) !== undefined)
  )
}

/** The observers that the pod already has, compared with the catalog. */
export interface Earlier {
  /** The names of the observers that match the catalog. */
  readonly present: readonly string[]
  readonly different: readonly Difference[]
  /**
   * The names of the observers that match the catalog, except possibly for the image or the tool.
   * If another webhook removed the restartPolicy of such an observer, the field must be restored.
   * Otherwise, the application would never start.
   */
  readonly repairable: readonly string[]
  /** Whether the status annotation of the pod says that the pod was injected. */
  readonly hasStatus: boolean
}

/**
 * Finds the observers that an earlier call of the webhook or `ridealong inject` added. The author
 * of a pod can write any text into `ridealong.dev/status`, so this annotation only selects the
 * containers to compare with the catalog. `kubectl debug --copy-to` drops the annotation, so the
 * containers with the name and a variable of an observer are compared too.
 */
export function findEarlierObservers(pod: Pod, catalog: Catalog): Earlier {
  const claimed = injectedBefore(pod.annotations)
  const found = [
    ...findNamed(pod, catalog, claimed),
    ...findNamed(pod, catalog, containerNames(pod)).filter(
      ({ container }) => !claimed.includes(String(container.name)) && isObserver(container),
    ),
  ]
  const compared = found.map(({ container, list }) => ({
    name: String(container.name),
    difference: observerDifference(catalog, pod.spec, container, list),
  }))
  return {
    present: compared.flatMap(({ name, difference }) => (difference === undefined ? [name] : [])),
    different: compared.flatMap(({ difference }) => difference ?? []),
    repairable: compared.flatMap(({ name, difference }) =>
      difference === undefined || difference.isCommandSame ? [name] : [],
    ),
    hasStatus: claimed.length > 0,
  }
}

/**
 * Reports whether a container of the pod is an observer of another catalog, which may have other
 * default metrics. Only the containers count: a patch replaces the status annotation, so that a
 * second review would decide differently by it.
 */
export function hasObserverOfOther({ spec }: Pod, { revision }: Catalog): boolean {
  const isOfOther = ({ env }: Fields) =>
    asObjects(env).some(({ name, value }) => name === CATALOG_VARIABLE && value !== revision)
  return [...asObjects(spec.initContainers), ...asObjects(spec.containers)].some(isOfOther)
}

/** Finds the containers of a pod with one of these names that are also names of metrics. */
function findNamed({ spec }: Pod, { metrics }: Catalog, names: readonly string[]) {
  const known = names.filter((name) => metrics.has(name))
  return [...new Set(known)].flatMap((name) => findContainer(spec, name) ?? [])
}

function containerNames({ initContainers, containers }: Pod): readonly string[] {
  return [...initContainers, ...containers].map(({ name }) => name)
}

/**
 * Returns the decision about a pod that may have observers already. A pod that is left keeps them.
 * A copy of an injected pod is left instead of denied.
 *
 * @param decision the decision about the observers that the pod does not have
 */
export function settle(pod: Pod, decision: Decision, earlier: Earlier): Decision {
  const isLeft = decision.outcome === 'left' || decision.outcome === 'denied'
  if (!isLeft || (decision.outcome === 'denied' && !isCopy(pod, earlier))) return decision
  return keepObservers(pod, earlier) ?? leave(decision.reason, decision.message)
}

/**
 * Reports whether a pod is a copy of an injected pod without its annotations, as
 * `kubectl debug --copy-to` creates it (kubectl v0.36 pkg/cmd/debug/debug.go): it has no status,
 * but an observer or a volume of Ridealong. Such a pod is never denied, because its author did not
 * add them.
 */
function isCopy({ spec }: Pod, { present, different, hasStatus }: Earlier): boolean {
  if (hasStatus) return false
  const isCarrying = present.length + different.length > 0
  return isCarrying || listOrNone(spec.volumes).some((one) => isAddedVolume(fieldsOrNone(one).name))
}

/**
 * Decides about a pod that gets no more observers. The pod keeps its existing observers. If another
 * webhook removed the restartPolicy of an observer or reset `shareProcessNamespace`, this field is
 * restored. In a pod without a status, `shareProcessNamespace` is left as its author chose it.
 * Returns undefined if the pod has no observers.
 */
function keepObservers(pod: Pod, earlier: Earlier): Decision | undefined {
  const { present, different, repairable, hasStatus } = earlier
  const stripped = findStripped(pod, repairable)
  const isShared = pod.shareProcessNamespace === 'true' || !hasStatus
  const isWhole = stripped.length === 0 && isShared
  if (repairable.length > 0 && !isWhole) return { outcome: 'restored', stripped }
  if (different.length > 0) return leaveDifferent(different)
  return present.length > 0 ? leave('already-injected') : undefined
}

/**
 * Returns the decision to leave a pod with an observer that differs from the catalog's observer.
 * The container may come from another version of the catalog, another webhook may have rewritten
 * its image, or the status annotation may be forged. These cases cannot be distinguished, so the
 * pod is neither changed nor denied.
 */
export function leaveDifferent(different: readonly Difference[]): Left {
  return leave('observer-differs', different.map(({ sentence }) => sentence).join('; '))
}

/**
 * Returns the indexes of the init containers that are observers without `restartPolicy: Always`.
 * Only the first container of each name is considered, because Kubernetes refuses a pod that has
 * two containers with the same name.
 */
export function findStripped(pod: Pod, present: readonly string[]): Stripped {
  const missing = new Set(present)
  return pod.initContainers.flatMap((container, place) =>
    missing.delete(container.name) && !isAlwaysRestarted(container) ? [place] : [],
  )
}
