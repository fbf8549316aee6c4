import t, { type Test } from 'tap'
import { collect, reportSoFar } from '../collected.ts'
import type { Cluster } from '../machine/cluster.ts'
import { APPLICATIONS, DEBIAN_IMAGE } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { LAMMPS_OF_TEN_SECONDS, runMpiJob } from '../operators/mpi-job.ts'
import { startOperators } from '../operators/start.ts'
import { installChart } from '../release/installed-chart.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// The real controllers of JobSet, MPIJob and MetricSet create pods in a namespace that requests
// observers. The pods are injected, their processes have rows, no controller reverts the injection,
// and each workload succeeds.

const NAME = 'ridealong-controllers'
const SPACE = 'controllers'
const HERE = ['-n', SPACE]
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '1' }

interface Pod {
  readonly name: string
  readonly uid: string
  readonly status: Readonly<Record<string, unknown>>
  readonly phase: string
}

async function podsOf(cluster: Cluster, selector: string): Promise<readonly Pod[]> {
  const words = ['get', 'pods', ...HERE, '-l', selector, '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
  return items.map(({ metadata, status }: any) => ({
    name: metadata.name,
    uid: metadata.uid,
    status: JSON.parse(metadata.annotations?.['ridealong.dev/status'] ?? '{}'),
    phase: status.phase,
  }))
}

const create = (cluster: Cluster, object: object) =>
  kubectl(cluster, ['create', ...HERE, '-f', '-'], JSON.stringify(object))

const waitFor = (cluster: Cluster, condition: string, object: string) =>
  kubectl(cluster, ['wait', `--for=${condition}`, object, ...HERE, '--timeout=240s'])

/** Collects a workload, and returns the programs that have rows, by pod. */
async function programsOf(t: Test, cluster: Cluster, workload: string) {
  const { rows, page } = await collect(t, cluster, SPACE, workload)
  const logs = rows.filter(({ kind }) => kind === 'log')
  for (const { pod, notices } of logs) t.strictSame(notices, [], `the log of ${pod} has no notices`)
  t.equal(page.pods.length, logs.length, 'the report shows each pod')
  const processes = rows.filter(({ kind }) => kind === 'process')
  return new Map<string, ReadonlySet<string>>(
    logs.map(({ pod }) => {
      return [pod, new Set(processes.filter((row) => row.pod === pod).map((row) => row.program))]
    }),
  )
}

const isInjected = ({ status }: Pod) => status.outcome === 'injected'

/** A shell command that computes for six seconds. */
const BUSY = 'end=$(($(date +%s) + 6)); while [ $(date +%s) -lt $end ]; do :; done'

function replicatedJob(name: string, count: number, work: string, annotations: object) {
  const container = { name: 'main', image: DEBIAN_IMAGE, command: ['sh', '-c', work] }
  const spec = { restartPolicy: 'OnFailure', containers: [container] }
  const template = { metadata: { annotations }, spec }
  const indexed = { completionMode: 'Indexed', completions: count, parallelism: count }
  return { name, replicas: 1, template: { spec: { ...indexed, backoffLimit: 0, template } } }
}

const JOB_SET = {
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  metadata: { name: 'train' },
  spec: {
    successPolicy: { operator: 'All', targetReplicatedJobs: ['leader', 'workers'] },
    network: { enableDNSHostnames: true },
    replicatedJobs: [
      replicatedJob('leader', 1, 'true', { 'ridealong.dev/inject': 'false' }),
      replicatedJob('workers', 2, BUSY, {}),
    ],
  },
}

async function jobSetIsObserved(t: Test, cluster: Cluster): Promise<void> {
  await create(cluster, JOB_SET)
  await waitFor(cluster, 'condition=Completed', 'jobset/train')
  const pods = await podsOf(cluster, 'jobset.sigs.k8s.io/jobset-name=train')
  t.equal(pods.length, 3, 'the controller created each pod once')
  t.ok(pods.every(({ phase }) => phase === 'Succeeded'))
  const injected = pods.filter(isInjected)
  t.strictSame(
    pods.filter((pod) => !isInjected(pod)).map(({ name }) => name.split('-')[1]),
    ['leader'],
    'only the leader opts out',
  )
  const programs = await programsOf(t, cluster, 'jobset/train')
  t.strictSame([...programs.keys()].sort(), injected.map(({ name }) => name).sort())
  for (const [pod, names] of programs) t.ok(names.has('sh'), `${pod} has rows of ${[...names]}`)
}

async function mpiJobIsObserved(t: Test, cluster: Cluster): Promise<void> {
  await runMpiJob(cluster, SPACE, { worker: { 'ridealong.dev/target-command': 'lmp' } })
  const pods = await podsOf(cluster, 'training.kubeflow.org/job-name=melt')
  t.ok(pods.every(isInjected))
  const programs = await programsOf(t, cluster, 'mpijob/melt')
  t.equal(programs.size, pods.length)
  for (const worker of ['melt-worker-0', 'melt-worker-1']) {
    t.strictSame(programs.get(worker), new Set(['lmp']), `${worker} has rows of its rank`)
  }
  const launcher = [...programs].find(([pod]) => pod.startsWith('melt-launcher'))
  t.ok(launcher?.[1].has('mpirun'), 'the launcher has rows of mpirun')
}

/** The launcher waits for this file, which the test creates when it has read all logs. */
const ENOUGH = '/tmp/enough'
const [LAUNCHER, WORKER] = ['l', 'w'].map((job) => `set-${job}-0-0.ms.${SPACE}.svc.cluster.local`)

/** The command runs one rank in each pod. The DNS does not resolve the short names of the pods. */
const MPIRUN_AS_ROOT = 'mpirun --allow-run-as-root --mca orte_keep_fqdn_hostnames 1 --map-by node'

const METRIC_SET = {
  apiVersion: 'flux-framework.org/v1alpha2',
  kind: 'MetricSet',
  metadata: { name: 'set' },
  spec: {
    pods: 2,
    metrics: [
      {
        name: 'app-lammps',
        image: APPLICATIONS.mpi,
        options: {
          workdir: '/tmp',
          // The operator writes the command to a file with a here document, which expands
          // variables.
          command: [
            `until getent hosts ${LAUNCHER} && getent hosts ${WORKER}; do sleep 1; done`,
            `${MPIRUN_AS_ROOT} --hostfile ./hostlist.txt -np 2 ${LAMMPS_OF_TEN_SECONDS}`,
            `while [ ! -e ${ENOUGH} ]; do sleep 1; done`,
          ].join('; '),
        },
      },
    ],
  },
}

async function metricSetIsObserved(t: Test, cluster: Cluster): Promise<void> {
  await create(cluster, METRIC_SET)
  const selector = 'jobset.sigs.k8s.io/jobset-name=set'
  await until(
    'LAMMPS has ended',
    async () => {
      const launchers = (await podsOf(cluster, selector)).filter(({ name }) => /-l-0-/.test(name))
      const [launcher] = launchers
      if (launcher?.phase !== 'Running') return false
      const words = ['logs', launcher.name, ...HERE, '-c', 'launcher']
      return /Loop time of .* on 2 procs/.test(await kubectl(cluster, words).catch(() => ''))
    },
    240_000,
  )
  const pods = await podsOf(cluster, selector)
  t.equal(pods.length, 2)
  for (const { name, status } of pods) {
    const expected = { outcome: 'injected', shareProcessNamespace: 'false', counters: 'all' }
    t.match(status, expected, `the status annotation of ${name}`)
  }
  await reportSoFar(cluster, SPACE, 'jobset/set')
  const programs = await programsOf(t, cluster, 'jobset/set')
  t.strictSame([...programs.keys()].sort(), pods.map(({ name }) => name).sort())
  for (const [pod, names] of programs) t.ok(names.has('lmp'), `${pod} has rows of ${[...names]}`)
  const launcher = pods.find(({ name }) => /-l-0-/.test(name))?.name ?? ''
  await kubectl(cluster, ['exec', launcher, ...HERE, '-c', 'launcher', '--', 'touch', ENOUGH])
  await waitFor(cluster, 'condition=Completed', 'jobset/set')
}

t.test('workloads of other projects are observed', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME)
  await startOperators(t, cluster, api, ['jobset', 'mpi-operator', 'metrics-operator'])
  await createNamespace(t, api, SPACE, { annotations: ASKS })

  await t.test('the workers of a JobSet are observed', (t) => jobSetIsObserved(t, cluster))
  await t.test('LAMMPS in an MPIJob is observed', (t) => mpiJobIsObserved(t, cluster))
  await t.test('LAMMPS in a MetricSet is observed', (t) => metricSetIsObserved(t, cluster))
})
