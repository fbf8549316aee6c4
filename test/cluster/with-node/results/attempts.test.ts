import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { startTestArchive } from '../../archive/start.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { startOperators } from '../../operators/start.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// Programs that fail once are started again: in place, with all containers of their pod, in a new
// pod of their Job, and with all pods of their JobSet. `runs` and `report` list the attempts with
// the exit codes that were made, and say which attempts are gone with their pods.

const SPACE = 'attempts'
const HERE = ['-n', SPACE]
const ANNOTATIONS = { 'ridealong.dev/inject': 'vitals', 'vitals.ridealong.dev/rate': '1' }

/** Ends the first start of the container in this pod in some way, and the next one with success. */
function failOnce(end: string): string {
  return `sleep 4\ntest -e /notes/again || { touch /notes/again; ${end}; }`
}

/** Fails until a time, in any pod. */
const FAIL_UNTIL = 'sleep 4; test "$(date +%s)" -gt "$UNTIL" || exit 3'

function template(command: string, policy: string, container: object = {}) {
  const volumeMounts = [{ name: 'notes', mountPath: '/notes' }]
  const app = { name: 'app', image: DEBIAN_IMAGE, command: ['bash', '-c', command], volumeMounts }
  return {
    metadata: { annotations: ANNOTATIONS },
    spec: {
      restartPolicy: policy,
      terminationGracePeriodSeconds: 2,
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
      volumes: [{ name: 'notes', emptyDir: {} }],
      containers: [{ ...app, ...container }],
    },
  }
}

function restartsBy(action: string): object {
  const exitCodes = { operator: 'In', values: [42] }
  return { restartPolicy: 'Never', restartPolicyRules: [{ action, exitCodes }] }
}

const INDEXED = { completionMode: 'Indexed', completions: 1, parallelism: 1 }
const SMALL = { resources: { limits: { memory: '32Mi' } } }

/** The Jobs of the test, by name. */
const JOBS: Readonly<Record<string, object>> = {
  all: { template: template(failOnce('exit 42'), 'Never', restartsBy('RestartAllContainers')) },
  rules: { template: template(failOnce('exit 42'), 'Never', restartsBy('Restart')) },
  // `tail` reads a line without an end until memory runs out.
  memory: { template: template(failOnce('exec tail /dev/zero'), 'OnFailure', SMALL) },
  index: { ...INDEXED, backoffLimitPerIndex: 5, template: template(FAIL_UNTIL, 'Never') },
}

const JOB_SET = {
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  metadata: { name: 'set' },
  spec: {
    failurePolicy: { maxRestarts: 5 },
    replicatedJobs: [
      {
        ...{ name: 'workers', replicas: 1 },
        template: {
          spec: { ...INDEXED, backoffLimit: 0, template: template(FAIL_UNTIL, 'Never') },
        },
      },
    ],
  },
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the apiserver and of the command.
type Json = any

async function read(cluster: Cluster, ...words: readonly string[]): Promise<Json> {
  return JSON.parse(await kubectl(cluster, ['get', ...HERE, '-o', 'json', ...words]))
}

async function createWorkloads(cluster: Cluster): Promise<void> {
  const jobs = Object.entries(JOBS).map(([name, spec]) => {
    return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }
  })
  const time = String(Math.floor(Date.now() / 1000) + 12)
  for (const workload of [...jobs, JOB_SET])
    await kubectl(
      cluster,
      ['create', ...HERE, '-f', '-'],
      JSON.stringify(workload).replaceAll('$UNTIL', time),
    )
}

/** Deletes the pods of a Job that have failed, when it has succeeded. */
async function deleteFailed(cluster: Cluster, job: string): Promise<void> {
  await kubectl(cluster, ['wait', ...HERE, '--for=condition=Complete', job, '--timeout=120s'])
  const failed = ['--field-selector', 'status.phase=Failed', '-l', `job-name=${job.slice(4)}`]
  await kubectl(cluster, ['delete', 'pods', ...HERE, ...failed])
}

