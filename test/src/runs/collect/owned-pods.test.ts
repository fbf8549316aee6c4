import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { collect } from '../../../../cli/collect/collect.ts'
import { createSession } from '../../../cli/host.ts'
import { type ErrorAnswer, standIn } from '../../../stand-ins/pod-logs.ts'
import { CONTROLLERS, PODS, selectPods } from './served.ts'

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const LOGS = Object.fromEntries(
  PODS.map((pod) => [`${Object(pod).metadata.name}/perf-sysstat`, LOG] as const),
)

/** Starts an apiserver with the pods and their controllers, except for the changed answers. */
function serve(t: Test, changed: Readonly<Record<string, object | ErrorAnswer>> = {}) {
  return standIn(t, { pods: selectPods, logs: LOGS, others: { ...CONTROLLERS, ...changed } })
}

/** Collects a workload, and returns the names of its pods and the messages. */
async function collected(t: Test, kubeconfig: string, workload: string) {
  const to = join(t.testdir({}), 'rows.jsonl')
  const said: string[] = []
  const options = { output: 'jsonl', parallel: 4, kubeconfig, to } as const
  await collect([workload], options, createSession(said))
  const rows = readFileSync(to, 'utf8').trimEnd().split('\n')
  const logs = rows.map((row) => JSON.parse(row)).filter(({ kind }) => kind === 'log')
  return { pods: logs.map(({ pod }) => pod).sort(), said }
}

const RAY_JOB = ['tune-head', 'tune-submitter', 'tune-worker']
const WORKLOADS: readonly (readonly [string, readonly string[]])[] = [
  ['raycluster/tune-x7k2p', ['tune-head', 'tune-worker']],
  ['rayjob/tune', RAY_JOB],
  ['rayjobs.ray.io/tune', RAY_JOB],
  ['vcjob/mpi', ['mpi-worker-0', 'mpi-worker-1']],
  ['job.batch.volcano.sh/mpi', ['mpi-worker-0', 'mpi-worker-1']],
  ['leaderworkerset/serve', ['serve-0', 'serve-0-1']],
  ['trainjob/bert', ['bert-node-0-0']],
  ['deployment/web', ['web-1']],
  ['statefulset/db', ['db-0']],
  ['cronjob/cron', ['cron-1']],
  ['sparkapplication/etl', ['etl-driver', 'etl-exec-1']],
  ['workflow.argoproj.io/steps', ['steps-1']],
]

t.test('the pods of each kind of workload are found', async (t) => {
  const { kubeconfig, asked } = await serve(t)
  for (const [workload, expected] of WORKLOADS) {
    asked.length = 0
    const { pods, said } = await collected(t, kubeconfig, workload)
    t.strictSame(pods, expected, workload)
    t.equal(said.length, 1, 'no pod may be missing')
    const lists = asked.filter((path) => path.startsWith('/apis/') && path.includes('/hpc/'))
    t.equal(new Set(lists).size, lists.length, 'no kind of controller is listed twice')
  }
})

t.test('the pods of a LeaderWorkerSet are also found by their controllers', async (t) => {
  const group = { groupVersion: 'leaderworkerset.x-k8s.io/v1' }
  const kinds = [{ name: 'sets', kind: 'LeaderWorkerSet', namespaced: true, shortNames: ['lset'] }]
  const list = PODS.map((pod) => ({ metadata: { ...Object(pod).metadata } }))
  // The controller of the workers is the pod of the leader.
  for (const { metadata } of list) if (metadata.name === 'serve-0') metadata.uid = LEADER_UID
  const { kubeconfig } = await serve(t, {
    '/apis/leaderworkerset.x-k8s.io': { preferredVersion: group, versions: [group] },
    '/apis/leaderworkerset.x-k8s.io/v1': { resources: kinds },
    '/api/v1/namespaces/hpc/pods': { items: list.map((pod, at) => ({ ...PODS[at], ...pod })) },
  })
  const { pods } = await collected(t, kubeconfig, 'lset.leaderworkerset.x-k8s.io/serve')
  t.strictSame(pods, ['serve-0', 'serve-0-1'])
})

const LEADER_UID = '00000000-0000-4000-8000-000000000005'

const JOBS = '/apis/batch/v1/namespaces/hpc/jobs'
const FORBIDDEN = {
  code: 403,
  message: 'User "x" cannot list resource "jobs" in API group "batch"',
}

t.test('a missing right to list controllers is named', async (t) => {
  const { kubeconfig } = await serve(t, { [JOBS]: FORBIDDEN })
  await t.rejects(collected(t, kubeconfig, 'trainjob/bert'), {
    message:
      'the pods of trainjob/bert cannot be found without the right to list jobs.batch ' +
      'in namespace hpc',
  })
  const { pods, said } = await collected(t, kubeconfig, 'rayjob/tune')
  t.strictSame(pods, ['tune-head', 'tune-worker'])
  t.ok(
    said.includes(
      'pods of rayjob/tune may be missing: you lack the right to list jobs.batch in namespace hpc',
    ),
  )
  const { said: others } = await collected(t, kubeconfig, 'deployment/web')
  t.equal(others.length, 1, 'a Job cannot belong to a Deployment')
})

t.test('a kind that the cluster does not serve is an error', async (t) => {
  const { kubeconfig } = await serve(t)
  await t.rejects(collected(t, kubeconfig, 'x.example.com/a'), {
    message: 'the cluster serves no API group example.com, so no x.example.com',
  })
  await t.rejects(collected(t, kubeconfig, 'workflo.argoproj.io/a'), {
    message:
      'the API group argoproj.io has no namespaced kind workflo (did you mean workflow?); its ' +
      'kinds are workflow',
  })
  await t.rejects(collected(t, kubeconfig, 'rayjob/other'), {
    message: 'there are no pods of rayjob/other in namespace hpc',
  })
})
