import t from 'tap'
import { sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests of pods that are created while the webhook is not called, hangs, or does not run.

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const NOWHERE = { nodeSelector: { nowhere: 'true' } }

function pod(name: string, annotations: object, spec: object = NOWHERE) {
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['true'] }
  const metadata = { name, annotations }
  const whole = { containers: [container], restartPolicy: 'Never', ...spec }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: whole }
}

/** Returns a metric of the apiserver about a webhook, summed over the other labels. */
async function counted(api: Api, name: string, webhook: string): Promise<number> {
  const { body } = await api.get('/metrics')
  return sampleOf(body, name, { name: webhook }) ?? 0
}

const REQUESTS = 'apiserver_admission_webhook_request_total'
const FAILED_OPEN = 'apiserver_admission_webhook_fail_open_count'
const WEBHOOKS = ['pods.ridealong.dev', 'armed.ridealong.dev']

t.test('the webhook is not called for pods that do not request observers', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'silent')
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  const reviews = async () => podReviews(await webhook.metrics())
  const calls = () => Promise.all(WEBHOOKS.map((name) => counted(api, REQUESTS, name)))
  const before = { reviews: await reviews(), calls: await calls() }
  for (let i = 0; i < 200; i += 1) {
    const { status } = await api.post('/api/v1/namespaces/silent/pods', pod(`pod-${i}`, {}))
    if (status !== 201) t.fail(`pod-${i} was not created: HTTP ${status}`)
  }
  t.equal(await reviews(), before.reviews, 'the webhook counted no review')
  t.strictSame(await calls(), before.calls, 'the apiserver counted no call')
  const { body } = await api.post('/api/v1/namespaces/silent/pods', pod('asking', ASKS))
  t.match(body.metadata.annotations, { 'ridealong.dev/status': /injected/ })
  t.equal(await reviews(), before.reviews + 1, 'a pod that requests observers is counted')
})

/**
 * Returns the number of reviews of pods. Reviews of namespaces do not count: namespaces with the
 * annotation are reviewed even while they are deleted, for example the namespaces of earlier tests.
 */
function podReviews(exposition: string): number {
  return ['injected', 'left', 'denied']
    .map((outcome) => sampleOf(exposition, 'ridealong_reviews_total', { outcome }) ?? 0)
    .reduce((sum, count) => sum + count)
}

t.test('a server-side dry run has no side effect', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'dry')
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  const injections = async () =>
    sampleOf(await webhook.metrics(), 'ridealong_injections_total') ?? 0
  const before = await injections()
  const dry = await api.post('/api/v1/namespaces/dry/pods?dryRun=All', pod('dry', ASKS))
  t.match(dry.body.metadata.annotations, { 'ridealong.dev/status': /injected/ })
  t.equal(await injections(), before, 'no injection is counted')
  const { body } = await api.get('/api/v1/namespaces/dry/pods')
  t.equal(body.items.length, 0, 'no pod exists')
  const space = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'dry-2', annotations: ASKS },
  }
  const { body: armed } = await api.post('/api/v1/namespaces?dryRun=All', space)
  t.equal(armed.metadata.labels['ridealong.dev/armed'], 'true', 'the dry run shows the label')
  t.equal((await api.get('/api/v1/namespaces/dry-2')).status, 404, 'the namespace does not exist')
})

t.test('pods are created and run while the webhook is stopped', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'alone')
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  const failures = await counted(api, FAILED_OPEN, 'pods.ridealong.dev')
  await webhook.stop()
  const { status, body } = await api.post('/api/v1/namespaces/alone/pods', pod('runs', ASKS, {}))
  t.equal(status, 201)
  t.equal(body.metadata.annotations['ridealong.dev/status'], undefined, 'no status annotation')
  t.equal(
    await counted(api, FAILED_OPEN, 'pods.ridealong.dev'),
    failures + 1,
    'the failed call is counted',
  )
  await until('the pod has succeeded', async () => {
    const { body: now } = await api.get('/api/v1/namespaces/alone/pods/runs')
    return now.status.phase === 'Succeeded'
  })
})

/** The chart's timeoutSeconds. */
const TIMEOUT_SECONDS = 3

t.test('a webhook that hangs delays a pod by only one timeout', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'hanging')
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  const path = '/api/v1/namespaces/hanging/pods?dryRun=All'
  const seconds = async (annotations: object) => {
    const start = performance.now()
    const { status } = await api.post(path, pod('hung', annotations))
    t.equal(status, 201, 'the pod is created')
    return (performance.now() - start) / 1000
  }
  process.kill(webhook.daemon.pid, 'SIGSTOP')
  try {
    // The time of the apiserver itself is measured with a pod for which the webhook is not called.
    const [asking, quiet] = [await seconds(ASKS), await seconds({})]
    t.ok(
      asking >= TIMEOUT_SECONDS,
      `the apiserver waited ${asking.toFixed(1)} s, at least ${TIMEOUT_SECONDS} s`,
    )
    t.ok(asking - quiet < TIMEOUT_SECONDS * 2, 'the apiserver waited for one call only')
  } finally {
    process.kill(webhook.daemon.pid, 'SIGCONT')
  }
})
