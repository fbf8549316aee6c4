import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import type { Api } from '../api.ts'
import { waitUntilEstablished } from '../established.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { fileOfOperator, OPERATORS_FOLDER, type Operator } from '../machine/operators-folder.ts'
import { run } from '../machine/tools.ts'
import { definitionsFor } from './definitions.ts'
import { startDns } from './dns.ts'
import { createProgramNamespace, type Program, startInCluster } from './in-cluster.ts'

const NAMESPACE = 'operators'

/** The flags that close the ports for metrics and for probes, which these tests do not use. */
const NO_PORTS = ['--metrics-bind-address', '0', '--health-probe-bind-address', '0']

/** The CustomResourceDefinition of each controller, a file in test/cluster/crds. */
const DEFINITIONS: Readonly<Record<Operator, string>> = {
  'flux-operator': 'flux-framework.org_miniclusters.yaml',
  jobset: 'jobset.x-k8s.io_jobsets.yaml',
  'metrics-operator': 'flux-framework.org_metricsets.yaml',
  'mpi-operator': 'kubeflow.org_mpijobs.yaml',
}

/**
 * Runs controllers of other projects in the cluster until the test ends. Also installs their
 * CustomResourceDefinitions, and starts a DNS server that resolves the names of the created pods.
 */
export async function startOperators(
  t: Test,
  cluster: Cluster,
  api: Api,
  names: readonly Operator[],
): Promise<void> {
  const files = names.map((name) => DEFINITIONS[name])
  const definitions = await definitionsFor(cluster, files)
  await kubectl(cluster, ['apply', '--server-side', ...definitions])
  t.teardown(() => kubectl(cluster, ['delete', '--ignore-not-found', ...definitions]))
  await waitUntilEstablished(cluster, definitions)
  await createProgramNamespace(t, api, NAMESPACE)
  await startDns(cluster, NAMESPACE)
  const folder = join(cluster.folder, 'operators')
  await mkdir(folder, { recursive: true })
  for (const name of names) {
    await unpack(name, folder)
    await startInCluster(cluster, NAMESPACE, { name, folder, ...(await HOW[name]()) })
  }
}

/** Decompresses a program to a new file, because a pod of an earlier test may run the old one. */
async function unpack(name: Operator, folder: string): Promise<void> {
  const script =
    'xz --decompress --stdout "$1" > "$2.new" && chmod 755 "$2.new" && mv "$2.new" "$2"'
  const paths = [join(OPERATORS_FOLDER, fileOfOperator(name)), join(folder, name)]
  await run('sh', ['-c', script, 'unpack', ...paths])
}

type How = Pick<Program, 'words' | 'files'>

/** The arguments and the files of each controller. */
const HOW: Readonly<Record<Operator, () => How | Promise<How>>> = {
  'flux-operator': () => ({ words: NO_PORTS }),
  'metrics-operator': () => ({ words: NO_PORTS }),
  'mpi-operator': () => ({ words: ['-lock-namespace', NAMESPACE] }),
  jobset: async () => ({
    words: ['--config', '/etc/jobset/config.json'],
    files: await jobSetFiles(),
  }),
}

/**
 * Returns the configuration of JobSet. The webhooks of JobSet are not registered, but its webhook
 * server needs a certificate to start.
 */
async function jobSetFiles(): Promise<Readonly<Record<string, string>>> {
  const { issue } = await makeAuthority()
  const { cert, key } = await issue({ names: ['localhost'] })
  const config = {
    apiVersion: 'config.jobset.x-k8s.io/v1alpha1',
    kind: 'Configuration',
    health: { healthProbeBindAddress: '0' },
    metrics: { bindAddress: '0' },
    webhook: { port: 9443, certDir: '/etc/jobset' },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
  }
  return { 'config.json': JSON.stringify(config), 'tls.crt': cert, 'tls.key': key }
}
