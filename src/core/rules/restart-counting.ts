import { LEADER_WORKER_SET_KEY, MODEL_SERVING_KEY } from '../keys.ts'
import type { Fields } from '../kubernetes/json.ts'

/** An operator that counts the restarts of all containers of its pods, also of init containers. */
interface RestartCounter {
  readonly operator: string
  /** A label of its pods. */
  readonly label: string
  /** What it creates again when a container has restarted. */
  readonly recreated: string
  /** The field of its object that keeps it from doing so. */
  readonly prevention: string
}

const COUNTERS: readonly RestartCounter[] = [
  {
    // kubernetes-sigs/lws 1b17603 pkg/utils/pod/pod_utils.go, ContainerRestarted, and
    // pkg/controllers/pod_controller.go, handleRestartPolicy.
    operator: 'LeaderWorkerSet',
    label: LEADER_WORKER_SET_KEY,
    recreated: 'the whole group of pods',
    prevention: 'spec.leaderWorkerTemplate.restartPolicy: None',
  },
  {
    // volcano-sh/kthena 064ff52 pkg/model-serving-controller/utils/utils.go, ContainerRestarted,
    // and pkg/apis/workload/v1alpha1/model_serving_types.go, RecoveryPolicy.
    operator: 'kthena',
    label: MODEL_SERVING_KEY,
    recreated: 'the whole role or serving group',
    prevention: 'spec.recoveryPolicy: None',
  },
]

/**
 * Returns a sentence about an operator that creates pods again if any of their containers has
 * restarted, which includes observers; undefined if the pod has no such operator.
 *
 * @param labels the labels of the pod
 */
export function describeRestartCounting(labels: Fields): string | undefined {
  const counter = COUNTERS.find(({ label }) => labels[label] !== undefined)
  if (counter === undefined) return undefined
  const { operator, recreated, prevention } = counter
  return (
    `${operator} creates ${recreated} again if any container restarts, so also if an observer is ` +
    `killed, for example at its memory limit (${prevention} prevents this)`
  )
}
