import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Api } from '../../cluster/api.ts'
import type { Cluster } from '../../cluster/machine/cluster.ts'
import { flags } from '../../cluster/machine/control-plane.ts'
import { type Daemon, start } from '../../cluster/machine/daemon.ts'
import { moduleFolder, tools } from '../../cluster/machine/tools.ts'
import { until } from '../../cluster/until.ts'
import { inParallel, succeeded } from './patient-api.ts'

/**
 * The stages of kwok: nodes are ready, pods run at once, and by default, the pods of Jobs end at
 * once.
 */
const STAGES = [
  'node/fast/node-initialize',
  'node/heartbeat-with-lease/node-heartbeat-with-lease',
  'pod/fast/pod-ready',
  'pod/fast/pod-delete',
]
const COMPLETE = 'pod/fast/pod-complete'

/**
 * The time for which a lease of a node is valid, and the time after which the controllers notice a
 * silent node, in seconds. A real node renews its lease every ten seconds. The simulated nodes do
 * so less often, because a thousand of them would need most of a small machine.
 */
const NODE_LEASE_SECONDS = 400
export const NODE_GRACE = '900s'

/**
 * By default, kwok changes four pods at the same time, and cannot follow a fast creation. In a
 * configuration from a file, kwok uses no defaults, so the others of its options are here too.
 */
const CONFIGURATION = {
  apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
  kind: 'KwokConfiguration',
  options: {
    podPlayStageParallelism: 32,
    nodePlayStageParallelism: 32,
    nodeLeaseParallelism: 4,
    podsOnNodeSyncParallelism: 1,
    enablePodsOnNodeSyncListPager: true,
  },
}

/**
 * Starts kwok, which simulates the kubelets of all nodes.
 *
 * @param complete the stage that ends pods, as YAML, in place of the one that ends the pods of Jobs
 */
export async function startKwok(
  cluster: Cluster,
  say: (line: string) => void,
  complete?: string,
): Promise<Daemon> {
  const program = join(await tools('kwok', say), 'kwok')
  const module = await moduleFolder('kwok', 'sigs.k8s.io/kwok')
  const fileOf = (stage: string) => join(module, 'kustomize/stage', `${stage}.yaml`)
  const files = complete === undefined ? [...STAGES, COMPLETE] : STAGES
  const stages = await Promise.all(files.map((stage) => readFile(fileOf(stage), 'utf8')))
  const config = join(cluster.folder, 'kwok.yaml')
  const own = complete === undefined ? [] : [complete]
  const documents = [JSON.stringify(CONFIGURATION), ...stages.map(withoutPodAddresses), ...own]
  await writeFile(config, documents.join('\n---\n'))
  const settings = {
    kubeconfig: cluster.kubeconfig,
    config,
    'manage-all-nodes': true,
    'node-lease-duration-seconds': NODE_LEASE_SECONDS,
    cidr: '10.128.0.1/9',
  }
  return start(cluster.folder, program, flags(settings))
}

/**
 * Returns a stage that gives pods no IP address. kwok can start a pod twice, each time with another
 * address. The apiserver then refuses the second change, because it adds an address, and kwok
 * repeats the change for ever. With thousands of pods, kwok and the apiserver would be busy with
 * this, and it would disturb all measurements.
 */
function withoutPodAddresses(stage: string): string {
  const changed = stage.replace(POD_ADDRESSES, '')
  if (changed.includes('podIP:')) throw new Error('a stage of kwok still sets podIP')
  return changed
}

const POD_ADDRESSES = /\{\{ \$podIPs := .*\n *\{\{ with \$podIPs \}\}[\s\S]*?(?=phase:)/

export const nodeName = (index: number) => `simulated-${index}`

const CAPACITY = { cpu: '64', memory: '256Gi', pods: '1000' }

/** Creates nodes, and waits until all are ready. */
export async function createNodes(api: Api, count: number): Promise<void> {
  await inParallel(count, 16, async (index) => {
    succeeded(
      await api.post('/api/v1/nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: nodeName(index), labels: { 'kubernetes.io/os': 'linux' } },
        status: { capacity: CAPACITY, allocatable: CAPACITY },
      }),
    )
  })
  await until('all nodes are ready', async () => {
    const { body } = succeeded(await api.get('/api/v1/nodes'))
    return (body.items as readonly Node[]).every(isReady)
  })
}

interface Node {
  readonly spec: { readonly taints?: readonly object[] }
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

function isReady({ spec, status }: Node): boolean {
  const conditions = status.conditions ?? []
  const isMarked = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  return isMarked && spec.taints === undefined
}
