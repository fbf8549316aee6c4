import type { Apiserver } from '../../cluster/apiserver.ts'
import { listPods } from '../../cluster/pods.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import { formatList } from '../../lib/format-list.ts'
import { type Descriptions, descriptionsIn } from '../log/descriptions.ts'
import type { PodOfObservers } from './observers.ts'
import { type OwnerSearch, startOwnerSearch, UnknownKindError } from './owned-pods.ts'
import type { Chosen } from './workload.ts'

/** A workload has no pods or no observers. The message is a complete sentence for the user. */
export class WorkloadError extends Error {
  override readonly name = 'WorkloadError'
}

/** The pods of a workload with their observers. */
export interface WorkloadPods<Pod extends PodOfObservers = PodOfObservers> {
  readonly apiserver: Apiserver
  readonly namespace: string
  /** The name of the workload for messages: KIND/NAME, or the selector. */
  readonly words: string
  readonly pods: readonly Pod[]
  /** Lists the pods again. */
  readonly find: () => Promise<readonly Pod[]>
  /** The descriptions of the rows of the catalog's metrics. */
  readonly descriptions: Descriptions
  /** The problem that prevented reading the cluster's catalog, if that catalog was needed. */
  readonly problem: string | undefined
  /** Why pods of the workload may be missing; undefined if all were found. */
  readonly incomplete: string | undefined
}

/**
 * Reads a pod of a workload.
 *
 * @param pod a core/v1 Pod, as returned by the apiserver
 * @param metrics the names of the catalog's metrics
 * @param catalog the catalog to compare containers with; undefined to omit the comparison
 */
export type ReadPod<Pod> = (
  pod: Fields,
  metrics: ReadonlySet<string>,
  catalog: Catalog | undefined,
) => Pod

/** The catalogs with which the containers of pods are compared. */
export interface Comparison {
  /**
   * The catalog that describes the metrics: the catalog that the options name, otherwise the
   * catalog of the cluster, otherwise the built-in catalog.
   */
  readonly catalog: Catalog
  /** Returns the catalog to compare a pod's containers with; undefined to omit the comparison. */
  readonly catalogFor: (pod: Fields) => Catalog | undefined
  /** The problem that prevented reading the cluster's catalog, if that catalog was needed. */
  readonly problem: string | undefined
}

/**
 * Resolves a workload to its pods, with their observers: by a label, or by the controllers of all
 * pods of the namespace.
 *
 * @param compare reads the catalogs to compare with. It is called once and only after pods were
 * listed. If the cluster does not answer, the error is therefore about the pods.
 * @throws WorkloadError if no pod has an observer, or the cluster does not serve the kind; the
 * error of the failed request for the list of pods; an error of `compare`
 */
export async function resolveWorkloadPods<Pod extends PodOfObservers>(
  { apiserver, namespace }: Pick<WorkloadPods, 'apiserver' | 'namespace'>,
  chosen: Chosen,
  compare: () => Promise<Comparison>,
  readPod: ReadPod<Pod>,
): Promise<WorkloadPods<Pod>> {
  let comparison: Promise<Comparison> | undefined
  const compareOnce = () => {
    comparison ??= compare()
    return comparison
  }
  const read = async (pods: readonly Fields[]) => {
    const { catalog, catalogFor } = await compareOnce()
    const names = new Set(catalog.metrics.keys())
    return pods.map((pod) => readPod(pod, names, catalogFor(pod)))
  }
  const place = { apiserver, namespace }
  const search = chosen.by === 'owner' ? await searchOwned(place, chosen) : undefined
  const find = async () => {
    if (chosen.by !== 'owner') return listPods(apiserver, namespace, chosen, read)
    const readOwned = async (all: readonly Fields[]) => read((await search?.filter(all)) ?? [])
    return listPods(apiserver, namespace, { by: 'namespace' }, readOwned)
  }
  const pods = await find()
  const { words } = chosen
  const right = missingRight(search, namespace)
  mustHaveObservers(pods, { words, namespace, right })
  const { catalog, problem } = await compareOnce()
  const incomplete =
    right === undefined ? undefined : `pods of ${words} may be missing: you lack ${right}`
  const descriptions = descriptionsIn(catalog)
  return { apiserver, namespace, words, pods, find, descriptions, problem, incomplete }
}

function searchOwned(
  place: Pick<WorkloadPods, 'apiserver' | 'namespace'>,
  chosen: Extract<Chosen, { by: 'owner' }>,
): Promise<OwnerSearch> {
  return startOwnerSearch(place, chosen).catch((error: unknown) => {
    throw error instanceof UnknownKindError ? new WorkloadError(error.message) : error
  })
}

/** Returns the right without which pods of the workload may be missing. */
function missingRight(search: OwnerSearch | undefined, namespace: string): string | undefined {
  const resources = search?.forbidden() ?? []
  if (resources.length === 0) return undefined
  return `the right to list ${formatList(resources, 'and')} in namespace ${namespace}`
}

interface Looked {
  readonly words: string
  readonly namespace: string
  readonly right: string | undefined
}

function mustHaveObservers(
  pods: readonly PodOfObservers[],
  { words, namespace, right }: Looked,
): void {
  if (pods.length === 0 && right !== undefined)
    throw new WorkloadError(`the pods of ${words} cannot be found without ${right}`)
  if (pods.length === 0)
    throw new WorkloadError(`there are no pods of ${words} in namespace ${namespace}`)
  if (pods.some(({ observers }) => observers.length > 0)) return
  const left = pods.find((pod) => pod.left !== null)
  const counted = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`
  const why =
    left === undefined ? '' : `; pod ${left.name} was left without observers: ${left.left}`
  throw new WorkloadError(`there are no observers in the ${counted} of ${words}${why}`)
}