/** Returns the attempts in the objects Run, by workload, when the last ones have succeeded. */
async function archivedAttempts(cluster: Cluster): Promise<ReadonlyMap<string, Json>> {
  let attempts: readonly (readonly [string, Json])[] = []
  const haveSucceeded = async () => {
    const runs: readonly Json[] = (await read(cluster, 'runs')).items
    attempts = runs.map(({ spec, status }) => [spec.workload.name, status.attempts])
    const last = attempts.map(([, own]) => own?.at(-1)?.phase)
    return last.length === Object.keys(JOBS).length + 1 && last.every((one) => one === 'Succeeded')
  }
  try {
    await until('the last attempt of all runs has succeeded', haveSucceeded)
  } catch (error) {
    throw new Error(JSON.stringify(attempts), { cause: error })
  }
  return new Map(attempts)
}

const IN_PLACE = { all: [42, 'Error'], rules: [42, 'Error'], memory: [137, 'OOMKilled'] } as const

/** The kubelet replaces the end of the attempt before it starts all containers again. */
const REPLACED = { attempt: 1, phase: 'Failed', reason: 'RestartingAllContainers', exitCode: null }

/** The attempt that failed, and the one that succeeded. */
function attemptsOf(exitCode: number, reason: string): readonly Json[] {
  const times = { count: 1, container: 'app', started: String, ended: String, seconds: Number }
  return [
    { attempt: 1, phase: 'Failed', reason, exitCode, ...times },
    { attempt: 2, phase: 'Succeeded', reason: 'Completed', exitCode: 0, ...times },
  ]
}

async function reportOf({ kubeconfig }: Cluster, workload: string): Promise<Json> {
  const words = ['report', workload, ...HERE, '--kubeconfig', kubeconfig, '-o', 'json']
  const { code, out, err } = await run(words)
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

async function inPlaceIsListed(t: Test, cluster: Cluster, archived: ReadonlyMap<string, Json>) {
  for (const [name, [exitCode, reason]] of Object.entries(IN_PLACE)) {
    const expected = attemptsOf(exitCode, reason)
    t.match(archived.get(name), expected, `the Run of ${name}`)
    const { time, attempts } = await reportOf(cluster, `job/${name}`)
    const inStatus = name === 'all' ? [REPLACED, expected[1]] : expected
    t.match(time.attempts, inStatus, `the report of ${name}`)
    const [last, before] = [
      { attempt: 2, isCounted: true },
      { attempt: 1, isCounted: false },
    ]
    // The kubelet removes the containers, and their logs, before it starts all of them again.
    const isRemoved = name === 'all'
    t.match(attempts.known, isRemoved ? [last] : [before, last], `the numbers of ${name}`)
    t.match(attempts.lost, isRemoved ? [{ first: 1, last: 1 }] : [], `the lost logs of ${name}`)
    const { out } = await run(['runs', `job/${name}`, ...HERE, '--kubeconfig', cluster.kubeconfig])
    t.match(out, new RegExp(`\\nAttempts\\n +1 .*exit code ${exitCode}\\b.*\\n +2 .*succeeded\\n`))
  }
}

/** The pods of earlier attempts are deleted: the archive has seen them. */
async function deletedIsNamed(t: Test, cluster: Cluster, archived: ReadonlyMap<string, Json>) {
  for (const [name, kind] of Object.entries({ index: 'job', set: 'jobset' })) {
    const found = archived.get(name)
    const count = found.length
    t.ok(count > 1, `${name} had ${count} attempts`)
    for (const [index, attempt] of found.entries()) {
      const isLast = index === count - 1
      const end = isLast ? { phase: 'Succeeded' } : { phase: 'Failed', exitCode: 3 }
      t.match(attempt, { attempt: index + 1, ...end, seconds: Number }, `the Run of ${name}`)
    }
    const { time, attempts } = await reportOf(cluster, `${kind}/${name}`)
    const gone = { attempt: null, phase: 'Unknown', count: count - 1 }
    t.match(time.attempts, [{ attempt: count, phase: 'Succeeded' }, gone], `the report of ${name}`)
    t.match(attempts.known, [{ attempt: count, isCounted: true }])
    t.match(attempts.lost, [{ first: 1, last: count - 1 }])
  }
}

t.test('each attempt is listed, also of deleted pods', { timeout: 400_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  await startOperators(t, cluster, api, ['jobset'])
  await startTestArchive(t, cluster, api, `${SPACE}-archive`)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  await createWorkloads(cluster)
  await deleteFailed(cluster, 'job/index')
  const archived = await archivedAttempts(cluster)
  for (const [name, attempts] of archived) t.comment(name, JSON.stringify(attempts))
  await inPlaceIsListed(t, cluster, archived)
  await deletedIsNamed(t, cluster, archived)
})
