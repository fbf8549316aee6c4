import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, parseAll, summaryOf, timepointsIn } from '../../observers/prerequisites.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { startWebhook } from '../webhook.ts'

// Tests that need a container runtime and a kubelet: which counters the kernel lets an observer
// read, and whether `kubectl logs` returns a long log completely.

const SPACE = 'observers'
const GRANT = { labels: { 'ridealong.dev/privilege': 'privileged' } }

interface Own {
  readonly securityContext?: object
  readonly env?: readonly object[]
  readonly limits?: object
}

const rate = (value: string) => ({ name: 'RIDEALONG_OPTION_RATE', value })

/** Metrics of an administrator whose observers run as another user, or with short intervals. */
const METRICS: Readonly<Record<string, Own>> = {
  'of-another-group': { securityContext: { runAsUser: 1000, runAsGroup: 1001 } },
  'of-another-user': { securityContext: { runAsUser: 1001, runAsGroup: 1001 } },
  'of-root': { securityContext: { runAsUser: 0, runAsGroup: 0 } },
  'of-a-tracer': {
    securityContext: { runAsUser: 0, runAsGroup: 0, capabilities: { add: ['SYS_PTRACE'] } },
  },
  'of-a-hurry': {
    env: [rate('0.1')],
    limits: { cpu: '1', memory: '64Mi' },
  },
}

function documentOf(name: string, { securityContext, env = [rate('1')], limits }: Own) {
  return {
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name },
    spec: {
      description: 'perf-sysstat with other settings',
      privilege: securityContext === undefined ? 'restricted' : 'privileged',
      container: {
        image: IMAGES.observer,
        command: ['perf-sysstat'],
        resources: { limits: limits ?? { cpu: '100m', memory: '32Mi' } },
        env,
        ...(securityContext && { securityContext }),
      },
    },
  }
}

/** Writes the metrics to a folder, as JSON, which is valid YAML. Returns the folder. */
function catalogIn(folder: string): string {
  for (const [name, own] of Object.entries(METRICS)) {
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(documentOf(name, own)))
  }
  return folder
}

interface Asking {
  readonly name: string
  readonly metric: string
  readonly command: string
  readonly securityContext?: object
}

/** The counters that a pod's status annotation predicts, and the whole log of its observer. */
interface Observed {
  readonly counters: string
  readonly log: string
}

async function observe(cluster: Cluster, asking: Asking): Promise<Observed> {
  const { name, metric, command, securityContext } = asking
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', command] }
  const annotations = {
    'ridealong.dev/inject': metric,
    'perf-sysstat.ridealong.dev/rate': '1',
  }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations },
    spec: { containers: [{ ...container, securityContext }], restartPolicy: 'Never' },
  }
  const here = ['-n', SPACE]
  const created = await kubectl(
    cluster,
    ['create', ...here, '-o', 'json', '-f', '-'],
    JSON.stringify(pod),
  )
  const { metadata } = JSON.parse(created)
  const { counters } = JSON.parse(metadata.annotations['ridealong.dev/status'])
  const ended = '--for=jsonpath={.status.phase}=Succeeded'
  await kubectl(cluster, ['wait', ended, `pod/${name}`, ...here, '--timeout=300s'])
  return { counters, log: await kubectl(cluster, ['logs', name, ...here, '-c', metric]) }
}

const USER = { runAsUser: 1000, runAsGroup: 1000 }
const ROOT = { runAsUser: 0, runAsGroup: 0 }
const STRONG = { ...ROOT, capabilities: { add: ['IPC_LOCK'] } }

// A description of the observer, the metric, the security context of the target, the `counters` in
// the status annotation, and the counters that the observer could read.
const READABLE: readonly (readonly [string, string, object, string, string])[] = [
  ['with the user and group of its target', 'perf-sysstat', USER, 'all', 'all'],
  ['with the user, but not the group, of its target', 'of-another-group', USER, 'no-io', 'no-io'],
  ['of a target without a set group', 'perf-sysstat', { runAsUser: 1000 }, 'unknown', 'all'],
  ['with another user than its target', 'of-another-user', USER, 'no-io', 'no-io'],
  ['that is root, with a target of root', 'perf-sysstat', ROOT, 'all', 'all'],
  // If the pod sets no user, each container runs as the user of its image, which is root.
  ['in a pod that sets no user', 'perf-sysstat', {}, 'all', 'all'],
  ['that is root, with a target of another user', 'of-root', USER, 'all', 'all'],
  ['with fewer capabilities than its root target', 'perf-sysstat', STRONG, 'no-io', 'no-io'],
  ['with SYS_PTRACE, and a target of another user', 'of-a-tracer', USER, 'all', 'all'],
  [
    'with SYS_PTRACE, and a root target with more capabilities',
    'of-a-tracer',
    STRONG,
    'all',
    'all',
  ],
]

