import { type ClusterName, hasCluster } from '../../src/cluster/access.ts'
import { describeFailure, isMissing } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { asObjects, type Fields } from '../../src/core/kubernetes/json.ts'
import type { FactLookup } from '../../src/pods/explain/facts.ts'
import { UsageError } from './errors.ts'
import { openCluster } from './open-cluster.ts'

const PATIENCE_MS = 10_000

/** Reads the JSON that an apiserver serves. No field is renamed or dropped. */
export interface Reader {
  readonly apiserver: Apiserver
  /** The namespace that kubectl would use by default. */
  readonly namespace: string
  /**
   * Reads an object or a list.
   *
   * @returns undefined if the object does not exist
   * @throws UsageError with the error message of the apiserver or the system
   */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<Fields | undefined>
  /**
   * Reads an object or a list, or returns the problem that prevents reading it. The value is
   * undefined if the object does not exist.
   */
  look(path: string): Promise<FactLookup<Fields | undefined>>
}

/**
 * Opens a cluster for reading.
 *
 * @throws UsageError if no cluster is configured, or its kubeconfig is invalid
 */
export async function openReader(
  cluster: ClusterName,
  environment: NodeJS.ProcessEnv,
): Promise<Reader> {
  const { apiserver, namespace } = await openCluster(cluster, environment)
  return readerOf(apiserver, namespace)
}

/** The options of a verb that reads a cluster if one is configured. */
export interface OptionalCluster extends ClusterName {
  readonly offline?: boolean | undefined
}

/**
 * Opens the configured cluster for reading. The value is undefined if no cluster is configured, or
 * the option `--offline` is set. If the kubeconfig of the environment is invalid, returns the
 * problem.
 *
 * @throws UsageError if the kubeconfig or the context that an option names is invalid
 */
export async function openOptionalReader(
  { offline, ...cluster }: OptionalCluster,
  environment: NodeJS.ProcessEnv,
): Promise<FactLookup<Reader | undefined>> {
  const isRead = offline !== true && hasCluster({ ...cluster, environment, mayReadHome: true })
  if (!isRead) return { value: undefined }
  try {
    return { value: await openReader(cluster, environment) }
  } catch (error) {
    if (isNamed(cluster) || !(error instanceof UsageError)) throw error
    return { problem: error.message }
  }
}

function isNamed({ kubeconfig, context }: ClusterName): boolean {
  return kubeconfig !== undefined || context !== undefined
}

/** Returns a Reader for an open connection. */
export function readerOf(apiserver: Apiserver, namespace: string): Reader {
  const ask = (path: string, query = {}) =>
    apiserver.ask({ path, query, signal: AbortSignal.timeout(PATIENCE_MS) })
  const get = async (path: string, query?: Readonly<Record<string, string>>) => {
    try {
      return await ask(path, query)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw new UsageError(describeFailure(error))
    }
  }
  const look = async (path: string) => {
    try {
      return { value: await ask(path) }
    } catch (error) {
      return isMissing(error) ? { value: undefined } : { problem: describeFailure(error) }
    }
  }
  return { apiserver, namespace, get, look }
}

/** Returns the objects of a list, or the problem that prevented reading it. */
export function listed(list: FactLookup<Fields | undefined>): FactLookup<readonly Fields[]> {
  return 'problem' in list ? list : { value: asObjects(list.value?.items) }
}
