import { loadCatalog } from '../../../../src/catalog/load.ts'
import type { Catalog } from '../../../../src/core/catalog.ts'

/** The catalog whose metrics the pods of the tests have. */
export const CATALOG = await loadCatalog({})

export interface PodShape {
  readonly index: number
  readonly metrics?: readonly string[]
  /** The catalog of the metrics. The default is the built-in catalog. */
  readonly catalog?: Catalog
  readonly state?: object
  readonly phase?: string
  readonly labels?: object
  readonly status?: string
}

/** Returns a pod of an Indexed Job, as an apiserver does, with observers as native sidecars. */
export function pod(wanted: PodShape): object {
  const { index, metrics = ['perf-sysstat'], catalog = CATALOG, ...shape } = wanted
  const state = shape.state ?? { terminated: { exitCode: 0 } }
  const status = { outcome: 'injected', metrics, mode: 'native', catalog: catalog.revision }
  const injected = JSON.stringify(status)
  return {
    metadata: {
      name: `lammps-${index}-abcde`,
      namespace: 'hpc',
      uid: `uid-${index}`,
      labels: { 'batch.kubernetes.io/job-name': 'lammps', ...shape.labels },
      annotations: {
        'ridealong.dev/status': shape.status ?? injected,
        'batch.kubernetes.io/job-completion-index': String(index),
      },
    },
    spec: {
      nodeName: 'node-1',
      initContainers: [{ name: 'flux-view' }, ...metrics.map((name) => observerOf(catalog, name))],
      containers: [{ name: 'lammps' }],
    },
    status: {
      phase: shape.phase ?? 'Succeeded',
      initContainerStatuses: metrics.map((name) => ({ name, state })),
      containerStatuses: [{ name: 'lammps', state: { terminated: { exitCode: 0 } } }],
    },
  }
}

/** Returns the native sidecar of a metric. */
function observerOf({ metrics }: Catalog, name: string): object {
  const { image, command } = metrics.get(name)?.container ?? {}
  return { name, image, command, restartPolicy: 'Always' }
}
