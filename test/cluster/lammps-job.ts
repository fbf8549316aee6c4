import type { Cluster } from './machine/cluster.ts'
import { APPLICATIONS } from './machine/images.ts'
import { kubectl } from './machine/kubectl.ts'

/** Returns an Indexed Job `melt` whose pods Pod Security `restricted` admits. */
export const lammpsJob = (pods: number, command: string, annotations: object) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'melt' },
  spec: {
    completions: pods,
    parallelism: pods,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: {
      metadata: { annotations },
      spec: {
        restartPolicy: 'Never',
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 1000,
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'app',
            image: APPLICATIONS.lammps,
            command: ['sh', '-c', command],
            env: [
              { name: 'HOME', value: '/tmp' },
              { name: 'OMP_NUM_THREADS', value: '1' },
            ],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    },
  },
})

/**
 * Creates an Indexed Job `melt` in a namespace, and waits until it has completed.
 *
 * @param command a shell command of the container `app`, whose image has LAMMPS and Open MPI
 * @param annotations the annotations of the pods
 */
export async function runLammpsJob(
  cluster: Cluster,
  namespace: string,
  command: string,
  annotations: object,
  pods = 4,
): Promise<void> {
  const here = ['-n', namespace]
  const job = JSON.stringify(lammpsJob(pods, command, annotations))
  await kubectl(cluster, ['create', ...here, '-f', '-'], job)
  const complete = ['wait', '--for=condition=Complete', 'job/melt', ...here]
  await kubectl(cluster, [...complete, '--timeout=240s'])
}
