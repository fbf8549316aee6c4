import type { Apiserver } from '../../cluster/apiserver.ts'
import { isMissing } from '../../cluster/refusal.ts'
import { asObjects, type Fields } from '../../core/kubernetes/json.ts'
import type { FactLookup } from '../../explain/facts.ts'
import { UsageError } from './errors.ts'
import { openCluster } from './open-cluster.ts'
import { describeFailure } from './refusal.ts'

const PATIENCE_MS = 10_000

/** A cluster that is read, as JSON: what the apiserver serves, with no field renamed or dropped. */
export interface Reader {
  readonly apiserver: Apiserver
  /** Where kubectl would look when it is given no namespace. */
  readonly namespace: string
  /** @throws UsageError with the apiserver's own sentence, or the system's; @returns nothing where there is none */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<Fields | undefined>
  /** What may be looked at, or why not. */
  look(path: string): Promise<FactLookup<Fields | undefined>>
}

/**
 * Opens a cluster for reading.
 *
 * @throws UsageError when there is none, or its kubeconfig does not hold
 */
export async function openReader(kubeconfig: string | undefined): Promise<Reader> {
  const { apiserver, namespace } = await openCluster({ kubeconfig })
  return readerOf(apiserver, namespace)
}

/** Reads through an apiserver that is open already. */
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

/** The objects of a list, or why they are not known. */
export function listed(list: FactLookup<Fields | undefined>): FactLookup<readonly Fields[]> {
  return 'problem' in list ? list : { value: asObjects(list.value?.items) }
}
