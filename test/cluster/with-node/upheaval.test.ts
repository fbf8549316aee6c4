import t from 'tap'
import { sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import { kubectl } from '../machine/kubectl.ts'
import { issued, renew } from '../release/cert-manager.ts'
import { CHART, helm, metricsOf, type Release, type Replica, replicasOf } from '../release/helm.ts'
import { installChart } from '../release/installed-chart.ts'
import { killContainer, scale, settled } from '../release/replicas.ts'
import { during } from '../release/steady-load.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// Pods are created continuously while the webhook is upgraded or scaled, or its certificates are
// renewed. With the timeout of the chart, no pod is missed, that is, created without observers
// because no replica answered. If replicas are killed without a shutdown, each missed pod is
// counted.

const NAME = 'ridealong-upheaval'
const RATE = 50
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const PLACES = [
  { namespace: 'steady-asking', annotations: ASKS },
  { namespace: 'steady-armed', annotations: {} },
] as const
const LOAD = { places: PLACES, rate: RATE }

const rollout = ({ cluster, name }: Release, verb: 'restart' | 'status') =>
  kubectl(cluster, ['rollout', verb, `deployment/${name}`, '-n', name])

/** Renews the server certificate, and waits until every replica uses it. */
async function renewLeaf(release: Release): Promise<void> {
  const leaf = await renew(release.cluster, { namespace: NAME, name: `${NAME}-tls` })
  const ends = Date.parse(leaf.validTo) / 1000
  await until('every replica uses the new certificate', async () => {
    const shown = await Promise.all((await replicasOf(release)).map(metricsOf))
    return shown.every((text) => sampleOf(text, EXPIRY) === ends)
  })
}

const EXPIRY = 'ridealong_certificate_expiry_timestamp_seconds'

/** Renews the certificate of the CA, and then the server certificate. */
async function renewAuthority(release: Release): Promise<void> {
  const authority = { namespace: NAME, name: `${NAME}-ca` }
  const before = await issued(release.cluster, authority)
  const after = await renew(release.cluster, authority)
  if (!after.publicKey.equals(before.publicKey)) throw new Error('the CA has another key')
  await renewLeaf(release)
}

const UPHEAVALS: readonly (readonly [string, (release: Release) => Promise<unknown>])[] = [
  ['nothing happens', () => Promise.resolve()],
  ['the server certificate is renewed', renewLeaf],
  ['the CA is renewed', renewAuthority],
  [
    'the replicas are restarted one after the other',
    async (release) => {
      await rollout(release, 'restart')
      await rollout(release, 'status')
      await settled(release, 2)
    },
  ],
  [
    'two replicas become four and then two again',
    async (release) => {
      await scale(release, 4)
      await scale(release, 2)
    },
  ],
  [
    'helm upgrade runs',
    async (release) => {
      // A changed configuration makes the apiserver open new connections.
      const words = ['--set', 'webhook.logLevel=warn,webhook.timeoutSeconds=4']
      await helm(release, 'upgrade', [CHART, '--reuse-values', ...words])
      await settled(release, 2)
    },
  ],
]

t.test('pods are created while the webhook is changed or killed', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const release = await installChart(t, cluster, api, NAME)
  await createNamespace(t, api, 'steady-asking')
  await createNamespace(t, api, 'steady-armed', { annotations: ASKS })

  for (const [what, upheaval] of UPHEAVALS) {
    await t.test(`no pod is missed while ${what}`, async (t) => {
      const { created, ...others } = await during(t, api, LOAD, () => upheaval(release))
      t.ok(created > 0)
      t.match(others, { missed: 0, left: 0, warned: 0, denied: [] }, 'each pod has its observer')
    })
  }

  for (const count of [1, 2]) {
    await t.test(`each missed pod is counted if ${count} of 2 replicas are killed`, async (t) => {
      await settled(release, 2)
      const before = await failures(api)
      const { missed, left, warned, denied } = await during(t, api, LOAD, () =>
        kill(release, count),
      )
      const after = await failures(api)
      t.comment(`${missed} pods were missed`)
      t.same({ left, denied }, { left: 0, denied: [] }, 'the webhook leaves or denies no pod')
      t.equal(warned, missed, 'the guard warns about each missed pod, and about no other pod')
      t.equal(after.guard - before.guard, missed, 'the apiserver counts each warning')
      // The second call (reinvocation) for a pod that already has its observer may also fail.
      const failed = after.open - before.open
      t.ok(failed >= missed, `a call failed for each missed pod: ${failed} calls failed`)
      if (count === 2) t.ok(missed > 0, 'without replicas, some pods are missed')
    })
  }
})

/** Kills replicas, and waits until the kubelet has started them again. */
async function kill(release: Release, count: number): Promise<void> {
  const replicas = await replicasOf(release)
  const restarts = (all: readonly Replica[]) => all.reduce((sum, one) => sum + one.restarts, 0)
  for (const { containerId } of replicas.slice(0, count)) {
    await killContainer(release.cluster, containerId)
  }
  await until('the replicas are started again', async () => {
    return restarts(await replicasOf(release)) >= restarts(replicas) + count
  })
  await settled(release, 2)
}

/**
 * Reads two metrics of the apiserver: the number of warnings of the guard, and the number of calls
 * without an answer.
 */
async function failures(api: Api): Promise<{ guard: number; open: number }> {
  const { body } = await api.get('/metrics')
  const guard = { policy: `${NAME}-guard`, enforcement_action: 'warn' }
  const open = 'apiserver_admission_webhook_fail_open_count'
  const names = ['pods.ridealong.dev', 'armed.ridealong.dev']
  return {
    guard: sampleOf(body, 'apiserver_validating_admission_policy_check_total', guard) ?? 0,
    open: names.reduce((sum, name) => sum + (sampleOf(body, open, { name }) ?? 0), 0),
  }
}
