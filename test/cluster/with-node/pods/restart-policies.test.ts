import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// Tests of containers that the kubelet or an operator ends or starts again: with the annotation, a
// pod ends as it does without it.

const SPACE = 'restart-policies'
/** The pod of which a rule restarts all containers, and a pod of a LeaderWorkerSet. */
const [RESTARTS_ALL, GROUP] = ['rule-restarts-all', 'group-on-failure']
const VOLUME = { name: 'work', emptyDir: {} }
const MOUNT = { name: 'work', mountPath: '/work' }

/** A program that fails with code 42 at its first start, and sleeps and succeeds at the second. */
const SECOND = '[ -e /work/first ] && sleep 10 && exit 0; touch /work/first; sleep 10; exit 42'

/** A container that is not restarted, except by a rule for exit code 42. */
function ruled(action: string): object {
  const restartPolicyRules = [{ action, exitCodes: { operator: 'In', values: [42] } }]
  return { restartPolicy: 'Never', restartPolicyRules }
}

/** The policy of a pod, and the program and fields of its only container. */
const PODS: Readonly<Record<string, readonly [string, string, object]>> = {
  'rule-restarts': ['Never', SECOND, ruled('Restart')],
  [RESTARTS_ALL]: ['Never', SECOND, ruled('RestartAllContainers')],
  'container-never': ['Always', 'sleep 10', { restartPolicy: 'Never' }],
  'container-on-failure': ['Never', SECOND, { restartPolicy: 'OnFailure' }],
  [GROUP]: ['OnFailure', SECOND, {}],
}

/**
 * The labels of a pod of a LeaderWorkerSet, which creates the whole group again when any container
 * of a pod has restarted.
 */
const OF_GROUP = {
  'leaderworkerset.sigs.k8s.io/name': 'group',
  'leaderworkerset.sigs.k8s.io/group-index': '0',
  'leaderworkerset.sigs.k8s.io/worker-index': '0',
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
    metadata: {
      name: `${kind}-${mode}`,
      labels: kind === GROUP ? OF_GROUP : {},
      annotations: { ...RATE, ...MODES[mode] },
    },
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
  const { 'perf-sysstat': observer, ...own } = Object.fromEntries(ends)
  return { phase, own, observer }
}

function logOf(cluster: Cluster, pod: string): Promise<string> {
  return kubectl(cluster, ['logs', pod, '-n', SPACE, '-c', 'perf-sysstat'])
}

t.test('a pod ends with observers as it does without them', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  // Kubernetes 1.30 refuses a restart policy of a container that is no init container
  // (pkg/apis/core/validation/validation.go, validateContainers).
  const isOld = cluster.version.startsWith('v1.30.')
  const kinds = Object.keys(PODS).filter((kind) => !isOld || kind === GROUP)
  const items = kinds.flatMap((kind) => Object.keys(MODES).map((mode) => podOf(kind, mode)))
  const list = { apiVersion: 'v1', kind: 'List', items }
  await kubectl(cluster, ['create', '-n', SPACE, '-f', '-'], JSON.stringify(list))
  for (const kind of kinds) {
    const { observer: none, ...end } = await endOf(cluster, `${kind}-none`)
    t.equal(none, undefined, kind)
    t.equal(end.phase, 'Succeeded', kind)
    for (const mode of ['native', 'container']) {
      const { observer, ...observed } = await endOf(cluster, `${kind}-${mode}`)
      t.strictSame(observed, end, `${kind} ${mode}`)
      const restartCount = kind === RESTARTS_ALL ? 1 : 0
      t.strictSame(observer, { restartCount, code: 0 }, `${kind} ${mode}`)
    }
    // A rule that restarts all containers restarts the observer, too.
    const isMissed = end.own.app.restartCount > 0 && kind !== RESTARTS_ALL
    const log = await logOf(cluster, `${kind}-container`)
    t.match(log, /ended: all processes of container app have ended/, kind)
    t.equal(/if the kubelet starts it again, it is not observed/.test(log), isMissed, kind)
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
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'group-0',
      labels: OF_GROUP,
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

const XCOM = 'airflow-xcom-sidecar'

/**
 * A pod of Airflow's KubernetesPodOperator with an XCom sidecar (airflow
 * providers/cncf/kubernetes/utils/xcom_sidecar.py). When the task has ended, Airflow reads its
 * result in the sidecar, and signals process 1 of the sidecar to end it.
 */
function airflowPod(mode: string) {
  const volumeMounts = [{ name: 'xcom', mountPath: '/airflow/xcom' }]
  const program = (name: string, command: string) => {
    return { name, image: DEBIAN_IMAGE, command: ['sh', '-c', command], volumeMounts }
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `airflow-${mode}`, annotations: { ...RATE, ...MODES[mode] } },
    spec: {
      restartPolicy: 'Never',
      volumes: [{ name: 'xcom', emptyDir: {} }],
      containers: [
        program('base', 'sleep 3; echo 42 > /airflow/xcom/return.json'),
        program(XCOM, 'trap "exit 0" INT; while true; do sleep 1; done;'),
      ],
    },
  }
}

t.test('a pod of Airflow ends with the annotation as it does without it', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  const list = { apiVersion: 'v1', kind: 'List', items: Object.keys(MODES).map(airflowPod) }
  await kubectl(cluster, ['create', '-n', SPACE, '-f', '-'], JSON.stringify(list))
  for (const mode of Object.keys(MODES)) {
    const pod = `airflow-${mode}`
    await until(`the task of ${pod} has ended`, async () => {
      const { containerStatuses = [] } = await statusOf(cluster, pod)
      return containerStatuses.some(({ name, state }) => name === 'base' && state.terminated)
    })
    const signal = 'cat /airflow/xcom/return.json; kill -s INT 1'
    const words = ['exec', pod, '-n', SPACE, '-c', XCOM, '--', 'sh', '-c', signal]
    t.equal(await kubectl(cluster, words), '42\n', mode)
    const ended = { restartCount: 0, code: 0 }
    const own = { base: ended, [XCOM]: ended }
    t.strictSame(await endOf(cluster, pod), { phase: 'Succeeded', own, observer: undefined }, mode)
  }
})
