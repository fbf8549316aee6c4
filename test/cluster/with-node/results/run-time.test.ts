import t, { type Test } from 'tap'
import type { TimePart } from '../../../../src/runs/time/parts.ts'
import { run } from '../../../cli/command.ts'
import { startTestArchive } from '../../archive/start.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, forgetOnNode, IMAGES, nameOnNode } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// The time of runs is divided as it was made: the containers write down when they start and end,
// and the test when it changes something. The kubelet writes whole seconds.

const SPACE = 'run-time'
const HERE = ['-n', SPACE]
const ANNOTATIONS = { 'ridealong.dev/inject': 'vitals', 'vitals.ridealong.dev/rate': '60' }

/** The maximum error of a reported time: in seconds, or as a part of the actual time. */
const TOLERANCE = { seconds: 2, part: 0.05 }

/** The seconds between SIGTERM, which the programs ignore while they sleep, and SIGKILL. */
const GRACE = 2

/** An image that the node does not have before a test gives it this name. */
const LATE_IMAGE = 'docker.io/library/ridealong-late:1'

const NOTE = 'note() { echo "$1 $(date +%s.%N)" >> /notes/times; }'

/** Runs for some seconds, and prints all that the containers of the pod have noted so far. */
function work(seconds: number, end = 'exit 0'): string {
  return `${NOTE}\nnote from\nsleep ${seconds}\nnote to\ncat /notes/times\n${end}`
}

/** Fails the first time that a container of the pod runs it. */
const FAIL_ONCE = 'test "$(grep -c ^from /notes/times)" -gt 1 || exit 42'

function template(command: string, more: object = {}, container: object = {}) {
  const volumeMounts = [{ name: 'notes', mountPath: '/notes' }]
  const app = { name: 'app', image: DEBIAN_IMAGE, command: ['bash', '-c', command], volumeMounts }
  return {
    metadata: { annotations: ANNOTATIONS },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: GRACE,
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
      volumes: [{ name: 'notes', emptyDir: {} }],
      containers: [{ ...app, ...container }],
      ...more,
    },
  }
}

function initContainer(command: string): object {
  const volumeMounts = [{ name: 'notes', mountPath: '/notes' }]
  return { name: 'init', image: DEBIAN_IMAGE, command: ['bash', '-c', command], volumeMounts }
}

const GATED = { schedulingGates: [{ name: 'ridealong.dev/test' }] }
const SLOW_INIT = initContainer(`${NOTE}\nnote init-from\nsleep 8\nnote init-to`)
const RESTART_ALL = [
  { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } },
]

/** The Jobs of the test, by name. */
const JOBS: Readonly<Record<string, object>> = {
  healthy: { template: template(work(10)) },
  pending: { template: template(work(4), GATED) },
  image: {
    template: template(work(4), {}, { image: LATE_IMAGE, imagePullPolicy: 'IfNotPresent' }),
  },
  init: { template: template(work(4), { initContainers: [SLOW_INIT] }) },
  late: {
    ...{ completionMode: 'Indexed', completions: 2, parallelism: 2 },
    template: template(work(20), GATED),
  },
  retried: {
    backoffLimit: 3,
    template: template(work(5, `test "$(date +%s)" -gt "$FAIL_UNTIL" || exit 3`)),
  },
  restarted: { template: template(work(5, FAIL_ONCE), { restartPolicy: 'OnFailure' }) },
  all: {
    template: template(
      work(5, FAIL_ONCE),
      { initContainers: [SLOW_INIT] },
      {
        restartPolicy: 'Never',
        restartPolicyRules: RESTART_ALL,
      },
    ),
  },
  brief: { ttlSecondsAfterFinished: 0, template: template(work(6)) },
  deleted: { template: template(work(600)) },
  suspended: { suspend: true, template: template(work(5)) },
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the apiserver and of the command.
type Json = any

async function read(cluster: Cluster, ...words: readonly string[]): Promise<Json> {
  return JSON.parse(await kubectl(cluster, ['get', ...HERE, '-o', 'json', ...words]))
}

const podsOf = async (cluster: Cluster, job: string): Promise<readonly Json[]> =>
  (await read(cluster, 'pods', '-l', `job-name=${job}`)).items

async function createJobs(cluster: Cluster): Promise<void> {
  const failUntil = Math.floor(Date.now() / 1000) + 20
  for (const [name, spec] of Object.entries(JOBS)) {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }
    const text = JSON.stringify(job).replaceAll('$FAIL_UNTIL', String(failUntil))
    await kubectl(cluster, ['create', ...HERE, '-f', '-'], text)
  }
}

