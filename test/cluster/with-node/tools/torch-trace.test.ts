import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { collect } from '../../collected.ts'
import { podsOfCompleted } from '../../completed-job.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { APPLICATIONS } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { catalogWithTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { startWebhook } from '../../webhook.ts'

// Two pods of a Job record traces of the same steps. kineto.py imitates the client in PyTorch, and
// refuses answers from a socket with another path than its own.

const SPACE = 'torch-trace'
const HERE = ['-n', SPACE]
const LABELS = {
  'ridealong.dev/tools': 'true',
  'pod-security.kubernetes.io/enforce': 'restricted',
}
const ASKS = {
  'ridealong.dev/inject': 'torch-trace',
  'torch-trace.ridealong.dev/step': '1000',
  'torch-trace.ridealong.dev/steps': '4',
}
const PROGRAM = readFileSync(
  new URL('../../../tools/torch/programs/kineto.py', import.meta.url),
  'utf8',
)
const COMMAND = 'export RANK=$JOB_COMPLETION_INDEX; exec python3 /program/kineto.py 2000'

const CONFIG_MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'program' },
  data: { 'kineto.py': PROGRAM },
}
const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'train' },
  spec: {
    ...{ completions: 2, parallelism: 2, completionMode: 'Indexed', backoffLimit: 0 },
    template: {
      metadata: { annotations: ASKS },
      spec: {
        restartPolicy: 'Never',
        securityContext: {
          ...{ runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true },
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'app',
            image: APPLICATIONS.python,
            command: ['sh', '-c', COMMAND],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            volumeMounts: [{ name: 'program', mountPath: '/program' }],
          },
        ],
        volumes: [{ name: 'program', configMap: { name: 'program' } }],
      },
    },
  },
}

t.test('the pods of a Job record the same steps', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE, { labels: LABELS })
  const words = ['--catalog', catalogWithTools(t), '--no-built-in-metrics']
  const webhook = await startWebhook(cluster, { words })
  t.teardown(() => webhook.remove())
  for (const object of [CONFIG_MAP, JOB])
    await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(object))
  t.equal((await podsOfCompleted(cluster, SPACE, 'train')).length, 2)
  const { page } = await collect(t, cluster, SPACE, 'job/train')
  t.match(
    page.parts?.[0]?.rows,
    [0, 1].map((rank) => ({ pod: `${rank}`, cells: { 0: rank, 3: 'complete' } })),
  )
  const paths = page.parts?.[0]?.rows.map(({ cells }) => String(cells.at(-1))) ?? []
  await t.test('collect restores the traces', (t) => restores(t, cluster, paths))
})

async function restores(t: Test, cluster: Cluster, paths: readonly string[]): Promise<void> {
  const folder = t.testdir({})
  const place = [...HERE, '--kubeconfig', cluster.kubeconfig]
  const words = ['collect', 'job/train', ...place, '--output', 'artifacts', '--to', folder]
  const { code, err } = await run(words)
  t.equal(code, 0, err)
  t.equal(readdirSync(folder).length, 2)
  for (const path of paths) {
    const { traceEvents } = JSON.parse(readFileSync(join(folder, path), 'utf8'))
    const steps = traceEvents.map(({ ts }: { readonly ts: number }) => ts)
    t.strictSame(steps, [1000, 1001, 1002, 1003])
  }
}
