import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'

/** Returns the arguments of mpirun: seconds of LAMMPS, with ranks that share one machine. */
export const lammpsOf = (seconds: number) =>
  '--mca mpi_yield_when_idle 1 ' +
  `lmp -in /in.lj -log none -var steps 1000000 -var seconds ${seconds}`

export const LAMMPS_OF_TEN_SECONDS = lammpsOf(10)

/** The annotations of the pods, and the variables that mpirun passes to the ranks. */
export interface MpiJobSettings {
  readonly launcher?: object
  readonly worker?: object
  readonly exported?: readonly string[]
  /** Further variables of the launcher. */
  readonly env?: Readonly<Record<string, string>>
  /** The options of mpirun, the program and its arguments; by default ten seconds of LAMMPS. */
  readonly program?: string
  /** The group of the containers, if the pods name it. */
  readonly group?: number
}

const WORKER = ['/usr/sbin/sshd', '-De', '-f', '/home/mpiuser/.sshd_config']

/** A shell command that waits until the DNS resolves the workers. */
const WAIT_FOR_WORKERS =
  'for host in $(cut -d " " -f 1 /etc/mpi/hostfile);' +
  ' do until getent hosts $host; do sleep 1; done; done'

/**
 * Returns an MPIJob `melt`, whose launcher runs LAMMPS with one rank in each of two workers.
 */
export function buildMpiJob(settings: MpiJobSettings): object {
  const { launcher = {}, worker = {}, exported = [], env = {}, group } = settings
  const { program = LAMMPS_OF_TEN_SECONDS } = settings
  const exports = exported.map((name) => `-x ${name}`)
  const mpirun = ['mpirun', '-n', '2', ...exports, program].join(' ')
  const command = ['sh', '-c', `${WAIT_FOR_WORKERS}; ${mpirun}`]
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }))
  return {
    apiVersion: 'kubeflow.org/v2beta1',
    kind: 'MPIJob',
    metadata: { name: 'melt' },
    spec: {
      sshAuthMountPath: '/home/mpiuser/.ssh',
      launcherCreationPolicy: 'WaitForWorkersReady',
      mpiReplicaSpecs: {
        Launcher: replica(1, { command, env: variables }, launcher, group),
        Worker: replica(2, { command: WORKER }, worker, group),
      },
    },
  }
}

/** Creates the MPIJob of `buildMpiJob`, and waits until it has succeeded. */
export async function runMpiJob(
  cluster: Cluster,
  namespace: string,
  settings: MpiJobSettings,
): Promise<void> {
  const here = ['-n', namespace]
  await kubectl(cluster, ['create', ...here, '-f', '-'], JSON.stringify(buildMpiJob(settings)))
  const done = ['wait', '--for=condition=Succeeded', 'mpijob/melt', ...here]
  await kubectl(cluster, [...done, '--timeout=240s'])
}

/**
 * Returns the replicas of one type in an MPIJob. The pods run as user 1000, as in the MPI
 * Operator's example (examples/v2beta1/pi/pi.yaml).
 */
function replica(count: number, fields: object, annotations: object, group?: number) {
  const container = {
    name: 'mpi',
    image: APPLICATIONS.mpi,
    ...fields,
    securityContext: { runAsUser: 1000, runAsGroup: group },
  }
  return {
    replicas: count,
    template: { metadata: { annotations }, spec: { containers: [container] } },
  }
}
