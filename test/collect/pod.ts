export interface PodShape {
  readonly rank: number
  readonly metrics?: readonly string[]
  readonly state?: object
  readonly phase?: string
  readonly labels?: object
  readonly status?: string
}

/** A pod of an Indexed Job as an apiserver answers it, its observers native sidecars. */
export function pod({ rank, metrics = ['perf-sysstat'], ...shape }: PodShape): object {
  const state = shape.state ?? { terminated: { exitCode: 0 } }
  const injected = JSON.stringify({ outcome: 'injected', metrics, mode: 'native' })
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
      initContainers: [{ name: 'flux-view' }, ...metrics.map((name) => ({ name }))],
      containers: [{ name: 'lammps' }],
    },
    status: {
      phase: shape.phase ?? 'Succeeded',
      initContainerStatuses: metrics.map((name) => ({ name, state })),
      containerStatuses: [{ name: 'lammps', state: { terminated: { exitCode: 0 } } }],
    },
  }
}
