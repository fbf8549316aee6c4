import { loadCatalog } from '../../src/catalog/load.ts'
import { describeFailure } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { listPods } from '../../src/cluster/pods.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { findObservers, type PodOfObservers } from '../../src/runs/collect/observers.ts'
import { type Chosen, readSelector, readWorkload } from '../../src/runs/collect/workload.ts'
import { type Descriptions, descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { type Comparison, comparisonWith } from './comparison.ts'
import { UsageError, usageError } from './errors.ts'
import { openCluster } from './open-cluster.ts'
import { readerOf } from './reader.ts'

/** The options that choose the pods of a workload and the catalog. */
export interface WorkloadOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  readonly selector?: string
  readonly catalog?: string
  readonly observerImage?: string
}

/** The pods of a workload with their observers. */
export interface WorkloadPods {
  readonly apiserver: Apiserver
  readonly namespace: string
  /** The name of the workload for messages: KIND/NAME, or the selector. */
  readonly words: string
  readonly pods: readonly PodOfObservers[]
  /** Lists the pods again. */
  readonly find: FindPods
  /** The descriptions of the rows of the catalog's metrics. */
  readonly descriptions: Descriptions
  /** The problem that prevented reading the cluster's catalog, if that catalog was needed. */
  readonly problem: string | undefined
}

export type FindPods = () => Promise<readonly PodOfObservers[]>

/**
 * Finds the pods of a workload, KIND/NAME, or of a label selector, with their observers.
 *
 * @throws UsageError if the command line, the catalog or the cluster has a problem, or no pod has
 * an observer
 */
export async function findWorkloadPods(
  workload: string | undefined,
  options: WorkloadOptions,
): Promise<WorkloadPods> {
  const chosen = choose(workload, options)
  const { apiserver, ...found } = await openCluster(options)
  const namespace = options.namespace ?? found.namespace
  const { catalog: folder, observerImage } = options
  const known = await loadCatalog({ folder, observerImage }).catch(usageError)
  const reader = readerOf(apiserver, namespace)
  // The catalog of the cluster is read only after pods were listed. If the cluster does not answer,
  // the message is therefore about the pods.
  let comparison: Promise<Comparison> | undefined
  const compare = () => {
    comparison ??= comparisonWith(known, options, reader)
    return comparison
  }
  const read = async (pods: readonly Fields[]) => {
    const { catalog, catalogFor } = await compare()
    const names = new Set(catalog.metrics.keys())
    return pods.map((pod) => findObservers(pod, names, catalogFor(pod)))
  }
  const find = () => listPods(apiserver, namespace, chosen, read).catch(apiTrouble)
  const pods = await find()
  const { words } = chosen
  mustHaveObservers(pods, words, namespace)
  const { catalog, problem } = await compare()
  return { apiserver, namespace, words, pods, find, descriptions: descriptionsIn(catalog), problem }
}

function choose(workload: string | undefined, { selector }: WorkloadOptions): Chosen {
  if ((workload === undefined) === (selector === undefined))
    throw new UsageError('name either KIND/NAME, such as job/lammps, or --selector LABELS')
  const chosen = workload === undefined ? readSelector(selector ?? '') : readWorkload(workload)
  if ('problem' in chosen) throw new UsageError(chosen.problem)
  return chosen
}

function apiTrouble(error: unknown): never {
  if (error instanceof UsageError) throw error
  throw new UsageError(describeFailure(error))
}

function mustHaveObservers(
  pods: readonly PodOfObservers[],
  words: string,
  namespace: string,
): void {
  if (pods.length === 0)
    throw new UsageError(`there are no pods of ${words} in namespace ${namespace}`)
  if (pods.some(({ observers }) => observers.length > 0)) return
  const left = pods.find((pod) => pod.left !== null)
  const counted = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`
  const why =
    left === undefined ? '' : `; pod ${left.name} was left without observers: ${left.left}`
  throw new UsageError(`there are no observers in the ${counted} of ${words}${why}`)
}