function observeAll(cluster: Cluster): Promise<readonly Observed[]> {
  const command = 'sleep 6'
  return Promise.all(
    READABLE.map(([, metric, securityContext], index) =>
      observe(cluster, { name: `readable-${index}`, metric, securityContext, command }),
    ),
  )
}

/**
 * In this time, there are as many intervals of 0.1 s as intervals of the default rate in two hours.
 */
const SECONDS = 72
const PROCESSES = 64

function observeLong(cluster: Cluster): Promise<Observed> {
  const command = `i=1; while [ $i -lt ${PROCESSES} ]; do sleep ${SECONDS} & i=$((i+1)); done; wait`
  return observe(cluster, { name: 'long', metric: 'of-a-hurry', command, securityContext: USER })
}

t.test('observers read the predicted counters, and kubectl reads whole logs', async (t) => {
  const setting = await observePods(t)
  for (const [index, [title, , , promised, read]] of READABLE.entries()) {
    const outcome = `the prediction is ${promised}, and the log has ${read}`
    await t.test(`for an observer ${title}, ${outcome}`, (t) =>
      countersArePredicted(t, setting, index, promised, read),
    )
  }

  await t.test('kubectl logs returns a long log completely', (t) => longLogIsComplete(t, setting))
})

async function observePods(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE, GRANT)
  const catalog = catalogIn(t.testdir({}))
  const words = ['--observer-image', IMAGES.observer, '--catalog', catalog]
  const webhook = await startWebhook(cluster, { words })
  t.teardown(() => webhook.remove())
  const [all, long] = await Promise.all([observeAll(cluster), observeLong(cluster)])

  const logs = parseAll(
    'perf-sysstat',
    all.map(({ log }) => log),
  )
  return { all, logs, long }
}

type Setting = Awaited<ReturnType<typeof observePods>>

async function countersArePredicted(
  t: Test,
  { all, logs }: Setting,
  index: number,
  promised: string,
  read: string,
): Promise<void> {
  t.equal(all[index]?.counters, promised)
  t.equal(logs[index]?.metadata.counters, read)
  const rows = (logs[index]?.data ?? []).flatMap((timepoint) => timepoint.io_statistics ?? [])
  t.ok(rows.length > 0)
  const isHidden = read === 'no-io'
  t.ok(
    rows.every(({ kb_rd_s }) => (kb_rd_s === null) === isHidden),
    'bytes are null only if they cannot be read',
  )
}

async function longLogIsComplete(t: Test, { long }: Setting): Promise<void> {
  const { log } = long
  const { data } = parse('perf-sysstat', log)
  const [whole] = summaryOf(log)
  t.ok(data.length > 0)
  t.equal(data.length, timepointsIn(log), 'the parser yields every timepoint')
  t.equal(data.length, whole?.timepoints, 'the summary counts every timepoint')
  const isLong = log.length > 4 << 20 && log.length < 8 << 20
  t.ok(isLong, `the log has ${log.length} bytes, which is from 4 to 8 MiB`)
  // Some processes start after the first samples, and some processes end before the last samples.
  const isFull = ({ policy }: (typeof data)[number]) => policy?.length === PROCESSES
  const full = data.slice(data.findIndex(isFull), data.findLastIndex(isFull) + 1)
  t.ok(full.every(isFull), 'each timepoint has a row for every process while all processes run')
  const share = `${full.length} of ${data.length} timepoints`
  t.ok(full.length >= data.length * 0.8, `${share} are from the time in which all processes run`)
  t.match(log.trimEnd(), /SUMMARY END$/)
}
