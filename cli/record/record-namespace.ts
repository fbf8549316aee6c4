import { isMissing } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { redactObject } from '../../src/pods/recording/redact.ts'

const PATIENCE_MS = 10_000

const RULES = [
  { resource: 'limitranges', kind: 'LimitRange' },
  { resource: 'resourcequotas', kind: 'ResourceQuota' },
] as const

/**
 * Reads a Namespace and its LimitRanges and ResourceQuotas, and redacts them. A decision depends on
 * these objects, the pod, and the settings of the webhook.
 *
 * @returns an empty list if the namespace does not exist
 * @throws ApiError, or a network error
 */
export async function readNamespaceObjects(
  api: Apiserver,
  namespace: string,
): Promise<readonly Fields[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`
  const ask = (path: string) => api.ask({ path, signal: AbortSignal.timeout(PATIENCE_MS) })
  const rules = RULES.map(async ({ resource, kind }) => {
    const { items } = await ask(`${path}/${resource}`)
    // The items of a list have no apiVersion and kind.
    return listOrNone(items).map((item) => ({ apiVersion: 'v1', kind, ...fieldsOrNone(item) }))
  })
  try {
    const [own, ...others] = await Promise.all([ask(path), ...rules])
    return [own, ...others.flat()].map((object) => redactObject(fieldsOrNone(object)))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
