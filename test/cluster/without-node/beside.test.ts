import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import type { Operation } from '../../../src/core/patch.ts'
import { run } from '../../cli/command.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests with another webhook that mutates the same pods before or after Ridealong, and may also
// mutate the observers. Kubernetes calls webhooks in the order of the names of their
// configurations, and calls some of them a second time (reinvocation).

// biome-ignore lint/suspicious/noExplicitAny: pods as the apiserver sends them.
type Pod = any

/** Returns the patch of another webhook for a pod. */
type Mutate = (pod: Pod) => readonly Operation[]

/**
 * Starts the other webhook, a server in this process that is called for pods in namespaces with the
 * label `other: yes`.
 */
async function startOther(
  t: Test,
  cluster: Cluster,
  name: string,
  mutate: Mutate,
  reinvocationPolicy: 'IfNeeded' | 'Never' = 'IfNeeded',
): Promise<void> {
  const authority = await makeAuthority()
  const { cert, key } = await authority.issue({ names: ['127.0.0.1'] })
  const server = createServer({ cert, key }, async (incoming, outgoing) => {
    const { apiVersion, kind, request } = JSON.parse(await text(incoming))
    const operations = mutate(request.object)
    const patch = Buffer.from(JSON.stringify(operations)).toString('base64')
    const patched = operations.length === 0 ? {} : { patchType: 'JSONPatch', patch }
    const response = { uid: request.uid, allowed: true, ...patched }
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(JSON.stringify({ apiVersion, kind, response }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const caBundle = Buffer.from(authority.ca).toString('base64')
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
        namespaceSelector: { matchLabels: { other: 'yes' } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        reinvocationPolicy,
      },
    ],
  }
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(configuration))
  t.teardown(async () => {
    await kubectl(cluster, ['delete', 'mutatingwebhookconfiguration', name])
    server.closeAllConnections()
    server.close()
  })
}

function pod(): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'app', annotations: { 'ridealong.dev/inject': 'perf-sysstat' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  }
}

const places = (pod: Pod) => (pod.spec.initContainers ?? []) as Pod[]

/** Adds a native sidecar as the first init container, as service meshes do. */
const addMesh: Mutate = (pod) => {
  if (places(pod).some(({ name }) => name === 'mesh')) return []
  const mesh = { name: 'mesh', image: 'mesh', restartPolicy: 'Always' }
  if (pod.spec.initContainers) return [{ op: 'add', path: '/spec/initContainers/0', value: mesh }]
  return [{ op: 'add', path: '/spec/initContainers', value: [mesh] }]
}

/** Removes `restartPolicy` from init containers, as clients with old types do. */
const strip: Mutate = (pod) =>
  places(pod).flatMap(({ restartPolicy }, place) =>
    restartPolicy ? [{ op: 'remove', path: `/spec/initContainers/${place}/restartPolicy` }] : [],
  )

/** Removes `restartPolicy` from init containers, but only once for each pod. */
function stripOnce(): Mutate {
  const stripped = new Set<string>()
  return (pod) => {
    const { name } = pod.metadata
    const operations = strip(pod)
    if (operations.length === 0 || stripped.has(name)) return []
    stripped.add(name)
    return operations
  }
}

interface Beside {
  readonly what: string
  readonly name: string
  readonly mutate: Mutate
  /** The init containers of the created pod, each with its restartPolicy. */
  readonly wanted: Readonly<Record<string, string | undefined>>
}

const ALWAYS = 'Always'

const OTHERS: readonly Beside[] = [
  {
    what: 'adds a sidecar before Ridealong is called',
    name: 'a-first',
    mutate: addMesh,
    wanted: { mesh: ALWAYS, 'perf-sysstat': ALWAYS },
  },
  {
    what: 'adds a sidecar after Ridealong was called',
    name: 'z-last',
    mutate: addMesh,
    wanted: { mesh: ALWAYS, 'perf-sysstat': ALWAYS },
  },
  {
    what: 'removes restartPolicy once, and Ridealong restores it',
    name: 'z-last',
    mutate: stripOnce(),
    wanted: { 'perf-sysstat': ALWAYS },
  },
  {
    what: 'always removes restartPolicy, which is then missing',
    name: 'z-last',
    mutate: strip,
    wanted: { 'perf-sysstat': undefined },
  },
]

for (const { what, name, mutate, wanted } of OTHERS) {
  t.test(`a pod is injected if another webhook ${what}`, async (t) => {
    const { cluster, api } = await runningCluster(t)
    await createNamespace(t, api, 'beside', { labels: { other: 'yes' } })
    const webhook = await startWebhook(cluster)
    t.teardown(() => webhook.remove())
    let calls = 0
    await startOther(t, cluster, name, (pod) => {
      calls += 1
      return mutate(pod)
    })
    const path = '/api/v1/namespaces/beside/pods?dryRun=All'
    await until('the other webhook is called', async () => {
      await api.post(path, { ...pod(), metadata: { name: 'probe' } })
      return calls > 0
    })
    const { status, body } = await api.post(path, pod())
    t.equal(status, 201, body.message)
    const restarts = places(body).map(({ name, restartPolicy }) => [name, restartPolicy])
    t.strictSame(Object.fromEntries(restarts), wanted)
    t.equal(body.spec.shareProcessNamespace, true)
    t.match(JSON.parse(body.metadata.annotations['ridealong.dev/status']), {
      outcome: 'injected',
      metrics: ['perf-sysstat'],
    })
  })
}

/** Requests a metric for pods that do not. */
const addRequest: Mutate = ({ metadata: { annotations = {} } }) => {
  if (annotations['ridealong.dev/inject'] !== undefined) return []
  return [{ op: 'add', path: '/metadata/annotations', value: REQUEST }]
}

const REQUEST = { 'ridealong.dev/inject': 'perf-sysstat' }

/** For each name of Ridealong's configuration: the observers of the pod, and the doctor's words. */
const NAMES = {
  'zz-ridealong': {
    names: ['perf-sysstat'],
    sentence: /^called before zz-ridealong, and not again/,
  },
  'aa-ridealong': {
    names: [],
    sentence: /^called after aa-ridealong, which does not see the anno/,
  },
}

for (const [name, { names, sentence }] of Object.entries(NAMES)) {
  t.test(`${name} ${names.length > 0 ? 'sees' : 'misses'} requests of a webhook m`, async (t) => {
    const { cluster, api } = await runningCluster(t)
    await createNamespace(t, api, 'beside', { labels: { other: 'yes' } })
    const webhook = await startWebhook(cluster, { name })
    t.teardown(() => webhook.remove())
    await startOther(t, cluster, 'm', addRequest, 'Never')
    const plain = { ...pod(), metadata: { name: 'app' } }
    const create = () => api.post('/api/v1/namespaces/beside/pods?dryRun=All', plain)
    await until('the other webhook is called', async () => {
      return (await create()).body.metadata.annotations?.['ridealong.dev/inject'] !== undefined
    })
    const { body } = await create()
    t.strictSame(
      places(body).map((place) => place.name),
      names,
    )
    const words = ['doctor', '--kubeconfig', cluster.kubeconfig, '--webhook-configuration', name]
    const { checks } = JSON.parse((await run([...words, '-o', 'json'])).out)
    const order = checks.filter((check: Pod) => check.name === 'order of webhooks')
    t.match(order, [{ verdict: 'look', sentence }])
    t.match(order[0].sentence, /: m$/)
  })
}
