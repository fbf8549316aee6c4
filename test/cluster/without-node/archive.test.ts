import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { startArchive } from '../../../cli/archive/service/archive.ts'
import { ARCHIVE_PACE } from '../../../cli/archive/service/pace.ts'
import { findCluster } from '../../../src/cluster/access.ts'
import { run } from '../../cli/command.ts'
import { capturedLog } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import {
  createObservedPod,
  createUnmanagedJob,
  endPod,
  type ObservedPod,
  startPod,
} from '../archive/observed-pod.ts'
import { createArchiveRights } from '../archive/rights.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// An archive with exactly the rights that the chart gives it. The tests write the status of pods in
// place of a kubelet.

const NAME = 'archive'
const PODS = 'archive-pods'
const RUNS = '/apis/ridealong.dev/v1alpha1'

const folder = t.testdir({})
const kubeconfig = join(folder, 'config')

interface Setting {
  readonly cluster: Cluster
  readonly api: Api
}

interface Changes {
  readonly namespaces?: readonly string[]
  readonly retention?: { readonly maxAgeMs: number; readonly maxRuns: number }
  readonly lingerMs?: number
  /** The path of the archive's kubeconfig. */
  readonly config?: string
}

/** The start of the runs is some months ago. */
const FOREVER = { maxAgeMs: Number.POSITIVE_INFINITY, maxRuns: 100 }

/** Starts an archive, which may not be ready yet. */
async function launch(t: Test, changes: Changes) {
  const access = await findCluster({ kubeconfig: changes.config ?? kubeconfig, environment: {} })
  if (access === undefined) throw new Error('there is no cluster')
  const { log, lines } = capturedLog()
  const { namespaces = [PODS], retention = FOREVER, lingerMs = 500 } = changes
  const archive = startArchive({
    ...{ access, namespaces, retention, log, registry: new Registry() },
    metrics: new Set(['vitals']),
    pace: {
      ...ARCHIVE_PACE,
      ...{ turnMs: 50, updateMs: 500, sweepMs: 300, lingerMs },
      ending: { pauseMs: 100, longestPauseMs: 500 },
      writing: { pauseMs: 100, longestPauseMs: 500 },
    },
  })
  let isStopped = false
  const stop = async () => {
    if (!isStopped) await archive.stop()
    isStopped = true
  }
  t.teardown(stop)
  return { archive, lines, stop }
}

async function start(t: Test, changes: Changes = {}) {
  const { archive, lines, stop } = await launch(t, changes)
  await until('the archive is ready', async () => archive.checks().every(({ fatal }) => !fatal))
  return { archive, lines, stop }
}

// biome-ignore lint/suspicious/noExplicitAny: an object Run.
type RunObject = any

async function listRuns(api: Api, namespace = PODS): Promise<readonly RunObject[]> {
  return (await api.get(`${RUNS}/namespaces/${namespace}/runs`)).body.items ?? []
}

/** Waits for the Run of a workload with a phase. */
async function awaitRun(
  api: Api,
  name: string,
  phase: string,
  namespace = PODS,
): Promise<RunObject> {
  let last: readonly RunObject[] = []
  try {
    const isThere = async () => {
      last = (await listRuns(api, namespace)).filter(({ spec }) => spec.workload.name === name)
      return last.some(({ status }) => status?.phase === phase)
    }
    await until(`the Run of ${name} is ${phase}`, isThere, 60_000)
  } catch (error) {
    throw new Error(`${error}: ${JSON.stringify(last)}`)
  }
  return last[0]
}

const conditionsOf = ({ status }: RunObject): readonly string[] =>
  (status.conditions ?? []).map(({ type }: RunObject) => type).sort()

async function removePod(api: Api, { namespace, name }: ObservedPod): Promise<void> {
  await api.delete(`/api/v1/namespaces/${namespace}/pods/${name}`)
}

const removeJob = (api: Api, name: string) =>
  api.delete(`/apis/batch/v1/namespaces/${PODS}/jobs/${name}?propagationPolicy=Orphan`)

