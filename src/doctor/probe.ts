import type { Catalog } from '../core/catalog.ts'
import { KEYS } from '../core/keys.ts'
import type { Fields } from '../core/kubernetes/json.ts'

/** The metric to ask for: one that needs no privilege, so that it rides everywhere. */
export function metricToAsk({ metrics }: Catalog): string {
  const all = [...metrics.values()]
  const modest = all.find(({ privilege }) => privilege === 'restricted')
  return (modest ?? all[0])?.name ?? ''
}

/** A Namespace that asks. It is only tried. */
export function askingNamespace(metric: string): Fields {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: probeMetadata(metric) }
}

/** A pod that asks, and that neither Pod Security restricted nor a quota refuses. It is only tried. */
export function askingPod(metric: string): Fields {
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
  return { apiVersion: 'v1', kind: 'Pod', metadata: probeMetadata(metric), spec }
}

const AMOUNTS = { cpu: '10m', memory: '16Mi' }

function probeMetadata(metric: string) {
  return { generateName: 'ridealong-doctor-', annotations: { [KEYS.inject]: metric } }
}
