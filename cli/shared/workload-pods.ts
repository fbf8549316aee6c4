import { existsSync } from 'node:fs'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { ClusterName } from '../../src/cluster/access.ts'
import { describeFailure } from '../../src/cluster/api-error.ts'
import type { Catalog } from '../../src/core/catalog.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { comparable } from '../../src/pods/explain/injection-outcome.ts'
import { findObservers, type PodOfObservers } from '../../src/runs/collect/observers.ts'
import {
  type Chosen,
  joinNames,
  readSelector,
  readWorkload,
} from '../../src/runs/collect/workload.ts'
import {
  type Comparison,
  type ReadPod,
  resolveWorkloadPods,
  WorkloadError,
  type WorkloadPods,
} from '../../src/runs/collect/workload-pods.ts'
import { type RunPod, readPodFacts } from '../../src/runs/facts/pod-facts.ts'
import { readClusterCatalog } from './catalogs/cluster-catalog.ts'
import { UsageError, usageError } from './errors.ts'
import { openCluster } from './open-cluster.ts'
import { type Reader, readerOf } from './reader.ts'
import type { SettingOptions } from './settings.ts'

/** The options that choose the pods of a workload and the catalog. */
export interface WorkloadOptions extends ClusterName {
  readonly namespace?: string
  readonly selector?: string
  readonly catalog?: string
  readonly observerImage?: string
}

/** A pod of a workload, with its observers, and with the times in its status. */
export interface FoundPod extends PodOfObservers {
  readonly facts: RunPod
}

const readPod: ReadPod<FoundPod> = (pod, metrics, catalog) => ({
  ...findObservers(pod, metrics, catalog),
  facts: readPodFacts(pod, metrics),
})

/**
 * Finds the pods of a workload, KIND/NAME or KIND NAME, or of a label selector, with their
 * observers.
 *
 * @throws UsageError if the command line, the catalog or the cluster has a problem, or no pod has
 * an observer
 */
export async function findWorkloadPods(
  words: readonly string[],
  options: WorkloadOptions,
  environment: NodeJS.ProcessEnv,
): Promise<WorkloadPods<FoundPod>> {
  const chosen = choose(words, options)
  const { apiserver, ...found } = await openCluster(options, environment)
  const namespace = options.namespace ?? found.namespace
  const { catalog: folder, observerImage } = options
  const known = await loadCatalog({ folder, observerImage }).catch(usageError)
  const reader = readerOf(apiserver, namespace)
  const compare = () => comparisonWith(known, options, reader)
  const place = { apiserver, namespace }
  const resolving = resolveWorkloadPods(place, chosen, compare, readPod)
  const { find, ...resolved } = await resolving.catch(trouble)
  return { ...resolved, find: () => find().catch(trouble) }
}

const NAME_PODS =
  'name a workload whose pods are in the cluster, KIND/NAME, such as job/lammps; top, report, ' +
  'compare and convert read files'

function choose(words: readonly string[], { selector }: WorkloadOptions): Chosen {
  const [workload, second] = joinNames(words, () => false)
  if ((workload === undefined) === (selector === undefined))
    throw new UsageError('name either KIND/NAME, such as job/lammps, or --selector LABELS')
  if (second !== undefined) throw new UsageError(`name one workload: ${workload} or ${second}`)
  const chosen = workload === undefined ? readSelector(selector ?? '') : readWorkload(workload)
  if (!('problem' in chosen)) return chosen
  const isFile = workload !== undefined && existsSync(workload)
  throw new UsageError(isFile ? `${workload} is a file or a folder; ${NAME_PODS}` : chosen.problem)
}

function trouble(error: unknown): never {
  if (error instanceof UsageError) throw error
  throw new UsageError(error instanceof WorkloadError ? error.message : describeFailure(error))
}

/**
 * Chooses the catalog that the options name, otherwise the catalog of the cluster. If the cluster's
 * catalog cannot be read, pods whose annotation `ridealong.dev/status` names the revision of
 * `known` are compared with `known`. Other pods are not compared.
 *
 * @param known the catalog that the options name, otherwise the built-in catalog
 */
async function comparisonWith(
  known: Catalog,
  { catalog, observerImage }: SettingOptions,
  reader: Reader,
): Promise<Comparison> {
  const isNamed = catalog !== undefined || observerImage !== undefined
  if (isNamed) return { catalog: known, catalogFor: () => known, problem: undefined }
  const installed = await readClusterCatalog(reader)
  if ('value' in installed)
    return { catalog: installed.value, catalogFor: () => installed.value, problem: undefined }
  const catalogFor = (pod: Fields) => comparable(known, true, pod)
  return { catalog: known, catalogFor, problem: installed.problem }
}
