import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { ARMED_LABEL, KEYS } from '../../../src/core/keys.ts'
import { watchCluster } from '../../../webhook/cluster/cluster.ts'
import { INTERVALS, type Intervals } from '../../../webhook/cluster/intervals.ts'
import { clusterToWatch } from '../../../webhook/cluster-to-watch.ts'
import { until } from '../../until.ts'
import { addedNames, capturedLog, podOf, post, reviewOf, startApp } from '../../webhook/server.ts'
import { startRelay } from '../relay.ts'

const { KUBECONFIG, CI } = process.env
if (KUBECONFIG === undefined && CI === 'true') {
  throw new Error('KUBECONFIG must name the cluster of the tests')
}
const options = KUBECONFIG === undefined ? { skip: 'KUBECONFIG names no cluster' } : {}

/** A client of the apiserver, to change objects as users do. */
function client(): CoreV1Api {
  const config = new KubeConfig()
  config.loadFromDefault()
  return config.makeApiClient(CoreV1Api)
}

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
let made = 0

/** Creates a namespace that is deleted when the test ends. */
async function create(t: Test, annotations: object, labels: object = {}): Promise<string> {
  made += 1
  const name = `caches-${process.pid}-${made}`
  const metadata = { name, annotations: { ...annotations }, labels: { ...labels } }
  await client().createNamespace({ body: { metadata } })
  t.teardown(() => client().deleteNamespace({ name }))
  return name
}

const AS_MERGE_PATCH = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

/**
 * Sets or removes the annotation with a patch, as `kubectl annotate` does. A patch succeeds even if
 * a replica changes the label of the namespace at the same time.
 */
async function annotate(name: string, inject: string | undefined): Promise<void> {
  const body = { metadata: { annotations: { [KEYS.inject]: inject ?? null } } }
  await client().patchNamespace({ name, body }, AS_MERGE_PATCH)
}

async function isArmed(name: string): Promise<boolean> {
  const { metadata } = await client().readNamespace({ name })
  return metadata?.labels?.[ARMED_LABEL] === 'true'
}

/** Starts a replica of the webhook that watches the cluster through a relay that can fail. */
async function startReplica(t: Test, pace: Partial<Intervals> = {}, isReady = true) {
  const access = await clusterToWatch({}, process.env)
  const relay = await startRelay(t, Number(new URL(access.server).port))
  const { log, lines } = capturedLog()
  const cluster = watchCluster({
    access: { ...access, server: `https://127.0.0.1:${relay.port}` },
    excludedNamespaces: new Set(['kube-system']),
    registry: new Registry(),
    log,
    pace: { ...INTERVALS, pauseMs: 50, longestPauseMs: 200, lookupMs: 5000, ...pace },
  })
  t.teardown(() => cluster.stop())
  const app = await startApp(t, { namespaces: cluster })
  if (isReady) {
    await until('the replica is ready', () => cluster.checks().every(({ fatal }) => !fatal))
  }
  /** Reports whether a pod without annotations is patched if the webhook is called for the pod. */
  const isPatched = async (namespace: string) => {
    const answer = await post(app, '/mutate/pods', reviewOf(podOf({}), { namespace }))
    return addedNames(answer).includes('perf-sysstat')
  }
  /** Reports whether the cache contains the annotation, without a request to the apiserver. */
  const isKnownToAsk = (name: string) => {
    const found = cluster.find(name, false)
    return !(found instanceof Promise) && found.annotations.has(KEYS.inject)
  }
  return { cluster, relay, lines, isPatched, isKnownToAsk }
}

t.test('pods are patched as long as their namespace is annotated', options, async (t) => {
  const replicas = await Promise.all([startReplica(t), startReplica(t)])
  const name = await create(t, {})
  for (const { isPatched } of replicas) t.equal(await isPatched(name), false)
  await annotate(name, 'perf-sysstat')
  for (const { isPatched, isKnownToAsk } of replicas) {
    await until('the annotation is known', () => isKnownToAsk(name))
    t.equal(await isPatched(name), true, 'every replica patches the pod')
  }
  await annotate(name, undefined)
  for (const { isPatched, isKnownToAsk } of replicas) {
    await until('the removal is known', () => !isKnownToAsk(name))
    t.equal(await isPatched(name), false)
  }
})

t.test('pods are patched right after the creation of their namespace', options, async (t) => {
  const { isPatched } = await startReplica(t)
  for (let i = 0; i < 10; i += 1) t.equal(await isPatched(await create(t, ASKING)), true)
})

t.test('pods are patched before the first list is complete', options, async (t) => {
  const name = await create(t, ASKING)
  const { isPatched } = await startReplica(t, {}, false)
  t.equal(await isPatched(name), true)
})

t.test('the look-up of an unknown namespace includes its LimitRange', options, async (t) => {
  const namespace = await create(t, ASKING)
  // In the client's types, the field `default` of a LimitRange is called `_default`.
  const limits = [{ type: 'Container', _default: { cpu: '1' }, max: { cpu: '2' } }]
  const body = { metadata: { name: 'limits' }, spec: { limits } }
  await client().createNamespacedLimitRange({ namespace, body })
  const { cluster } = await startReplica(t, {}, false)
  const found = await cluster.find(namespace, true)
  t.equal(found.limitRanges.length, 1)
  await client().deleteNamespacedLimitRange({ namespace, name: 'limits' })
  await until('the deletion is known', async () => {
    return (await cluster.find(namespace, true)).limitRanges.length === 0
  })
})

t.test('a missing or outdated label ridealong.dev/armed is repaired', options, async (t) => {
  await startReplica(t)
  const missed = await create(t, ASKING)
  const left = await create(t, {}, { [ARMED_LABEL]: 'true' })
  await until('the namespace is armed', () => isArmed(missed))
  await until('the namespace is disarmed', async () => !(await isArmed(left)))
  await annotate(missed, undefined)
  await until('the namespace is disarmed', async () => !(await isArmed(missed)))
})

t.test('caches are used while the network is cut, and updated afterwards', options, async (t) => {
  const name = await create(t, ASKING)
  const other = await create(t, {})
  const { relay, cluster, isPatched, isKnownToAsk } = await startReplica(t)
  relay.cut()
  await until('every check reports a problem', () =>
    cluster.checks().every(({ problem }) => problem !== undefined),
  )
  t.equal(await isPatched(name), true)
  await annotate(name, undefined)
  await annotate(other, 'perf-sysstat')
  relay.mend()
  await until('both changes are known', () => !isKnownToAsk(name) && isKnownToAsk(other))
  await until('no check reports a problem', () =>
    cluster.checks().every(({ problem }) => problem === undefined),
  )
})

t.test('a hanging connection is detected and replaced', options, async (t) => {
  const name = await create(t, {})
  const { relay, lines, isKnownToAsk } = await startReplica(t, { silenceMs: 3000, answerMs: 1000 })
  await annotate(name, 'perf-sysstat')
  await until('the annotation is known', () => isKnownToAsk(name))
  relay.hang()
  relay.mend()
  await annotate(name, undefined)
  await until('the change is known', () => !isKnownToAsk(name))
  t.ok(lines.some((line) => line.includes('a watch received nothing for 3 s')))
})
