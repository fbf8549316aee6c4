import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'

/**
 * The labels of the pods in which mpirun starts the ranks of other pods over ssh:
 * - of an MPIJob of the MPI Operator (kubeflow/mpi-operator caa3c47
 *   pkg/controller/mpi_job_controller.go, defaultLabels). The launchers of the Training Operator
 *   have the same role, but its ranks start by `kubectl exec`, with the variables of their pod.
 * - of a TrainJob with an MPI runtime of Kubeflow Trainer, which is a JobSet with a job `launcher`
 *   (kubeflow/trainer 8c0f505 pkg/constants/constants.go, Launcher, and
 *   pkg/runtime/framework/plugins/mpi/mpi.go). JobSet writes the label of the job.
 */
const LAUNCHERS: readonly Readonly<Record<string, string>>[] = [
  {
    'training.kubeflow.org/operator-name': 'mpi-operator',
    'training.kubeflow.org/job-role': 'launcher',
  },
  { 'jobset.sigs.k8s.io/replicatedjob-name': 'launcher' },
]

/** Reports whether mpirun in a pod starts ranks in other pods over ssh, according to its labels. */
export function isMpiLauncher({ labels }: Fields): boolean {
  const written = fieldsOrNone(labels)
  return LAUNCHERS.some((wanted) => {
    return Object.entries(wanted).every(([key, value]) => written[key] === value)
  })
}
