import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// Tests of containers with restart policies of their own: with observers, a pod ends as it does
// without them.

const SPACE = 'restart-policies'
const VOLUME = { name: 'work', emptyDir: {} }
const MOUNT = { name: 'work', mountPath: '/work' }

/** A program that fails with code 42 at its first start, and sleeps and succeeds at the second. */
const SECOND = '[ -e /work/first ] && sleep 10 && exit 0; touch /work/first; sleep 10; exit 42'
const RESTARTED = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }]

/** The policy of a pod, and the program and fields of its only container. */
const PODS: Readonly<Record<string, readonly [string, string, object]>> = {
  'rule-restarts': ['Never', SECOND, { restartPolicy: 'Never', restartPolicyRules: RESTARTED }],
  'container-never': ['Always', 'sleep 10', { restartPolicy: 'Never' }],
  'container-on-failure': ['Never', SECOND, { restartPolicy: 'OnFailure' }],
  'pod-on-failure': ['OnFailure', SECOND, {}],
}

/** The annotations of a pod: without observers, and with an observer in each mode. */
const MODES: Readonly<Record<string, object>> = {
  none: {},
  native: { 'ridealong.dev/inject': 'perf-sysstat' },
  container: { 'ridealong.dev/inject': 'perf-sysstat', 'ridealong.dev/mode': 'container' },
}

const RATE = { 'perf-sysstat.ridealong.dev/rate': '1' }

function podOf(kind: string, mode: string) {
  const [restartPolicy = '', command = '', fields = {}] = PODS[kind] ?? []
  const app = { name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', command] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${kind}-${mode}`, annotations: { ...RATE, ...MODES[mode] } },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 5,
      containers: [{ ...app, ...fields, volumeMounts: [MOUNT] }],
      volumes: [VOLUME],
    },
  }
}

interface ContainerStatus {
  readonly name: string
  readonly restartCount: number
  readonly state: { readonly terminated?: { readonly exitCode: number } }
}

interface PodStatus {
  readonly phase: string
  readonly containerStatuses?: readonly ContainerStatus[]
  readonly initContainerStatuses?: readonly ContainerStatus[]
}

async function statusOf(cluster: Cluster, pod: string): Promise<PodStatus> {
  return JSON.parse(await kubectl(cluster, ['get', 'pod', pod, '-n', SPACE, '-o', 'json'])).status
}

/** Waits until a pod has ended, and returns how it and its containers ended. */
async function endOf(cluster: Cluster, pod: string) {
  const isEnded = ({ phase }: PodStatus) => phase === 'Succeeded' || phase === 'Failed'
  await until(`${pod} has ended`, async () => isEnded(await statusOf(cluster, pod)), 180_000)
  const { phase, containerStatuses = [], initContainerStatuses = [] } = await statusOf(cluster, pod)
  const ends = [...containerStatuses, ...initContainerStatuses].map(
    ({ name, restartCount, state }) => [name, { restartCount, code: state.terminated?.exitCode }],
  )
  const { app, ...observers } = Object.fromEntries(ends)
  return { phase, app, observers }
}

function logOf(cluster: Cluster, pod: string): Promise<string> {
  return kubectl(cluster, ['logs', pod, '-n', SPACE, '-c', 'perf-sysstat'])
}

t.test('a pod ends with observers as it does without them', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  const kinds = Object.keys(PODS)
  const items = kinds.flatMap((kind) => Object.keys(MODES).map((mode) => podOf(kind, mode)))
  const list = { apiVersion: 'v1', kind: 'List', items }
  await kubectl(cluster, ['create', '-n', SPACE, '-f', '-'], JSON.stringify(list))
  for (const kind of kinds) {
    const { phase, app, observers } = await endOf(cluster, `${kind}-none`)
    t.strictSame(observers, {}, kind)
    t.equal(phase, 'Succeeded', kind)
    for (const mode of ['native', 'container']) {
      const observed = await endOf(cluster, `${kind}-${mode}`)
      t.strictSame({ phase: observed.phase, app: observed.app }, { phase, app }, `${kind} ${mode}`)
      const once = { 'perf-sysstat': { restartCount: 0, code: 0 } }
      t.strictSame(observed.observers, once, `${kind} ${mode}`)
    }
    const isRestarted = app.restartCount > 0
    const log = await logOf(cluster, `${kind}-container`)
    t.match(log, /ended: all processes of container app have ended/, kind)
    t.equal(/if the kubelet starts it again, it is not observed/.test(log), isRestarted, kind)
  }
})

t.test('an observer with a fault of its own waits, and is not restarted', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const folder = t.testdir()
  const container = {
    image: IMAGES.observer,
    command: ['ridealong-observer', 'pidstat'],
    resources: { limits: { cpu: '100m', memory: '32Mi' } },
  }
  const metric = {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name: 'faulty' },
    spec: { description: 'A command that does not exist.', privilege: 'restricted', container },
  }
  writeFileSync(join(folder, 'faulty.yaml'), JSON.stringify(metric))
  const words = ['--catalog', folder, '--observer-image', IMAGES.observer]
  const webhook = await startWebhook(cluster, { words })
  t.teardown(() => webhook.remove())
  // The labels and the policy of a pod of a LeaderWorkerSet, which creates the whole group again
  // when any container has restarted.
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'group-0',
      labels: { 'leaderworkerset.sigs.k8s.io/name': 'group' },
      annotations: { 'ridealong.dev/inject': 'faulty' },
    },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 5,
      containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['sleep', '600'] }],
    },
  }
  await kubectl(cluster, ['create', '-n', SPACE, '-f', '-'], JSON.stringify(pod))
  const log = () => kubectl(cluster, ['logs', 'group-0', '-n', SPACE, '-c', 'faulty'])
  await until('the fault is reported', async () => {
    const text = await log().catch(() => '')
    return text.includes('unknown command pidstat')
  })
  // The kubelet restarts a native sidecar at once when it exits for the first time.
  await until('the application runs', async () => {
    return (await statusOf(cluster, 'group-0')).phase === 'Running'
  })
  const { initContainerStatuses = [] } = await statusOf(cluster, 'group-0')
  t.match(initContainerStatuses, [{ name: 'faulty', restartCount: 0, state: { running: {} } }])
})
