import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { openFolder } from '../../../observers/pod.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { kubeconfigOf } from '../../release/doctor-rights.ts'
import { catalogWithTools } from '../../release/tool-images.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// `stacks` of eight ranks in two pods, of which one is elsewhere, with and without the right to run
// programs in the pods. The namespace enforces Pod Security restricted, except for the volume with
// the program.

const SPACE = 'stacks'
const HERE = ['-n', SPACE]
const SOURCE = fileURLToPath(new URL('../../../observers/profile/stacks.c', import.meta.url))

/** Four ranks in each pod. Rank 3 reads its input, and the others wait. */
const RANKS = `
for i in 0 1 2 3; do
  rank=$((JOB_COMPLETION_INDEX * 4 + i))
  task=futex
  if [ $rank = 3 ]; then task=read; fi
  PMI_RANK=$rank /programs/stacks $task /programs/end &
done
wait`

function jobWith(path: string) {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'ranks' },
    spec: {
      completions: 2,
      parallelism: 2,
      completionMode: 'Indexed',
      backoffLimit: 0,
      template: {
        metadata: { annotations: { 'ridealong.dev/inject': 'cpu-profile' } },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          securityContext: {
            runAsUser: 1000,
            runAsGroup: 1000,
            runAsNonRoot: true,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'app',
              image: DEBIAN_IMAGE,
              command: ['sh', '-c', RANKS],
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              volumeMounts: [{ name: 'programs', mountPath: '/programs', readOnly: true }],
            },
          ],
          volumes: [{ name: 'programs', hostPath: { path, type: 'Directory' } }],
        },
      },
    },
  }
}

/** Returns a kubeconfig of a service account that may list pods, and has these verbs on exec. */
async function kubeconfigWith(
  t: Test,
  cluster: Cluster,
  name: string,
  verbs: readonly string[],
): Promise<string> {
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
    ...(verbs.length === 0 ? [] : [{ apiGroups: [''], resources: ['pods/exec'], verbs }]),
  ]
  const subject = { kind: 'ServiceAccount', name, namespace: SPACE }
  const group = 'rbac.authorization.k8s.io'
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name }, rules },
    {
      apiVersion: `${group}/v1`,
      kind: 'RoleBinding',
      metadata: { name },
      subjects: [subject],
      roleRef: { apiGroup: group, kind: 'Role', name },
    },
  ]
  const list = { apiVersion: 'v1', kind: 'List', items }
  await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(list))
  const text = await kubeconfigOf(cluster, SPACE, name)
  return join(t.testdir({ kubeconfig: text }), 'kubeconfig')
}

const stacks = (kubeconfig: string, ...more: readonly string[]) =>
  run(['stacks', 'job/ranks', ...HERE, '--kubeconfig', kubeconfig, ...more])

t.test('the stacks of all ranks, with and without the right to exec', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE, { labels: { 'ridealong.dev/tools': 'true' } })
  const words = ['--catalog', catalogWithTools(t), '--no-built-in-metrics']
  const webhook = await startWebhook(cluster, { words })
  t.teardown(() => webhook.remove())
  const folder = openFolder('ridealong-stacks-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('gcc', ['-O1', '-pthread', '-o', join(folder, 'stacks'), SOURCE])
  await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(jobWith(folder)))

  await t.test('the rank that is elsewhere is a group', (t) => findsRank(t, cluster))
  await t.test('the message names the verbs that are missing', (t) => namesRights(t, cluster))
})

async function findsRank(t: Test, cluster: Cluster): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: the groups of the output.
  let groups: readonly any[] = []
  await until('all ranks have stacks', async () => {
    const { out } = await stacks(cluster.kubeconfig, '-o', 'json')
    groups = out === '' ? [] : JSON.parse(out)
    const { length } = groups.flatMap(({ ranks }) => ranks)
    return length === 8 && groups.length === 2 && groups.every(({ why }) => why === null)
  })
  const namesOf = (group: { readonly stack: readonly { readonly function: string }[] }) =>
    group.stack.map((frame) => frame.function).join(' > ')
  t.strictSame(groups[0].ranks, [0, 1, 2, 4, 5, 6, 7])
  t.match(namesOf(groups[0]), /^main > run > wait_for_post/)
  t.strictSame(groups[1].ranks, [3])
  t.match(namesOf(groups[1]), /^main > run > read_input > (__)?read$/)
  const { code, out } = await stacks(cluster.kubeconfig)
  t.equal(code, 0)
  t.match(out, /^ranks 0-7 \(8 ranks\): main > run\n├─ ranks 0-2, 4-7 \(7 ranks\): wait_for_post/)
  t.match(out, /└─ rank 3: read_input > (__)?read\n$/)
}

async function namesRights(t: Test, cluster: Cluster): Promise<void> {
  for (const [name, verbs, missing] of [
    ['may-exec', ['create', 'get'], undefined],
    ['may-get', ['get'], /lack the right to create pods\/exec in namespace stacks/],
    ['may-list', [], /lack the right to create pods\/exec and get pods\/exec in namespace stacks/],
  ] as const) {
    const { code, out, err } = await stacks(await kubeconfigWith(t, cluster, name, verbs))
    t.equal(code, missing === undefined ? 0 : 2, err)
    t.match(out, missing === undefined ? /^ranks 0-7/ : /^$/)
    if (missing !== undefined) t.match(err, missing)
  }
}
