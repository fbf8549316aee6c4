import t, { type Test } from 'tap'
import { asText, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { readNamespaceFile } from '../../../src/namespaces/namespace-file.ts'
import { CASE_NAMES, CASE_NAMESPACES, recorded } from '../../cases/read.ts'
import type { Api } from '../api.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// A pod that the apiserver accepts without Ridealong must also be accepted with Ridealong: with
// observers, or without them for the expected reason. Every recorded pod is sent to the apiserver,
// in namespaces with all kinds of rules, first without the webhook and then with it.

// biome-ignore lint/suspicious/noExplicitAny: pods of every shape, as they were recorded.
type Pod = any

/**
 * The rules of a namespace, and their effect on pods that would be injected without these rules.
 */
interface Setting {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly limits?: readonly unknown[]
  /** The reason why pods get no observers; undefined if all pods are injected. */
  readonly reason?: string
  /** The reason why the pod with `spec.resources` gets no observers. */
  readonly podLevelReason?: string
}

const enforce = (level: string) => ({ 'pod-security.kubernetes.io/enforce': level })
const container = (rule: object) => [{ type: 'Container', ...rule }]

const SETTINGS: readonly Setting[] = [
  { name: 'plain' },
  { name: 'privileged', labels: enforce('privileged') },
  { name: 'baseline', labels: enforce('baseline') },
  { name: 'restricted', labels: enforce('restricted') },
  {
    name: 'defaults',
    limits: container({
      default: { cpu: '1', memory: '1Gi' },
      defaultRequest: { cpu: '100m', memory: '128Mi' },
    }),
  },
  {
    name: 'minimum',
    // The limits and requests of the observers are raised to the minimum.
    limits: container({ min: { cpu: '150m', memory: '64Mi' } }),
    podLevelReason: 'limit-range',
  },
  {
    name: 'maximum',
    limits: container({
      max: { cpu: '50m', memory: '16Mi' },
      default: { cpu: '50m', memory: '16Mi' },
    }),
    // In the pod with `spec.resources`, the observers get the defaults of the LimitRange.
    reason: 'limit-range',
  },
  {
    name: 'ratio',
    limits: container({
      maxLimitRequestRatio: { cpu: '1', memory: '1' },
      default: { cpu: '1', memory: '1Gi' },
      defaultRequest: { cpu: '1', memory: '1Gi' },
    }),
    // The requests of the observers are raised to the limits.
  },
]

/**
 * Returns the recorded pods without the fields that the recording apiserver added, so that another
 * apiserver accepts the pods.
 */
async function recordedPods(): Promise<ReadonlyMap<string, Pod>> {
  const namespaces = await readNamespaceFile(CASE_NAMESPACES)
  const pods = new Map<string, Pod>()
  for (const name of CASE_NAMES) {
    const { request } = JSON.parse(recorded(name))
    if (request.operation !== 'CREATE' || request.subResource) continue
    const { annotations } = namespaces.find(request.namespace)
    pods.set(name, asNew(request.object, Object.fromEntries(annotations)))
  }
  return pods
}

function asNew({ metadata, spec }: Pod, defaults: Readonly<Record<string, string>>): Pod {
  const { name, generateName, labels, annotations } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, generateName, labels, annotations: { ...defaults, ...annotations } },
    spec: { ...spec, serviceAccountName: 'default', serviceAccount: 'default' },
  }
}

/** Creates a pod in a dry run. Returns whether it is accepted, the outcome and the QoS class. */
async function tryIn(api: Api, namespace: string, pod: Pod) {
  const { status, body } = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod)
  const isAccepted = status === 201
  const written = isAccepted ? body.metadata.annotations?.['ridealong.dev/status'] : undefined
  const said = fieldsOrNone(written === undefined ? undefined : JSON.parse(written))
  return {
    isAccepted,
    message: isAccepted ? '' : `${status} ${body.message}`,
    outcome: asText(said.reason ?? said.outcome) ?? 'untold',
    qos: asText(body.status?.qosClass),
  }
}

type Tried = Awaited<ReturnType<typeof tryIn>>

async function tryAll(
  api: Api,
  pods: ReadonlyMap<string, Pod>,
): Promise<ReadonlyMap<string, Tried>> {
  const results = new Map<string, Tried>()
  for (const { name } of SETTINGS) {
    for (const [recording, pod] of pods) {
      results.set(`${name}/${recording}`, await tryIn(api, `in-${name}`, pod))
    }
  }
  return results
}

async function prepare(t: Test, api: Api): Promise<void> {
  for (const { name, labels, limits } of SETTINGS) {
    await createNamespace(t, api, `in-${name}`, labels && { labels })
    if (limits === undefined) continue
    const object = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name }, spec: { limits } }
    const { status } = await api.post(`/api/v1/namespaces/in-${name}/limitranges`, object)
    t.equal(status, 201, `the LimitRange ${name} is created`)
  }
}

