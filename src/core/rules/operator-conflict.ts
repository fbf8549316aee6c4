import { KEYS } from '../keys.ts'
import type { Pod } from '../kubernetes/pod.ts'
import { MODES, type Mode } from '../request.ts'

/** An operator that does not work correctly with pods that have an observer. */
interface Conflict {
  readonly operator: string
  /** Reports whether the operator has created a pod. */
  readonly isCreator: (pod: Pod) => boolean
  readonly modes: readonly Mode[]
  readonly why: string
}

const CONFLICTS: readonly Conflict[] = [
  {
    // Argo Workflows runs `kill -15 1` in each container (argo-workflows
    // workflow/signal/signal.go).
    operator: 'Argo Workflows',
    isCreator: hasLabel('workflows.argoproj.io/workflow'),
    modes: ['native', 'container'],
    why: 'it signals process 1 of each container, which with an observer is the pause process',
  },
  {
    // netperf-operator reads the log of a pod without naming a container, and panics if the request
    // is refused.
    operator: 'netperf-operator',
    isCreator: ({ labels }) => labels.app === 'netperf-operator',
    modes: ['container'],
    why: 'it reads the log of the pod without naming a container, which fails if there are two',
  },
  {
    // Volcano reads ContainerStatuses[0] of a list that is sorted by name (volcano
    // pkg/controllers/job/job_controller_handler.go).
    operator: 'Volcano',
    isCreator: hasLabel('volcano.sh/job-name'),
    modes: ['container'],
    why: 'its exit code for a task is that of the container whose name sorts first',
  },
  {
    // The collector waits for every process whose parent is 0, other than process 1 and itself. A
    // native observer ends only after the collector (katib pkg/metricscollector/v1beta1/common/
    // pns.go, GetMainProcesses and WaitPIDs).
    operator: 'Katib',
    isCreator: hasLabel('katib.kubeflow.org/trial'),
    modes: ['native'],
    why: 'its metrics collector waits for all processes, including those of a native observer',
  },
  {
    // Airflow runs `kill -s SIGINT 1` or `kill -2 1` in this container (airflow
    // providers/cncf/kubernetes utils/pod_manager.py, extract_xcom_kill, before provider 10.1).
    // No label shows the version of the provider.
    operator: 'Airflow',
    isCreator: ({ containers }) => containers.some(({ name }) => name === 'airflow-xcom-sidecar'),
    modes: ['native', 'container'],
    why: 'it signals process 1 of its XCom sidecar, which with an observer is the pause process',
  },
  {
    // Before SPARK-49804, the driver takes the first terminated container of a list that is sorted
    // by name (spark resource-managers/kubernetes ExecutorPodsLifecycleManager.scala,
    // findExitCode).
    operator: 'Spark',
    isCreator: ({ labels }) => {
      return labels['spark-role'] === 'executor' && isBefore(labels['spark-version'], [3, 5, 4])
    },
    modes: ['container'],
    why:
      'before version 3.5.4, the exit code of an executor is that of the container whose name ' +
      'sorts first',
  },
]

function hasLabel(key: string): Conflict['isCreator'] {
  return ({ labels }) => Object.hasOwn(labels, key)
}

/** Reports whether a version is earlier than another one, or unknown. */
function isBefore(version: unknown, [major, minor, patch]: readonly number[]): boolean {
  const [, ...parts] = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(String(version)) ?? []
  const [a = 0, b = 0, c = 0] = parts.map((part) => Number(part ?? 0))
  if (a !== major) return a < (major ?? 0)
  return b === minor ? c < (patch ?? 0) : b < (minor ?? 0)
}

/**
 * Returns a known conflict between the operator that created a pod and an observer in this mode, as
 * a sentence, or undefined.
 */
export function operatorConflict(pod: Pod, mode: Mode): string | undefined {
  const conflict = CONFLICTS.find(({ isCreator, modes }) => modes.includes(mode) && isCreator(pod))
  if (conflict === undefined) return undefined
  const { operator, why, modes } = conflict
  const other = MODES.find((one) => !modes.includes(one))
  const remedy = other === undefined ? '' : `; use ${KEYS.mode}: ${other}`
  return `${operator} created this pod: ${why}${remedy}`
}
