import { loadCatalog } from '../../../src/catalog/load.ts'

/** The catalog of the tests' pods. */
export const CATALOG = await loadCatalog({})

export interface PodShape {
  readonly rank: number
  readonly metrics?: readonly string[]
  readonly state?: object
  readonly phase?: string
  readonly labels?: object
  readonly status?: string
}

/** Returns a pod of an Indexed Job, as an apiserver does, with observers as native sidecars. */
export function pod({ rank, metrics = ['perf-sysstat'], ...shape }: PodShape): object {
  const state = shape.state ?? { terminated: { exitCode: 0 } }
  const status = { outcome: 'injected', metrics, mode: 'native', catalog: CATALOG.revision }
  const injected = JSON.stringify(status)
  return {
    metadata: {
      name: `lammps-${rank}-abcde`,
      namespace: 'hpc',
      uid: `uid-${rank}`,
      labels: { 'batch.kubernetes.io/job-name': 'lammps', ...shape.labels },
      annotations: {
        'ridealong.dev/status': shape.status ?? injected,
        'batch.kubernetes.io/job-completion-index': String(rank),
      },
    },
    spec: {
      nodeName: 'node-1',
      initContainers: [{ name: 'flux-view' }, ...metrics.map(observerOf)],
      containers: [{ name: 'lammps' }],
    },
    status: {
      phase: shape.phase ?? 'Succeeded',
      initContainerStatuses: metrics.map((name) => ({ name, state })),
      containerStatuses: [{ name: 'lammps', state: { terminated: { exitCode: 0 } } }],
    },
  }
}

/** Returns the native sidecar of a built-in metric. */
function observerOf(name: string): object {
  const { image, command } = CATALOG.metrics.get(name)?.container ?? {}
  return { name, image, command, restartPolicy: 'Always' }
}
