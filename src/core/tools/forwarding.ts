import type { EnvVar } from '../kubernetes/environment.ts'
import { type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import type { RequestedMetric, Terms } from '../request.ts'
import type { Tool } from './tool.ts'
import { joinVariables } from './variables.ts'

/**
 * How the variables of tools reach the ranks that mpirun starts in other pods over ssh. sshd does
 * not pass on the variables of its container.
 */
export interface Forwarding {
  /** Whether mpirun in the pod starts ranks in other pods. */
  readonly isLauncher: boolean
  /** The metrics whose variables mpirun passes to these ranks. */
  readonly metrics: readonly RequestedMetric[]
}

/**
 * The variables of Open MPI with the command that starts its daemon on another machine, and the
 * command without additions. Open MPI 4 reads the first (orte/mca/plm/rsh/plm_rsh_module.c,
 * setup_launch), Open MPI 5 the second (prrte src/runtime/prte_mca_params.c). Each ignores the
 * other variable.
 */
const LAUNCH_AGENTS = [
  { name: 'OMPI_MCA_orte_launch_agent', daemon: 'orted' },
  { name: 'PRTE_MCA_prte_launch_agent', daemon: 'prted' },
] as const

/** The names of the variables that a launcher gets. */
export const LAUNCH_AGENT_NAMES: readonly string[] = LAUNCH_AGENTS.map(({ name }) => name)

/**
 * The characters that a forwarded value must not have. The daemons of the first 64 machines start
 * those of further machines. Open MPI then repeats the command in double quotes, which the shell
 * evaluates, and Open MPI 5 repeats it only up to the first `=`.
 */
export const UNFORWARDABLE = /["$`\\=]/

/**
 * Selects the metrics whose variables a pod forwards. A tool that is requested for some pods only
 * is not forwarded, because the libraries of its pods do not exist in the others.
 *
 * @param metadata the metadata of the pod
 */
export function selectForwarded(
  metadata: Fields,
  { pods, metrics }: Pick<Terms, 'pods' | 'metrics'>,
): Forwarding {
  const isLauncher = isMpiLauncher(metadata)
  const isForwarded = (asked: RequestedMetric) =>
    asked.pods === undefined && asked.metric.tool !== undefined && forwards(asked.metric.tool)
  const isForAll = isLauncher && pods === undefined
  return { isLauncher, metrics: isForAll ? metrics.filter(isForwarded) : [] }
}

/** Reports whether a variable of a tool is forwarded. */
export function forwards({ variables }: Tool): boolean {
  return variables.some(({ forwardedBy }) => forwardedBy !== undefined)
}

/**
 * Returns the variables of a launcher that forward variables of tools. The shell of the other
 * machine exports the variables if it has the folders of all tools, and then starts the daemon,
 * which passes its variables to the ranks. A pod that got no tools is therefore not changed.
 *
 * `for NAME in VALUE` sets a variable without `=`; see UNFORWARDABLE.
 */
export function launchAgents({ metrics }: Forwarding): readonly EnvVar[] {
  if (metrics.length === 0) return []
  const folders = metrics.flatMap(({ metric: { tool } }) => tool?.results.mountPath ?? [])
  const hasTools = folders.map((folder) => `test -d ${folder}`).join(' && ')
  const variables = joinVariables(metrics, ({ forwardedBy }) => forwardedBy !== undefined)
  const exported = variables.map(({ name, values, separator }) => {
    const word = quoteWord(values.join(separator))
    return `${hasTools} && for ${name} in ${word}; do export ${name}; done; `
  })
  return LAUNCH_AGENTS.map(({ name, daemon }) => ({ name, value: exported.join('') + daemon }))
}

/**
 * Quotes a word for a shell. Open MPI splits the command at blanks and drops empty parts, so two
 * blanks must not follow each other: each has its backslash.
 */
function quoteWord(text: string): string {
  return text === '' ? "''" : text.replaceAll(/[^\w.,:/@%+-]/g, '\\$&')
}

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