/** Removes the scheduling gates of a pod. Returns the time in seconds since 1970. */
async function openGate(cluster: Cluster, job: string, index: number): Promise<number> {
  let pods: readonly Json[] = []
  await until(`the pods of ${job} are there`, async () => {
    pods = (await podsOf(cluster, job)).toSorted((a, b) =>
      a.metadata.name.localeCompare(b.metadata.name),
    )
    return pods.length > index
  })
  const patch = JSON.stringify([{ op: 'remove', path: '/spec/schedulingGates' }])
  const words = ['patch', 'pod', pods[index].metadata.name, ...HERE, '--type=json', '-p', patch]
  const now = Date.now() / 1000
  await kubectl(cluster, words)
  return now
}

async function pause(seconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}

/** What the containers of a Job noted, in seconds since 1970, by the name of the note. */
type Notes = ReadonlyMap<string, readonly number[]>

async function notesOf(cluster: Cluster, job: string): Promise<Notes> {
  const pods = await podsOf(cluster, job)
  const logs = pods.map(({ metadata }) =>
    kubectl(cluster, ['logs', metadata.name, ...HERE, '-c', 'app']),
  )
  const notes = (await Promise.all(logs)).flatMap((log) =>
    [...log.matchAll(/^(\S+) (\d+\.\d+)$/gm)].map(([, name = '', time]) => ({
      name,
      time: Number(time),
    })),
  )
  const times = Map.groupBy(notes, ({ name }) => name)
  return new Map([...times].map(([name, own]) => [name, own.map(({ time }) => time).toSorted()]))
}

function span(notes: Notes, from: string, to: string, index = -1): number {
  return (notes.get(to)?.at(index) ?? Number.NaN) - (notes.get(from)?.at(index) ?? Number.NaN)
}

function isNear(t: Test, what: string, found: number, made: number): void {
  const most = Math.max(TOLERANCE.seconds, made * TOLERANCE.part)
  t.ok(Math.abs(found - made) <= most, `${what}: ${found} s of ${made.toFixed(1)} s`)
}

type Parts = Readonly<Record<TimePart, number>>

/** Verifies that the parts add up to the time of all places, and that all of it is known. */
function isWhole(t: Test, name: string, { from, to, places, seconds }: Json): void {
  const sum = Object.values(seconds as Parts).reduce((all, part) => all + part, 0)
  const whole = ((Date.parse(to) - Date.parse(from)) / 1000) * places
  t.ok(Math.abs(sum - whole) <= whole / 100, `${name}: ${sum} s of ${whole} s`)
  t.equal(seconds.unknown, 0, `${name}: all is known`)
}

const isOver = ({ status }: Json) => ['Succeeded', 'Failed', 'Deleted'].includes(status.phase)

/** Returns the times in the objects Run, by the name of the Job, when all have ended. */
async function readTimes(cluster: Cluster): Promise<ReadonlyMap<string, Json>> {
  let runs: readonly Json[] = []
  await until('all runs have ended', async () => {
    runs = (await read(cluster, 'runs')).items
    return runs.length === Object.keys(JOBS).length && runs.every(isOver)
  })
  return new Map(runs.map(({ spec, status }) => [spec.workload.name, status.time]))
}

/** When the test did something, in seconds since 1970. */
interface Acts {
  readonly gateOpened: number
  readonly resumed: number
  readonly deleted: number
}

/** Changes the Jobs while they run. */
async function act(cluster: Cluster): Promise<Acts> {
  await openGate(cluster, 'late', 0)
  await pause(8)
  const gateOpened = await openGate(cluster, 'pending', 0)
  await openGate(cluster, 'late', 1)
  const resumed = Date.now() / 1000
  await kubectl(cluster, ['patch', 'job', 'suspended', ...HERE, '-p', '{"spec":{"suspend":false}}'])
  await nameOnNode(cluster, DEBIAN_IMAGE, LATE_IMAGE)
  const deleted = Date.now() / 1000
  await kubectl(cluster, ['delete', 'job', 'deleted', ...HERE, '--wait=false'])
  return { gateOpened, resumed, deleted }
}

