import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { collect } from '../../collected.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { startWebhook } from '../../webhook.ts'

// The Job controller creates the 20 pods of an Indexed Job, of which `ridealong.dev/pods` selects
// five. One of these also has a second metric.

const SPACE = 'pods'
const HERE = ['-n', SPACE]
const PODS = 20
const OBSERVED = [0, 4, 8, 12, 16]

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'twenty' },
  spec: {
    completions: PODS,
    parallelism: PODS,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: {
      metadata: {
        annotations: {
          'ridealong.dev/inject': 'perf-sysstat,pressure',
          'perf-sysstat.ridealong.dev/rate': '1',
          'pressure.ridealong.dev/pods': '8',
        },
      },
      spec: {
        restartPolicy: 'Never',
        securityContext: { runAsUser: 1000, runAsGroup: 1000 },
        containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['sleep', '5'] }],
      },
    },
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
type Pod = any

t.test('of an Indexed Job of 20 pods, every:4 observes five', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  await createNamespace(t, api, SPACE, { annotations: { 'ridealong.dev/pods': 'every:4' } })
  await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(JOB))
  await kubectl(cluster, [
    ...['wait', '--for=condition=Complete', 'job/twenty', ...HERE, '--timeout=300s'],
  ])

  await selectedPodsAreInjected(t, cluster)
  await collectNamesPods(t, cluster)
  await explainGroupsPods(t, cluster)
})

async function selectedPodsAreInjected(t: Test, cluster: Cluster): Promise<void> {
  const words = ['get', 'pods', ...HERE, '-l', 'batch.kubernetes.io/job-name=twenty', '-o', 'json']
  const pods: Pod[] = JSON.parse(await kubectl(cluster, words)).items
  t.equal(pods.length, PODS)
  for (const { metadata, spec } of pods) {
    const index = Number(metadata.labels['batch.kubernetes.io/job-completion-index'])
    const status = JSON.parse(metadata.annotations['ridealong.dev/status'])
    const names = (spec.initContainers ?? []).map(({ name }: Pod) => name)
    if (!OBSERVED.includes(index)) {
      t.match(status, { outcome: 'left', reason: 'pod-not-selected' }, `pod ${index}`)
      t.strictSame(names, [])
      continue
    }
    t.equal(status.outcome, 'injected', `pod ${index}`)
    t.strictSame(names, index === 8 ? ['perf-sysstat', 'pressure'] : ['perf-sysstat'])
  }
}

async function collectNamesPods(t: Test, cluster: Cluster): Promise<void> {
  const { rows, page } = await collect(t, cluster, SPACE, 'job/twenty')
  const logs = rows.filter(({ kind }) => kind === 'log')
  t.strictSame(
    [...new Set(logs.map(({ pod_index }) => Number(pod_index)))].sort((a, b) => a - b),
    OBSERVED,
  )
  for (const { observedPods } of logs) {
    t.match(observedPods, { workload: 'job/twenty', total: PODS, observed: OBSERVED.length })
    t.strictSame(observedPods.metrics, { 'perf-sysstat': OBSERVED.length, pressure: 1 })
  }
  t.match(page.notices[0], /^job\/twenty: 5 of 20 pods observed \(pressure: 1\) /)
  const from = [...HERE, '--kubeconfig', cluster.kubeconfig]
  const collected = await run(['collect', 'job/twenty', ...from])
  t.match(collected.err, 'ridealong: 5 of 20 pods observed (pressure: 1)\n')
}

async function explainGroupsPods(t: Test, cluster: Cluster): Promise<void> {
  const from = [...HERE, '--kubeconfig', cluster.kubeconfig]
  const explained = await run(['explain', 'job/twenty', ...from])
  t.equal(explained.code, 1)
  t.match(explained.out, 'pods 1-3, 5-7, 9-11, 13-15, 17-19: no observers (pod-not-selected)')
  t.match(explained.out, 'pods 0, 4, 12, 16: injected with perf-sysstat, counters all')
  t.match(explained.out, 'pod 8: injected with perf-sysstat, pressure, counters all')
  t.match(explained.out, 'does not select pod 1.')
}
