import { KEYS } from '../keys.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { MODES, type Mode } from '../request.ts'

/**
 * An operator that does not work correctly with pods that have an observer. The pods are recognized
 * by a label that the operator sets.
 */
interface Conflict {
  readonly operator: string
  readonly label: string
  readonly value?: string
  readonly modes: readonly Mode[]
  readonly why: string
}

const CONFLICTS: readonly Conflict[] = [
  {
    // Argo Workflows runs `kill -15 1` in each container (argo-workflows
    // workflow/signal/signal.go).
    operator: 'Argo Workflows',
    label: 'workflows.argoproj.io/workflow',
    modes: ['native', 'container'],
    why: 'it signals process 1 of each container, which with an observer is the pause process',
  },
  {
    // netperf-operator reads the log of a pod without naming a container, and panics if the request
    // is refused.
    operator: 'netperf-operator',
    label: 'app',
    value: 'netperf-operator',
    modes: ['container'],
    why: 'it reads the log of the pod without naming a container, which fails if there are two',
  },
  {
    // Volcano reads ContainerStatuses[0] of a list that is sorted by name (volcano
    // pkg/controllers/job/job_controller_handler.go).
    operator: 'Volcano',
    label: 'volcano.sh/job-name',
    modes: ['container'],
    why: 'its exit code for a task is that of the container whose name sorts first',
  },
  {
    // The collector waits for every process whose parent is 0, other than process 1 and itself. A
    // native observer ends only after the collector (katib pkg/metricscollector/v1beta1/common/
    // pns.go, GetMainProcesses and WaitPIDs).
    operator: 'Katib',
    label: 'katib.kubeflow.org/trial',
    modes: ['native'],
    why: 'its metrics collector waits for all processes, including those of a native observer',
  },
]

/**
 * Returns a known conflict between the operator that created a pod and an observer in this mode, as
 * a sentence, or undefined.
 */
export function operatorConflict(pod: Pod, mode: Mode): string | undefined {
  const conflict = CONFLICTS.find(
    ({ label, value, modes }) =>
      Object.hasOwn(pod.labels, label) &&
      (value === undefined || pod.labels[label] === value) &&
      modes.includes(mode),
  )
  if (conflict === undefined) return undefined
  const { operator, why, modes } = conflict
  const other = MODES.find((one) => !modes.includes(one))
  const remedy = other === undefined ? '' : `; use ${KEYS.mode}: ${other}`
  return `${operator} created this pod: ${why}${remedy}`
}