/** The smallest number of pods that must be injected in the namespace without rules. */
const MIN_INJECTED = 15

t.test('pods that are accepted without the webhook are accepted with the webhook', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const pods = await recordedPods()
  await prepare(t, api)
  const before = await tryAll(api, pods)
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  const after = await tryAll(api, pods)
  for (const [key, { isAccepted, message, qos }] of before) {
    const [setting = '', recording = ''] = key.split('/')
    const now = after.get(key)
    if (!isAccepted) {
      const error = `without the webhook, the apiserver refuses it: ${message}`
      t.not(now?.outcome, 'injected', `${key} is not injected; ${error}`)
      continue
    }
    t.ok(now?.isAccepted, `${key} is accepted with the webhook ${now?.message}`)
    if (qos === 'Guaranteed') t.equal(now?.qos, qos, `${key} stays Guaranteed`)
    const plain = after.get(`plain/${recording}`)?.outcome
    const wanted = wantedIn(setting, recording, plain, cluster.version)
    t.equal(now?.outcome, wanted, `${key} has the outcome ${wanted}`)
  }
  const injected = [...after].filter(([key, { outcome }]) => {
    return key.startsWith('plain/') && outcome === 'injected'
  })
  t.ok(injected.length >= MIN_INJECTED, `${injected.length} pods are injected without rules`)
})

/**
 * Returns the expected outcome of a pod, from its outcome without the rule. Kubernetes 1.30 drops
 * the field `spec.resources` of pods.
 */
function wantedIn(setting: string, recording: string, plain = '', version = ''): string {
  const rule = SETTINGS.find(({ name }) => name === setting)
  if (plain !== 'injected') return plain
  const isPodLevel = recording === 'pod-level-resources' && !version.startsWith('v1.30.')
  return (isPodLevel ? rule?.podLevelReason : rule?.reason) ?? 'injected'
}

/**
 * Sets the only quota of a namespace to exactly the resources that the apiserver counts for a pod.
 * The apiserver's quota check reads quotas from a watch of its own, so this function waits until
 * the check accepts the pod.
 */
async function fillExactly(
  api: Api,
  namespace: string,
  pod: Pod,
  resources: readonly string[],
): Promise<void> {
  const at = `/api/v1/namespaces/${namespace}`
  const hard = Object.fromEntries(resources.map((resource) => [resource, '1000G']))
  const metadata = { name: 'exact' }
  const object = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } }
  await api.post(`${at}/resourcequotas`, object)
  const exact = `${at}/resourcequotas/exact`
  const quota = async () => (await api.get(exact)).body
  await until(
    'the apiserver has computed the usage of the quota',
    async () => (await quota()).status?.used !== undefined,
  )
  const { name, generateName, labels } = pod.metadata
  const spec = { ...pod.spec, nodeSelector: { nowhere: 'true' } }
  // Without its annotations the pod requests no observers.
  const waiting = { ...pod, metadata: { name, generateName, labels }, spec }
  let created = ''
  await until('the pod is accepted without the webhook', async () => {
    const { status, body } = await api.post(`${at}/pods`, waiting)
    created = status === 201 ? body.metadata.name : ''
    return created !== ''
  })
  const { used } = (await quota()).status
  await api.delete(`${at}/pods/${created}?gracePeriodSeconds=0`)
  await api.merge(exact, { spec: { hard: used } })
  await until('the quota is as small as the pod', async () => {
    const { status } = await quota()
    const isFree = Object.values(status.used).every((amount) => amount === '0')
    return isFree && resources.every((resource) => status.hard[resource] === used[resource])
  })
}

/** The recordings of pods with the requests and limits that a quota requires. */
const COUNTED = ['pod-guaranteed', 'mpijob-launcher', 'deployment-namespace-annotated']

t.test('a pod that fills its quota exactly is accepted without observers', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const pods = await recordedPods()
  const webhook = await startWebhook(cluster)
  t.teardown(() => webhook.remove())
  for (const kind of ['requests', 'limits']) {
    for (const recording of COUNTED) {
      const pod = pods.get(recording)
      // Each recording has its own namespace, so that no earlier quota has an effect.
      const namespace = `in-quota-${kind}-${recording}`
      await createNamespace(t, api, namespace)
      await fillExactly(api, namespace, pod, [`${kind}.cpu`, `${kind}.memory`])
      // The webhook and the apiserver's quota check each get the quota from their own watch.
      await until(`the webhook knows the quota on ${kind} for ${recording}`, async () => {
        return (await tryIn(api, namespace, pod)).outcome === 'quota'
      })
      const { isAccepted, outcome, message } = await tryIn(api, namespace, pod)
      t.ok(isAccepted, `${recording} is accepted under a quota on ${kind} ${message}`)
      t.equal(outcome, 'quota', `${recording} gets no observers, which would exceed the quota`)
    }
  }
})
