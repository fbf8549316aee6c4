import { ApiError, describeApiError } from '../../src/cluster/api-error.ts'
import { type Apiserver, REQUEST_TIMEOUT_MS } from '../../src/cluster/apiserver.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { askingNamespace, askingPod } from '../../src/pods/doctor/probe.ts'
import type { PodPair } from '../../src/pods/explain/admission.ts'
import type { Admission, FactLookup } from '../../src/pods/explain/facts.ts'

/**
 * Creates a Namespace that requests a metric, in a dry run. Returns the Namespace that the
 * apiserver would store.
 */
export async function tryNamespace(
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
export async function tryPod(
  apiserver: Apiserver,
  namespace: string,
  metric: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<FactLookup<Fields>> {
  return tried(apiserver, podsPath(namespace), askingPod(metric, annotations))
}

/**
 * Creates a pod with observers in a dry run. If this fails, also creates the pod without observers,
 * because an error that both have is not about the observers.
 */
export async function tryPodPair(
  apiserver: Apiserver,
  namespace: string,
  { withObservers, withoutObservers }: PodPair,
): Promise<Admission> {
  const path = podsPath(namespace)
  const answer = await tried(apiserver, path, withObservers)
  if ('value' in answer) return { outcome: 'admitted', pod: answer.value }
  const { problem, isDenied } = answer
  if (!isDenied) return { outcome: 'unknown', problem }
  const without = await tried(apiserver, path, withoutObservers)
  return 'value' in without
    ? { outcome: 'denied', message: problem.replace(/\.$/, '') }
    : { outcome: 'unknown', problem: without.problem }
}

function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
}

/** The status codes of requests that can succeed if they are repeated. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 429])

interface Failure {
  readonly problem: string
  /** Whether the apiserver denied the request, and did not only fail to handle it. */
  readonly isDenied: boolean
}

async function tried(
  apiserver: Apiserver,
  path: string,
  create: Fields,
): Promise<{ readonly value: Fields } | Failure> {
  // The request can take as long as the timeouts of all admission webhooks of the cluster together.
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  try {
    return { value: await apiserver.ask({ path, query: { dryRun: 'All' }, create, signal }) }
  } catch (error) {
    return { problem: describeApiError(error), isDenied: isDenial(error) }
  }
}

/** Policies and webhooks that deny a request can choose the status code of the error. */
function isDenial(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.status >= 400 && error.status < 500 && !TEMPORARY.has(error.status)
}
