import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { ASKING, keepAliveAgent, post, reviewOf, sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// The apiserver shows a client certificate to every webhook that requests one (see machine/pki.ts).

const NAME = 'strict'

/** Returns the status annotation of a pod after a dry run; undefined if the pod is unchanged. */
async function statusOf(api: Api): Promise<unknown> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'pod-', annotations: { 'ridealong.dev/inject': 'perf-sysstat' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  }
  const path = `/api/v1/namespaces/${NAME}/pods?dryRun=All`
  const { status, body } = await api.post(path, pod)
  if (status !== 201) throw new Error(`HTTP ${status}: ${JSON.stringify(body)}`)
  return body.metadata.annotations['ridealong.dev/status']
}

async function startStrict(t: Test, ...names: readonly string[]) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, NAME)
  const callers = readFileSync(join(cluster.folder, 'pki', 'callers.crt'), 'utf8')
  const clientCa = join(cluster.folder, 'client-ca.crt')
  writeFileSync(clientCa, callers)
  const words = ['--client-ca', clientCa, ...names.flatMap((name) => ['--client-name', name])]
  const webhook = await startWebhook(cluster, { name: NAME, namespace: NAME, words })
  t.teardown(() => webhook.remove())
  const { port } = webhook
  const ca = readFileSync(join(cluster.folder, NAME, 'ca.crt'), 'utf8')
  const refusals = async () => {
    const labels = { outcome: 'invalid', reason: 'untrusted-client' }
    return sampleOf(await webhook.metrics(), 'ridealong_reviews_total', labels) ?? 0
  }
  const postAs = (pair: object) => {
    return post({ port, ca }, '/mutate/pods', reviewOf(ASKING), keepAliveAgent(t, pair))
  }
  return { api, callers, clientCa, refusals, postAs }
}

t.test('with --client-ca, the webhook answers only the apiserver', async (t) => {
  const { api, refusals, postAs } = await startStrict(t, 'kube-apiserver')
  t.match(await statusOf(api), /"outcome":"injected"/)
  const before = await refusals()
  await t.rejects(postAs({}), 'a client without a certificate is refused')
  const other = await makeAuthority()
  const pair = await other.issue({ subject: 'CN=kube-apiserver', names: [] })
  await t.rejects(postAs(pair), 'a client with a certificate of another authority is refused')
  await until('both refused calls are counted', async () => (await refusals()) === before + 2)
  t.match(await statusOf(api), /"outcome":"injected"/)
})

t.test('a changed file of client CAs takes effect without a restart', async (t) => {
  const { api, callers, clientCa, refusals } = await startStrict(t)
  const next = await makeAuthority()
  writeFileSync(clientCa, next.ca)
  await until('the apiserver is refused', async () => (await statusOf(api)) === undefined)
  t.ok((await refusals()) > 0)
  writeFileSync(clientCa, `${next.ca}${callers}`)
  await until('the apiserver is answered again', async () => (await statusOf(api)) !== undefined)
  t.match(await statusOf(api), /"outcome":"injected"/)
})

t.test('without --client-ca, the webhook answers an apiserver with a certificate', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, NAME)
  const webhook = await startWebhook(cluster, { name: NAME, namespace: NAME })
  t.teardown(() => webhook.remove())
  t.match(await statusOf(api), /"outcome":"injected"/)
})
