import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../cluster/apiserver.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import { askingNamespace, askingPod } from '../../doctor/probe.ts'
import type { FactLookup } from '../../explain/facts.ts'
import { describeApiError } from './api-error.ts'

/**
 * Creates a Namespace that requests a metric, in a dry run. Returns the Namespace that the
 * apiserver would store.
 */
export function tryNamespace(
  apiserver: Apiserver,
  metric: string,
  revision: string | undefined,
): Promise<FactLookup<Fields>> {
  return tried(apiserver, '/api/v1/namespaces', askingNamespace(metric, revision))
}

/**
 * Creates a pod that requests a metric, in a dry run. Returns the pod that the apiserver would
 * store.
 *
 * @param annotations more annotations of the pod, such as options of the metric
 */
export function tryPod(
  apiserver: Apiserver,
  namespace: string,
  metric: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<FactLookup<Fields>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  return tried(apiserver, path, askingPod(metric, annotations))
}

async function tried(
  apiserver: Apiserver,
  path: string,
  create: Fields,
): Promise<FactLookup<Fields>> {
  // The request can take as long as the timeouts of all admission webhooks of the cluster together.
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  try {
    return { value: await apiserver.ask({ path, query: { dryRun: 'All' }, create, signal }) }
  } catch (error) {
    return { problem: describeApiError(error) }
  }
}
