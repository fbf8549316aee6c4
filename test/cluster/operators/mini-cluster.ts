import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { until } from '../until.ts'

/** Returns a certificate, made by Flux, with which the brokers authenticate each other. */
async function makeCurveCertificate(cluster: Cluster, here: readonly string[]): Promise<string> {
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

function miniCluster(curveCert: string, annotations: object): object {
  const flux = {
    curveCert,
    connectTimeout: '5s',
    // Both pods run on one machine. Without this flag, Flux binds both ranks to its first core.
    optionFlags: '-o cpu-affinity=off',
    container: { disable: true, image: APPLICATIONS.flux },
  }
  const container = {
    image: APPLICATIONS.flux,
    command: 'lmp -in /in.lj -log none',
    commands: { post: 'wc -c /tmp/dump.lj' },
    environment: { OMPI_MCA_mpi_yield_when_idle: '1', OMP_NUM_THREADS: '1' },
  }
  return {
    apiVersion: 'flux-framework.org/v1alpha2',
    kind: 'MiniCluster',
    metadata: { name: 'lammps' },
    spec: { size: 2, tasks: 2, flux, pod: { annotations }, containers: [container] },
  }
}

/**
 * Creates a MiniCluster `lammps`, which runs LAMMPS with one rank in each of two pods, and waits
 * until it has completed. The image runs as root, and the pods set no user.
 *
 * @param annotations the annotations of the pods
 */
export async function runMiniCluster(
  cluster: Cluster,
  namespace: string,
  annotations: object,
): Promise<void> {
  const here = ['-n', namespace]
  const object = JSON.stringify(miniCluster(await makeCurveCertificate(cluster, here), annotations))
  await kubectl(cluster, ['apply', ...here, '-f', '-'], object)
  const job = ['job/lammps', ...here]
  // kubectl waits for a creation only since Kubernetes 1.31.
  const find = ['get', '--ignore-not-found', '--output=name', ...job]
  await until('the operator has created the Job', async () => {
    return (await kubectl(cluster, find)) !== ''
  })
  await kubectl(cluster, ['wait', '--for=condition=Complete', ...job, '--timeout=480s'])
}