t.test('the time of runs is divided as it was made', { timeout: 400_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  await startTestArchive(t, cluster, api, `${SPACE}-archive`)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  t.teardown(() => forgetOnNode(cluster, LATE_IMAGE).catch(() => {}))
  await createJobs(cluster)
  const acts = await act(cluster)
  const times = await readTimes(cluster)
  for (const [name, time] of times) {
    t.comment(name, JSON.stringify(time))
    isWhole(t, name, time)
  }
  await runningIsThatOfTheProgram(t, cluster, times)
  await waitingIsAsMade(t, cluster, times, acts)
  await restartsAreLost(t, cluster, times)
  runningIsDivided(t, times)
  await reportsHaveTheSame(t, cluster, times)
})

type Times = ReadonlyMap<string, Json>

const secondsIn = (times: Times, name: string): Parts => times.get(name)?.seconds

async function runningIsThatOfTheProgram(t: Test, cluster: Cluster, times: Times): Promise<void> {
  for (const name of ['healthy', 'pending', 'image', 'init', 'restarted', 'all', 'suspended']) {
    const made = span(await notesOf(cluster, name), 'from', 'to')
    isNear(t, `running of ${name}`, secondsIn(times, name).running, made)
  }
  isNear(t, 'running of brief', secondsIn(times, 'brief').running, 6)
}

async function waitingIsAsMade(
  t: Test,
  cluster: Cluster,
  times: Times,
  { gateOpened, resumed, deleted }: Acts,
): Promise<void> {
  const pending = times.get('pending')
  const { seconds } = pending
  isNear(
    t,
    'until the gate opened',
    seconds.creating + seconds.scheduling,
    gateOpened - begin(pending),
  )
  isNear(t, 'the beginning of suspended', begin(times.get('suspended')) - resumed, 0)
  const gone = times.get('deleted')
  isNear(t, 'the end of deleted', Date.parse(gone.to) / 1000 - deleted, GRACE)
  const init = span(await notesOf(cluster, 'init'), 'init-from', 'init-to')
  isNear(t, 'init', secondsIn(times, 'init').init, init)
  const image = times.get('image')
  const [from = 0] = (await notesOf(cluster, 'image')).get('from') ?? []
  const { creating, scheduling, preparing, pulling } = image.seconds
  isNear(t, 'until image started', creating + scheduling + preparing + pulling, from - begin(image))
  t.ok(pulling > 8, `the image was missing for at least 8 s: ${pulling} s`)
  const [first = 0, last = 0] = (await notesOf(cluster, 'late')).get('from') ?? []
  isNear(t, 'partial of late', secondsIn(times, 'late').partial, last - first)
}

function begin({ from }: Json): number {
  return Date.parse(from) / 1000
}

async function restartsAreLost(t: Test, cluster: Cluster, times: Times): Promise<void> {
  for (const name of ['retried', 'restarted', 'all']) {
    const starts = (await notesOf(cluster, name)).get('from') ?? []
    const lost = (starts.at(-1) ?? 0) - (starts[0] ?? 0)
    isNear(t, `lost of ${name}`, secondsIn(times, name).lost, lost)
    t.equal(times.get(name).restarts, starts.length - 1, `restarts of ${name}`)
  }
}

/** The programs sleep, so they were idle nearly as long as they were measured. */
function runningIsDivided(t: Test, times: Times): void {
  const { seconds, running } = times.get('healthy')
  const states = Object.values<number | null>(running.seconds)
  const sum = states.reduce((all: number, one) => all + (one ?? 0), 0)
  t.ok(Math.abs(sum - seconds.running) < 0.01, `${sum} s of ${seconds.running} s`)
  t.ok(running.isLimit, 'processes may wait in MPI')
  const { idle, unknown } = running.seconds
  isNear(t, 'idle time of healthy', idle, seconds.running - unknown)
  t.equal(times.get('retried').running, null, 'the efficiency is also about lost attempts')
}

async function reportsHaveTheSame(t: Test, cluster: Cluster, times: Times): Promise<void> {
  const report = async (name: string): Promise<Json> => {
    const words = ['report', `job/${name}`, '-o', 'json', ...HERE]
    const { out, err } = await run([...words, '--kubeconfig', cluster.kubeconfig])
    if (out === '') throw new Error(err)
    return JSON.parse(out).time
  }
  for (const name of ['healthy', 'init', 'late', 'retried', 'restarted', 'suspended']) {
    const { sentence, seconds } = await report(name)
    t.strictSame(seconds, times.get(name).seconds, sentence)
  }
  // Only the archive has seen the first run of the init containers.
  const { seconds, reasons } = await report('all')
  t.equal(seconds.running, secondsIn(times, 'all').running)
  t.ok(seconds.unknown > 0 && seconds.lost === 0 && reasons.length > 0)
}
