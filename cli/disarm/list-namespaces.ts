import { describeApiError } from '../../src/cluster/api-error.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../src/cluster/apiserver.ts'
import { asObjects, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { UsageError } from '../shared/errors.ts'

/** The path of all namespaces. */
export const NAMESPACES = '/api/v1/namespaces'

/**
 * Returns the names of the namespaces that a label selector selects.
 *
 * @param words the part of the error message after `cannot list namespaces`
 * @throws UsageError if namespaces cannot be listed
 */
export async function listNamespaces(
  { ask }: Apiserver,
  labelSelector: string,
  words: string,
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  try {
    const { items } = await ask({ path: NAMESPACES, query: { labelSelector }, signal })
    return asObjects(items).map(({ metadata }) => String(fieldsOrNone(metadata).name))
  } catch (error) {
    throw new UsageError(`cannot list namespaces ${words}: ${describeApiError(error)}`)
  }
}
