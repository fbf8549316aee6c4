import type { Catalog } from '../../core/catalog.ts'
import { KEYS, REVISION_LABEL } from '../../core/keys.ts'
import type { Fields } from '../../core/kubernetes/json.ts'

/**
 * Returns the name of the metric to request: the first default metric of the catalog. Without one,
 * the metric has, if possible, the privilege `restricted` and no tool, as default metrics have, so
 * that every namespace admits its observer.
 */
export function metricToAsk({ metrics, defaultMetrics: [first] }: Catalog): string {
  if (first !== undefined) return first
  const all = [...metrics.values()]
  const modest = all.find(({ privilege, tool }) => privilege === 'restricted' && tool === undefined)
  return (modest ?? all[0])?.name ?? ''
}

/**
 * Builds a Namespace that requests a metric, for a dry run.
 *
 * @param revision the revision of the release; undefined for the default release
 */
export function askingNamespace(metric: string, revision?: string): Fields {
  const labels = revision === undefined ? {} : { [REVISION_LABEL]: revision }
  const metadata = { ...probeMetadata(metric), labels }
  return { apiVersion: 'v1', kind: 'Namespace', metadata }
}

/**
 * Builds a pod that requests a metric, for a dry run. The pod complies with the Pod Security level
 * `restricted`, and has the requests and limits that a ResourceQuota may require.
 *
 * @param annotations more annotations of the pod, such as options of the metric
 */
export function askingPod(
  metric: string,
  annotations: Readonly<Record<string, string>> = {},
): Fields {
  const resources = { requests: AMOUNTS, limits: AMOUNTS }
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 65_534,
    runAsGroup: 65_534,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const container = { name: 'app', image: 'app', resources, securityContext }
  const spec = { automountServiceAccountToken: false, containers: [container] }
  const { generateName, annotations: own } = probeMetadata(metric)
  const metadata = { generateName, annotations: { ...annotations, ...own } }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec }
}

const AMOUNTS = { cpu: '10m', memory: '16Mi' }

function probeMetadata(metric: string) {
  return { generateName: 'ridealong-doctor-', annotations: { [KEYS.inject]: metric } }
}