t.test('an archive with the rights of the chart', { timeout: 300_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, NAME)
  await createNamespace(t, api, PODS)
  writeFileSync(kubeconfig, await createArchiveRights(t, cluster, NAME))
  const setting = { cluster, api }
  for (const [name, test] of Object.entries(TESTS)) await t.test(name, (t) => test(t, setting))
})

const TESTS: Readonly<Record<string, (t: Test, setting: Setting) => Promise<void>>> = {
  'a Job whose pod is deleted as soon as it has ended': async (t, { api, cluster }) => {
    await start(t)
    const owner = await createUnmanagedJob(api, PODS, 'plain')
    const pod = await createObservedPod(api, PODS, 'plain-abc', { owner })
    const other = await api.post(`/api/v1/namespaces/${PODS}/pods`, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'not-observed' } },
      spec: { containers: [{ name: 'app', image: 'app' }] },
    })
    t.equal(other.status, 201)
    await startPod(api, pod)
    await awaitRun(api, 'plain', 'Running')
    await endPod(api, pod, { seconds: 40 })
    await removePod(api, pod)
    await removeJob(api, 'plain')
    const run = await awaitRun(api, 'plain', 'Succeeded')
    const { uid } = owner as { uid: string }
    t.equal(run.metadata.name, `plain-${uid.slice(0, 8)}`)
    t.equal(run.metadata.ownerReferences, undefined)
    t.match(run.status, {
      pods: { observed: 1, expected: 1 },
      seconds: 40,
      summary: { pods: '1/1', time: '40 s', cores: '1.5/2', memory: '96Mi/128Mi' },
      card: { cores: { used: 1.5, requested: 2 }, memoryBytes: { used: 96 * 2 ** 20 } },
    })
    t.strictSame(conditionsOf(run), [])
    t.equal((await listRuns(api)).length, 1, 'a pod that is not observed has no Run')
    const printed = await kubectl(cluster, ['get', 'rrun', '-n', PODS])
    t.match(printed, /NAME +RUN +PHASE +PODS +STARTED +TIME +CORES +MEMORY +FINDING\n/)
    t.match(printed, / job\/plain +Succeeded +1\/1 +\S+ +40 s +1\.5\/2 +96Mi\/128Mi +-\n/)
    await api.delete(`/api/v1/namespaces/${PODS}/pods/not-observed`)
  },

  'the cards of Runs are those of the pods': async (t) => {
    const words = ['-n', PODS, '--kubeconfig', kubeconfig]
    const { out } = await run(['runs', ...words])
    t.match(out, /^job\/plain +Succeeded +1\/1 +40 s +1\.5\/2 +96Mi\/128Mi +-$/m)
    const card = await run(['runs', 'job/plain', ...words])
    t.match(card.out, /processors +\[########\.\.\] 1\.5 of 2 requested \(75\s+%\)/)
    t.match(card.out, /container app: request cpu 1730m, memory 111Mi/)
  },

  'an Indexed Job with a retried pod, and its Event': async (t, { api }) => {
    await start(t)
    const owner = await createUnmanagedJob(api, PODS, 'indexed', {
      ...{ completionMode: 'Indexed', completions: 2, parallelism: 2 },
    })
    const create = (name: string, index: number) =>
      createObservedPod(api, PODS, name, {
        owner,
        labels: { 'batch.kubernetes.io/job-completion-index': `${index}` },
        annotations: { 'batch.kubernetes.io/job-completion-index': `${index}` },
      })
    const [first, second] = [await create('indexed-0-a', 0), await create('indexed-1-a', 1)]
    for (const pod of [first, second]) await startPod(api, pod)
    await endPod(api, second, { seconds: 10, exitCode: 137, reason: 'OOMKilled' })
    await removePod(api, second)
    const again = await create('indexed-1-b', 1)
    await startPod(api, again)
    for (const pod of [first, again]) await endPod(api, pod, { seconds: 20 })
    for (const pod of [first, again]) await removePod(api, pod)
    await removeJob(api, 'indexed')
    const found = await awaitRun(api, 'indexed', 'Succeeded')
    t.match(found.status.pods, { observed: 2, expected: 2 })
    t.equal(found.status.podsSeen, 3)
    t.strictSame(conditionsOf(found), ['OomKilled'])
    t.match(found.status.conditions[0].message, /^pod 1 had container app killed: memory ran out/)
    let event: RunObject
    await until('the Event is written after the status', async () => {
      const events = await api.get(`/api/v1/namespaces/${PODS}/events`)
      event = events.body.items.find(
        ({ involvedObject }: RunObject) => involvedObject.name === 'indexed',
      )
      return event !== undefined
    })
    t.match(event, { reason: 'OomKilled', type: 'Warning', involvedObject: { kind: 'Job' } })
  },

  'a workload that is deleted while it runs': async (t, { api }) => {
    await start(t)
    const owner = await createUnmanagedJob(api, PODS, 'deleted')
    const pod = await createObservedPod(api, PODS, 'deleted-a', { owner })
    await startPod(api, pod)
    await awaitRun(api, 'deleted', 'Running')
    await removeJob(api, 'deleted')
    await removePod(api, pod)
    const found = await awaitRun(api, 'deleted', 'Deleted')
    t.strictSame(conditionsOf(found), ['Deleted', 'SummariesIncomplete'])
  },

  'a run that ends while no archive runs': async (t, { api }) => {
    const before = await start(t)
    const owner = await createUnmanagedJob(api, PODS, 'unseen')
    const pods = await Promise.all(
      ['unseen-a', 'unseen-b'].map((name) => createObservedPod(api, PODS, name, { owner })),
    )
    for (const pod of pods) await startPod(api, pod)
    await awaitRun(api, 'unseen', 'Running')
    const other = await createObservedPod(api, PODS, 'seen')
    await startPod(api, other)
    await awaitRun(api, 'seen', 'Running')
    await before.stop()
    for (const pod of pods) await removePod(api, pod)
    await removeJob(api, 'unseen')
    await endPod(api, other, { seconds: 5 })
    await start(t)
    t.strictSame(conditionsOf(await awaitRun(api, 'unseen', 'Unknown')), ['EndNotSeen'])
    t.match((await awaitRun(api, 'seen', 'Succeeded')).status.summary, { cores: '1.5/2' })
    await removePod(api, other)
  },

  'a refused Run is reported, and written later': async (t, { api }) => {
    const { archive, lines } = await start(t)
    const quotas = `/api/v1/namespaces/${PODS}/resourcequotas`
    const hard = { 'count/runs.ridealong.dev': '0' }
    await api.post(quotas, {
      ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' } },
      spec: { hard },
    })
    await until('the quota is in force', async () => {
      const { status } = (await api.get(`${quotas}/none`)).body
      return status?.hard !== undefined
    })
    const pod = await createObservedPod(api, PODS, 'refused')
    await endPod(api, pod, { seconds: 5 })
    await removePod(api, pod)
    await until(
      'the refusal is reported',
      async () => {
        return lines.some((line) => line.includes('quota'))
      },
      60_000,
    )
    const { problem } = archive.checks().find(({ name }) => name === 'writes') ?? {}
    t.match(problem, /^failed attempts: \d+; the log has the reasons$/)
    const logged = lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg.startsWith('cannot write a Run'))
      .map(({ namespace, trouble }) => `${namespace} ${trouble}`)
    t.ok(logged.length > 0)
    t.equal(logged.length, new Set(logged).size, 'a failure that repeats is logged once')
    await api.delete(`${quotas}/none`)
    await awaitRun(api, 'refused', 'Succeeded')
    await until('the check has no problem', async () => {
      return archive.checks().every(({ problem }) => problem === undefined)
    })
  },

  'a deleted Run of a run that goes on is created again': async (t, { api }) => {
    await start(t)
    const pod = await createObservedPod(api, PODS, 'again')
    await startPod(api, pod)
    const { metadata } = await awaitRun(api, 'again', 'Running')
    await api.delete(`${RUNS}/namespaces/${PODS}/runs/${metadata.name}`)
    await endPod(api, pod, { seconds: 5 })
    await awaitRun(api, 'again', 'Succeeded')
    await removePod(api, pod)
  },

  'hostile texts are escaped, and a large run fits': async (t, { api }) => {
    await start(t, { lingerMs: 60_000 })
    const create = async (index: number) => {
      const role = `role-${index}-${'x'.repeat(50)}`
      const labels = {
        'jobset.sigs.k8s.io/jobset-name': 'hostile',
        'jobset.sigs.k8s.io/replicatedjob-name': role,
        'jobset.sigs.k8s.io/job-index': '0',
        'jobset.sigs.k8s.io/job-global-index': `${index}`,
        'batch.kubernetes.io/job-completion-index': '0',
      }
      const owner = {
        ...{ apiVersion: 'example.org/v1', kind: 'Hostile', name: 'hostile', controller: true },
        uid: '00000000-0000-4000-8000-000000000000',
      }
      const pod = await createObservedPod(api, PODS, `hostile-${index}`, { owner, labels })
      const message = `{"metric":"\u001b[31m${'\u202e"\\'.repeat(400)}"}\n`
      await endPod(api, pod, { seconds: 5, exitCode: 1, message })
    }
    for (let index = 0; index < 40; index += 1) await create(index)
    let found = await awaitRun(api, 'hostile', 'Failed')
    await until('all pods are counted', async () => {
      found = await awaitRun(api, 'hostile', 'Failed')
      return found.status.podsSeen === 40
    })
    const text = JSON.stringify(found)
    t.ok(Buffer.byteLength(text) <= 16 * 1024, `${Buffer.byteLength(text)} bytes`)
    t.notMatch(text, /\\u001b\[31m|\u202e/)
    t.ok(found.status.omitted.missing > 0)
  },

  'Runs are deleted by number, and are not created again': async (t, { api }) => {
    const many = (await listRuns(api)).length
    t.ok(many > 3, `${many} Runs`)
    const pod = await createObservedPod(api, PODS, 'newest')
    await startPod(api, pod)
    await start(t, { retention: { ...FOREVER, maxRuns: 2 } })
    await awaitRun(api, 'newest', 'Running')
    await until('two Runs are left', async () => (await listRuns(api)).length === 2)
    await endPod(api, pod, { seconds: 5 })
    await awaitRun(api, 'newest', 'Succeeded')
    await removePod(api, pod)
  },

  'a Run of an archived run is not written again': async (t, { api }) => {
    const pod = await createObservedPod(api, PODS, 'rested')
    await endPod(api, pod, { seconds: 5 })
    const first = await start(t)
    const { metadata } = await awaitRun(api, 'rested', 'Succeeded')
    await first.stop()
    await start(t)
    const next = await createObservedPod(api, PODS, 'next')
    await endPod(api, next, { seconds: 5 })
    await awaitRun(api, 'next', 'Succeeded')
    const after = await awaitRun(api, 'rested', 'Succeeded')
    t.equal(after.metadata.resourceVersion, metadata.resourceVersion)
    for (const one of [pod, next]) await removePod(api, one)
  },

  'the archive may do nothing else': async (t, { cluster }) => {
    const can = async (...words: string[]) => {
      const account = `--as=system:serviceaccount:${NAME}:${NAME}-archive`
      const answer = kubectl(cluster, ['auth', 'can-i', ...words, '-n', PODS, account])
      return (await answer.catch(() => 'no')).trim().endsWith('yes')
    }
    t.ok(await can('watch', 'pods'))
    for (const words of [
      ['get', 'pods', '--subresource=log'],
      ['create', 'pods', '--subresource=exec'],
      ['patch', 'pods'],
      ['delete', 'pods'],
      ['get', 'secrets'],
      ['list', 'jobs.batch'],
      ['patch', 'runs.ridealong.dev'],
    ])
      t.notOk(await can(...words), words.join(' '))
  },

  'the role view may read Runs, and not write them': async (t, { cluster }) => {
    const user = ['--as=reader', '-n', PODS]
    const here = ['-n', PODS]
    await t.rejects(kubectl(cluster, ['get', 'runs', ...user]), /cannot list resource "runs"/)
    await kubectl(cluster, [
      ...[...here, 'create', 'rolebinding', 'reader', '--clusterrole=admin', '--user=reader'],
    ])
    await until('the role is aggregated', async () => {
      return kubectl(cluster, ['get', 'runs', ...user]).then(
        () => true,
        () => false,
      )
    })
    await t.rejects(kubectl(cluster, ['delete', 'runs', '--all', ...user]), /cannot delete/)
  },
}

/** The namespaces in which the chart gives an archive rights, and one in which it does not. */
const [ONE, TWO, THREE] = ['archive-one', 'archive-two', 'archive-three'] as const
const ROLES = 'archive-roles'

const config = join(folder, 'roles')
const NAMESPACES = { config, namespaces: [ONE, TWO] }

t.test('an archive of two namespaces, with Roles', { timeout: 300_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  for (const name of [ROLES, ONE, TWO, THREE]) await createNamespace(t, api, name)
  const values = ['--set', `archive.namespaces={${ONE},${TWO}}`]
  writeFileSync(config, await createArchiveRights(t, cluster, ROLES, values))
  const setting = { cluster, api }
  for (const [name, test] of Object.entries(OF_ROLES)) await t.test(name, (t) => test(t, setting))
})

async function createEnded(api: Api, namespace: string, name: string, changes = {}): Promise<void> {
  const pod = await createObservedPod(api, namespace, name, changes)
  await endPod(api, pod, { seconds: 5 })
}

const isOf =
  (workload: string) =>
  ({ spec }: RunObject): boolean =>
    spec.workload.name === workload

const OF_ROLES: typeof TESTS = {
  'Runs are written only in them': async (t, { api }) => {
    await start(t, NAMESPACES)
    for (const namespace of [THREE, ONE, TWO]) await createEnded(api, namespace, 'alone')
    for (const namespace of [ONE, TWO]) await awaitRun(api, 'alone', 'Succeeded', namespace)
    t.strictSame(await listRuns(api, THREE), [])
  },

  'a pod cannot pretend to belong to a run of another namespace': async (t, { api }) => {
    await start(t, NAMESPACES)
    const owner = await createUnmanagedJob(api, TWO, 'victim')
    const first = await createObservedPod(api, TWO, 'victim-0', { owner })
    await startPod(api, first)
    const { metadata } = await awaitRun(api, 'victim', 'Running', TWO)
    await until('the forged pod has a Run', async () => {
      // The garbage collector soon deletes a pod whose owner is in another namespace.
      await createEnded(api, ONE, 'forged', { owner }).catch(() => {})
      return (await listRuns(api, ONE)).some(isOf('victim'))
    })
    const [victim] = (await listRuns(api, TWO)).filter(isOf('victim'))
    t.match(victim, { metadata: { uid: metadata.uid }, status: { podsSeen: 1, phase: 'Running' } })
  },

  'users read the Runs of their namespaces, and write none': async (t, { cluster }) => {
    const binding = ['create', 'rolebinding', 'member', '--clusterrole=edit', '--user=member']
    await kubectl(cluster, [...binding, '-n', ONE])
    const member = (verb: string, resource: string, namespace: string) =>
      kubectl(cluster, ['auth', 'can-i', verb, resource, '-n', namespace, '--as=member']).then(
        () => true,
        () => false,
      )
    await until('the role is aggregated', () => member('list', 'runs', ONE))
    t.ok(await member('create', 'pods', ONE))
    t.notOk(await member('list', 'runs', TWO))
    for (const namespace of [ONE, TWO])
      for (const verb of ['create', 'patch', 'delete'])
        t.notOk(await member(verb, 'runs', namespace), `${verb} in ${namespace}`)
  },

  'a namespace without rights is named': async (t) => {
    const { archive } = await launch(t, { config, namespaces: [ONE, 'archive-missing'] })
    await until('the check names it', async () => {
      return archive.checks().some(({ problem = '' }) => problem.includes('archive-missing'))
    })
    t.ok(
      archive.checks().some(({ fatal }) => fatal),
      'the archive is not ready',
    )
  },
}
