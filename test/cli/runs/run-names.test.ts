import t, { type Test } from 'tap'
import { CONTROLLERS, PODS } from '../../src/runs/collect/served.ts'
import { type ErrorAnswer, standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'

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

async function start(t: Test, changed: Changed = {}) {
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
  const { runs, asked } = await start(t)
  const { code, out, err } = await runs('-o', 'json', '--sort', 'run')
  t.equal(err, '')
  t.equal(code, 0)
  t.strictSame(namesIn(out), RUNS)
  const lists = asked.filter((path) => path.includes('/namespaces/hpc/'))
  t.equal(new Set(lists).size, lists.length, 'each kind is listed once')
})

t.test('runs are named as for kubectl, or by name alone', async (t) => {
  const { runs } = await start(t)
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
  const { runs } = await start(t)
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
  const { runs } = await start(t, {
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
  const { runs } = await start(t, everywhere)
  const { out, err } = await runs('-A', '-o', 'wide', '--sort', 'run')
  t.equal(err, '')
  t.match(out, /^NAMESPACE +RUN +PHASE +RANKS +TIME +CORES +MEMORY +STARTED .*FINDING\n/)
  t.equal(out.match(/^hpc +/gm)?.length, RUNS.length)
})
