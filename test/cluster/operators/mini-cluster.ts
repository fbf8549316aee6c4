import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { until } from '../until.ts'

/** Returns a certificate, made by Flux, with which the brokers authenticate each other. */
export async function makeCurveCertificate(cluster: Cluster, namespace: string): Promise<string> {
  const here = ['-n', namespace]
  const command = ['sh', '-c', 'flux keygen --name=lammps /tmp/curve.cert && cat /tmp/curve.cert']
  const spec = {
    restartPolicy: 'Never',
    containers: [{ name: 'keygen', image: APPLICATIONS.flux, command }],
  }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'keygen' }, spec }
  await kubectl(cluster, ['apply', ...here, '-f', '-'], JSON.stringify(pod))
  const done = ['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/keygen', ...here]
  await kubectl(cluster, [...done, '--timeout=120s'])
  return kubectl(cluster, ['logs', 'keygen', ...here])
}

/** The annotations of the pods of a MiniCluster, and what it runs. */
export interface MiniClusterSettings {
  readonly annotations?: object
  /** The command of each rank; by default, LAMMPS. */
  readonly command?: string
  /** A folder of the node that the pods see as /programs. */
  readonly programs?: string
  /** The seconds for which LAMMPS computes after it has written its file; by default 10. */
  readonly seconds?: number
}

/**
 * Returns a MiniCluster `lammps`, which runs LAMMPS, or another command, with one rank in each of
 * two pods. The image runs as root, and the pods set no user.
 */
export function buildMiniCluster(
  curveCert: string,
  { annotations = {}, command, programs, seconds = 10 }: MiniClusterSettings = {},
): object {
  const flux = {
    curveCert,
    connectTimeout: '5s',
    // Both pods run on one machine. Without this flag, Flux binds both ranks to its first core.
    optionFlags: '-o cpu-affinity=off',
    container: { disable: true, image: APPLICATIONS.flux },
  }
  const container = {
    image: APPLICATIONS.flux,
    command: command ?? `lmp -in /in.lj -log none -var seconds ${seconds}`,
    ...(command === undefined && { commands: { post: 'wc -c /tmp/dump.lj' } }),
    environment: { OMPI_MCA_mpi_yield_when_idle: '1', OMP_NUM_THREADS: '1' },
    ...(programs !== undefined && {
      volumes: { programs: { hostPath: programs, path: '/programs', readOnly: true } },
    }),
  }
  return {
    apiVersion: 'flux-framework.org/v1alpha2',
    kind: 'MiniCluster',
    metadata: { name: 'lammps' },
    spec: { size: 2, tasks: 2, flux, pod: { annotations }, containers: [container] },
  }
}

/**
 * Creates the MiniCluster of `buildMiniCluster`, and waits until it has completed.
 *
 * @param annotations the annotations of the pods
 */
export async function runMiniCluster(
  cluster: Cluster,
  namespace: string,
  annotations: object,
): Promise<void> {
  await createMiniCluster(cluster, namespace, { annotations })
  await waitForMiniCluster(cluster, namespace)
}

/** Creates the MiniCluster of `buildMiniCluster`. */
export async function createMiniCluster(
  cluster: Cluster,
  namespace: string,
  settings: MiniClusterSettings,
): Promise<void> {
  const curveCert = await makeCurveCertificate(cluster, namespace)
  const object = JSON.stringify(buildMiniCluster(curveCert, settings))
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], object)
}

/** Waits until the MiniCluster of `buildMiniCluster` has completed. */
export async function waitForMiniCluster(cluster: Cluster, namespace: string): Promise<void> {
  const job = ['job/lammps', '-n', namespace]
  // kubectl waits for a creation only since Kubernetes 1.31.
  const find = ['get', '--ignore-not-found', '--output=name', ...job]
  await until('the operator has created the Job', async () => {
    return (await kubectl(cluster, find)) !== ''
  })
  await kubectl(cluster, ['wait', '--for=condition=Complete', ...job, '--timeout=480s'])
}
