import { findCluster } from '../../webhook/cluster/access.ts'
import { type Apiserver, apiserverOf, Refusal } from '../../webhook/cluster/apiserver.ts'
import { type Fields, objectsOf } from '../core/json.ts'
import type { Asked } from '../explain/facts.ts'
import { sentenceOf } from '../sentence.ts'
import { UsageError, usageError } from './errors.ts'
import { kubeconfigFile, NO_CLUSTER } from './kubeconfig-file.ts'

const PATIENCE_MS = 10_000

/** A cluster that is read, as JSON: what the apiserver serves, with no field renamed or dropped. */
export interface Reader {
  readonly apiserver: Apiserver
  /** @throws UsageError with the apiserver's own sentence, or the system's; @returns nothing where there is none */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<Fields | undefined>
  /** What may be looked at, or why not. */
  look(path: string): Promise<Asked<Fields | undefined>>
}

/** Whether anything names a cluster: a kubeconfig, or the pod around this process. */
export function hasCluster(kubeconfig: string | undefined): boolean {
  return Boolean(kubeconfigFile(kubeconfig) || process.env.KUBERNETES_SERVICE_HOST)
}

/**
 * Opens a cluster for reading.
 *
 * @throws UsageError when there is none, or its kubeconfig does not hold
 */
export async function openReader(kubeconfig: string | undefined): Promise<Reader> {
  if (!hasCluster(kubeconfig)) throw new UsageError(NO_CLUSTER)
  const apiserver = apiserverOf(await findCluster(kubeconfigFile(kubeconfig)).catch(usageError))
  const ask = (path: string, query = {}) =>
    apiserver.ask({ path, query, signal: AbortSignal.timeout(PATIENCE_MS) })
  const get = async (path: string, query?: Readonly<Record<string, string>>) => {
    try {
      return await ask(path, query)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw new UsageError(reasonOf(error))
    }
  }
  const look = async (path: string) => {
    try {
      return { value: await ask(path) }
    } catch (error) {
      return isMissing(error) ? { value: undefined } : { problem: reasonOf(error) }
    }
  }
  return { apiserver, get, look }
}

function isMissing(error: unknown): boolean {
  return error instanceof Refusal && error.status === 404
}

/** Why the apiserver did not answer, or what it answered. */
export function reasonOf(error: unknown): string {
  return error instanceof Refusal
    ? error.message
    : `the cluster does not answer: ${sentenceOf(error)}`
}

/** The objects of a list, or why they are not known. */
export function listed(list: Asked<Fields | undefined>): Asked<readonly Fields[]> {
  return 'problem' in list ? list : { value: objectsOf(list.value?.items) }
}
