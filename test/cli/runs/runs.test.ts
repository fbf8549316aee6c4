import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { CONTROLLERS, PODS } from '../../src/runs/collect/served.ts'
import { type ErrorAnswer, standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'
import { recorded, startRecordedRuns } from './recorded-runs.ts'

async function start(t: Test, pods?: readonly object[]) {
  const { kubeconfig } = await startRecordedRuns(t, pods)
  return (...words: string[]) => run(['runs', ...words, '-n', 'runs', '--kubeconfig', kubeconfig])
}

t.test('the table has a line for each run', async (t) => {
  const runs = await start(t)
  const { code, out } = await runs('--sort', 'run')
  t.equal(code, 0)
  const lines = out.trimEnd().split('\n')
  const cells = lines.map((line) => line.split(/ {2,}/).slice(0, 6))
  t.strictSame(cells, [
    ['RUN', 'PHASE', 'PODS', 'TIME', 'CORES', 'MEMORY'],
    ['job/killed', 'Succeeded', '1/1', '7 s', '0.017/-', '32Mi/32Mi'],
    ['job/plain', 'Succeeded', '1/1', '8 s', '0.17/0.5', '5.51Mi/128Mi'],
    ['job/retried', 'Succeeded', '2/2', cells[3]?.[3], '-/1', '21.2Mi/128Mi'],
    ['jobset/train', 'Succeeded', '3/3', cells[4]?.[3], '-/0.6', '41.6Mi/64Mi'],
  ])
  t.match(lines[1], /killed-rvggh had container app killed: memory ran out \(limit 32 MiB\)$/)
  t.match(lines[3], /pod 1 failed: container app ended with exit code 3, and was tried again$/)
})

t.test('a card has at most 60 columns, and says what is missing', async (t) => {
  const runs = await start(t)
  const { code, out } = await runs('jobset/train')
  t.equal(code, 0)
  for (const line of out.split('\n')) t.ok(line.length <= 60, line)
  t.match(out, /^jobset\/train in namespace runs\n {2}phase +Succeeded\n/)
  t.match(out, /\n {2}pods +3 of 3 observed\n/)
  const [, time = ''] = /\n(Time since its creation: [\s\S]+?)\n\n/.exec(out) ?? []
  t.match(time, /^Time since its creation: 13 s, mean of 3 pods\n\[c+s+v+p+w+r+e+\]\n/)
  const page = readFileSync(new URL('../../../docs/runs.md', import.meta.url), 'utf8')
  t.ok(page.includes(time), 'the page has this sample')
  t.match(out, /\nRole workers: 2 pods\n {2}processors +\[#+\.+\] /)
  t.match(out, /\nMissing\n {2}- /)
  t.match(out, /\nAdvice .*\n {2}- {2}leader, none: /)
})

t.test('the card divides the running time as its efficiency', async (t) => {
  const runs = await start(t)
  const { out } = await runs('job/plain')
  const [time] = /^ {2}r {2}running .*\n( {7}.*\n)+/m.exec(out) ?? []
  const page = readFileSync(new URL('../../../docs/runs.md', import.meta.url), 'utf8')
  t.ok(time !== undefined && page.includes(time), 'the page has this sample')
  const [card] = JSON.parse((await runs('job/plain', '-o', 'json')).out)
  const { seconds, running } = card.time
  t.equal(running.isLimit, true)
  t.equal(running.seconds.storage, null)
  const sum = Object.values<number>(running.seconds).reduce((all, one) => all + one, 0)
  t.ok(Math.abs(sum - seconds.running) < 1e-4)
  const known = sum - running.seconds.unknown
  t.ok(Math.abs(running.seconds.computing / known - card.efficiency[0].value) < 1e-4)
})

t.test('advice is a part of the manifest if all summaries are final', async (t) => {
  const { items } = recorded('pods')
  // The summaries are those of an observer that has read the cgroups at the end.
  const final = JSON.parse(
    JSON.stringify(items).replaceAll('\\"seconds\\":', '\\"final\\":true,\\"seconds\\":'),
  )
  const runs = await start(t, final)
  const refused = await runs('jobset/train', '--advice')
  t.equal(refused.code, 1)
  const [leader = '', workers = ''] = refused.out.split('---\n')
  t.match(
    leader,
    /^# no advice: train-leader-0-0-\w+: container app was observed for only 0 s of 4 s$/m,
  )
  t.match(workers, /^# container app used 41.6 MiB \(memory peak of its cgroup, pod train-workers/m)
  t.match(workers, /^# percentile 100 of the pods, and a margin of 15 %$/m)
  const { spec, ...head } = parse(workers)
  t.match(head, {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: { name: 'train' },
  })
  const [job] = spec.replicatedJobs
  t.equal(job.name, 'workers')
  t.match(job.template.spec.template.spec.containers, [
    { name: 'app', resources: { requests: { memory: '48Mi' }, limits: { memory: '48Mi' } } },
  ])
  const killed = await runs('killed', '--advice')
  t.match(killed, { code: 1, out: /^# container app needs at least 32 MiB \(memory peak/m })
})

t.test('hostile texts are escaped, and a message without a summary is missing', async (t) => {
  const { items } = recorded('pods')
  const pods = items.filter(({ metadata }) => metadata.name.startsWith('plain'))
  const [pod] = pods
  pod.status.initContainerStatuses[0].state.terminated.message = '\u001b[2J{"metric":'
  pod.status.phase = 'Failed'
  pod.status.reason = '\u001b[31mEvicted\nPHASE'
  const runs = await start(t, pods)
  for (const words of [
    [],
    ['job/plain'],
    ['-o', 'json'],
    ['-o', 'yaml'],
    ['job/plain', '--advice'],
  ]) {
    const { out } = await runs(...words)
    t.notMatch(out, '\u001b', words.join(' '))
    t.notMatch(out, /^PHASE$/m)
  }
  const [card] = JSON.parse((await runs('-o', 'json')).out)
  t.match(card.missing, [/the message of observer vitals is not the summary of an observer$/])
  t.match(card.cores, { used: null, requested: 0.5 })
})

t.test('the pods of several observers, or of none, are counted by index', async (t) => {
  const { items } = recorded('pods')
  const pods = items.filter(({ metadata }) => metadata.name.startsWith('train-workers'))
  const [, second] = pods
  second.metadata.annotations['ridealong.dev/status'] = '{"outcome":"left","reason":"windows"}'
  const runs = await start(t, pods)
  const [card] = JSON.parse((await runs('-o', 'json')).out)
  t.match(card.pods, { observed: 1, expected: 2 })
  for (const pod of pods) pod.metadata.annotations = {}
  const none = await (await start(t, pods))()
  t.match(none, { code: 1, out: '', err: /there are no observed pods in namespace runs/ })
})

// The workloads to which `runs` counts the pods of several operators.

// biome-ignore lint/suspicious/noExplicitAny: recorded pods.
const pods: any[] = structuredClone([...PODS])
const controllers = Object.values(CONTROLLERS).flatMap((list) => Object(list).items ?? [])
const references = [...pods, ...controllers].flatMap(
  ({ metadata }) => metadata.ownerReferences ?? [],
)
for (const { metadata } of pods) {
  // A pod that controls others has the UID by which these name it.
  const { uid } =
    references.find(({ kind, name }) => kind === 'Pod' && name === metadata.name) ?? {}
  metadata.uid = uid ?? metadata.uid
}

type Changed = Readonly<Record<string, object | ErrorAnswer>>

async function startNamed(t: Test, changed: Changed = {}) {
  const world = { pods: () => pods, logs: {}, others: { ...CONTROLLERS, ...changed } }
  const { kubeconfig, asked } = await standIn(t, world)
  const runs = (...words: string[]) => run(['runs', ...words, '--kubeconfig', kubeconfig])
  return { runs, asked }
}

function namesIn(out: string): string[] {
  return JSON.parse(out).map((card: { run: string }) => card.run)
}

const RUNS = [
  'deployment/web',
  'job/cron-29920971',
  'job/unrelated',
  'leaderworkerset/serve',
  'pod/alone',
  'rayjob/tune',
  'sparkapplication/etl',
  'statefulset/db',
  'trainjob/bert',
  'vcjob/mpi',
  'workflow.argoproj.io/steps',
]

t.test('a run is the highest known controller of its pods', async (t) => {
  const { runs, asked } = await startNamed(t)
  const { code, out, err } = await runs('-o', 'json', '--sort', 'run')
  t.equal(err, '')
  t.equal(code, 0)
  t.strictSame(namesIn(out), RUNS)
  const lists = asked.filter((path) => path.includes('/namespaces/hpc/'))
  t.equal(new Set(lists).size, lists.length, 'each kind is listed once')
})

t.test('runs are named as for kubectl, or by name alone', async (t) => {
  const { runs } = await startNamed(t)
  for (const [name, expected] of [
    ['rayjobs.ray.io/tune', 'rayjob/tune'],
    ['deploy/web', 'deployment/web'],
    ['job.batch.volcano.sh/mpi', 'vcjob/mpi'],
    ['workflow.argoproj.io/steps', 'workflow.argoproj.io/steps'],
    ['serve', 'leaderworkerset/serve'],
  ] as const)
    t.strictSame(namesIn((await runs(name, '-o', 'json')).out), [expected], name)
  const { out } = await runs('job/unrelated', 'tune', '-o', 'json', '--sort', 'run')
  t.strictSame(namesIn(out), ['job/unrelated', 'rayjob/tune'])
})

t.test('a run that does not exist is an answer, and an invalid name is an error', async (t) => {
  const { runs } = await startNamed(t)
  t.match(await runs('job/none'), {
    code: 1,
    out: '',
    err: 'ridealong: no run job/none has observed pods in namespace hpc\n',
  })
  t.match(await runs('job/'), { code: 2, err: /"job\/" is not KIND\/NAME or NAME/ })
  t.match(await runs('--advice'), { code: 2, err: /--advice needs the runs/ })
  t.match(await runs('-A', '-n', 'hpc'), { code: 2, err: /exclude each other/ })
})

t.test('a missing right is named', async (t) => {
  const message = 'jobs.batch is forbidden'
  const { runs } = await startNamed(t, {
    '/apis/batch/v1/namespaces/hpc/jobs': { code: 403, message },
  })
  const { code, out, err } = await runs('-o', 'json', '--sort', 'run')
  t.equal(code, 0)
  t.match(err, /^ridealong: you lack the right to list jobs.batch in namespace hpc: runs have/)
  t.ok(namesIn(out).includes('job/bert-node-0'))

  const other = await standIn(t, {
    pods: () => ({
      code: 403,
      message: 'pods is forbidden: User "me" cannot list resource "pods"',
    }),
    logs: {},
  })
  t.match(await run(['runs', '--kubeconfig', other.kubeconfig]), {
    code: 2,
    out: '',
    err: /^ridealong: you lack the right to list pods in namespace hpc: .*cannot list resource/,
  })
})

t.test('all namespaces are listed at once', async (t) => {
  const lists = Object.entries(CONTROLLERS).map(([path, list]) => {
    return [path.replace('/namespaces/hpc', ''), list] as const
  })
  const everywhere = { ...Object.fromEntries(lists), '/api/v1/pods': { items: pods } }
  const { runs } = await startNamed(t, everywhere)
  const { out, err } = await runs('-A', '-o', 'wide', '--sort', 'run')
  t.equal(err, '')
  t.match(out, /^NAMESPACE +RUN +PHASE +PODS +TIME +CORES +MEMORY +STARTED .*FINDING\n/)
  t.equal(out.match(/^hpc +/gm)?.length, RUNS.length)
})
