import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { FindingsDocument } from '../../../src/runs/report/document/findings-document.ts'
import { run } from '../../cli/command.ts'
import type { Api } from '../api.ts'
import { type Collected, collect } from '../collected.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { type Created, type CreatedPod, listCreated } from '../operators/created.ts'
import { buildMiniCluster, makeCurveCertificate } from '../operators/mini-cluster.ts'
import { buildMpiJob, lammpsOf } from '../operators/mpi-job.ts'
import { startOperators } from '../operators/start.ts'
import { installChart } from '../release/installed-chart.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// The annotation `ridealong.dev/inject: "true"` of a Namespace is the only request. Real
// controllers create the same workloads in this namespace and in a namespace without annotations.
// Each pod has one more container, everything else is equal, and `top`, `collect` and `report` show
// every pod.

const NAME = 'ridealong-defaults'
const OBSERVED = 'asks-true'
const PLAIN = 'asks-nothing'
const METRIC = 'vitals'
/** How long each workload computes: more than two intervals of the default rate. */
const SECONDS = 30

/** A shell command that computes for a part of the time. */
const WORK =
  `perl -e '$end = time + ${SECONDS}; ` +
  "while (time < $end) { $x++ for 1 .. 100000; select(undef, undef, undef, 0.05) }'"

function indexedJob(): object {
  const container = { name: 'main', image: DEBIAN_IMAGE, command: ['sh', '-c', WORK] }
  return {
    ...{ completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimit: 0 },
    template: { spec: { restartPolicy: 'Never', containers: [container] } },
  }
}

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'steps' },
  spec: indexedJob(),
}

const JOB_SET = {
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  kind: 'JobSet',
  metadata: { name: 'train' },
  spec: {
    successPolicy: { operator: 'All', targetReplicatedJobs: ['workers'] },
    network: { enableDNSHostnames: true },
    replicatedJobs: [{ name: 'workers', replicas: 2, template: { spec: indexedJob() } }],
  },
}

interface Workload {
  readonly kind: string
  readonly name: string
  readonly object: object
  /** The number of pods. */
  readonly size: number
  /** The condition of the workload when it has completed, and the object that has it. */
  readonly done: readonly [condition: string, object: string]
  /** The program that computes in a pod. */
  readonly programOf: (pod: string) => string
}

const workloads = (curveCert: string): readonly Workload[] => [
  {
    ...{ kind: 'minicluster', name: 'lammps', size: 2 },
    object: buildMiniCluster(curveCert, { seconds: SECONDS }),
    done: ['Complete', 'job/lammps'],
    programOf: () => 'lmp',
  },
  {
    ...{ kind: 'jobset', name: 'train', size: 4, object: JOB_SET },
    done: ['Completed', 'jobset/train'],
    programOf: () => 'perl',
  },
  {
    ...{ kind: 'mpijob', name: 'melt', size: 3 },
    object: buildMpiJob({ program: lammpsOf(SECONDS) }),
    done: ['Succeeded', 'mpijob/melt'],
    programOf: (pod) => (pod.includes('-launcher-') ? 'mpirun' : 'lmp'),
  },
  {
    ...{ kind: 'job', name: 'steps', size: 2, object: JOB },
    done: ['Complete', 'job/steps'],
    programOf: () => 'perl',
  },
]

t.test('"true" on a Namespace observes the pods of all controllers', async (t) => {
  const { cluster, plain, all } = await createPlain(t)
  for (const workload of all) {
    const { kind, name } = workload
    await t.test(`a ${kind}`, async (t) => {
      await create(cluster, OBSERVED, workload)
      const created = await waitForPods(cluster, OBSERVED, workload)
      onlyObserverIsAdded(t, created, plain.get(name))
      const pods = created.pods.map((pod) => pod.name)
      await topShowsPods(t, cluster, workload, pods)
      await complete(cluster, workload)
      const collected = await collect(t, cluster, OBSERVED, `${kind}/${name}`)
      collectFindsPods(t, collected, workload, pods)
      await reportShowsPods(t, collected, workload, pods)
    })
  }
})

/** Creates all workloads in a namespace without annotations, reads their pods, and deletes it. */
async function createPlain(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME)
  await startOperators(t, cluster, api, ['flux-operator', 'jobset', 'mpi-operator'])
  await createNamespace(t, api, PLAIN)
  const all = workloads(await makeCurveCertificate(cluster, PLAIN))
  for (const workload of all) await create(cluster, PLAIN, workload)
  const plain = new Map<string, Created>()
  for (const workload of all) {
    plain.set(workload.name, await waitForPods(cluster, PLAIN, workload))
  }
  await removeNamespace(api, PLAIN)
  await createNamespace(t, api, OBSERVED, { annotations: { 'ridealong.dev/inject': 'true' } })
  return { cluster, plain, all }
}

/** Deletes a namespace, and waits until its pods no longer use the processors. */
async function removeNamespace(api: Api, name: string): Promise<void> {
  await api.delete(`/api/v1/namespaces/${name}`)
  await until(`namespace ${name} is deleted`, async () => {
    return (await api.get(`/api/v1/namespaces/${name}`)).status === 404
  })
}

function create(cluster: Cluster, namespace: string, { object }: Workload): Promise<string> {
  return kubectl(cluster, ['create', '-n', namespace, '-f', '-'], JSON.stringify(object))
}

async function waitForPods(
  cluster: Cluster,
  namespace: string,
  { kind, name, size }: Workload,
): Promise<Created> {
  const list = () => listCreated(cluster, namespace, kind, name)
  await until(`${kind}/${name} has its pods`, async () => (await list()).pods.length === size)
  return list()
}

function complete(cluster: Cluster, { done: [condition, object] }: Workload): Promise<string> {
  const words = ['wait', `--for=condition=${condition}`, object, '-n', OBSERVED]
  return kubectl(cluster, [...words, '--timeout=300s'])
}

/** Checks that the observer is all that pods have more than the pods of a plain namespace. */
function onlyObserverIsAdded(t: Test, created: Created, plain: Created | undefined): void {
  t.strictSame(created.objects, plain?.objects, 'the objects of the controller are equal')
  for (const [index, pod] of created.pods.entries()) {
    const expected = plain?.pods[index]
    const added = containersIn(pod).filter(({ name }) => name === METRIC)
    t.equal(containersIn(pod).length, containersIn(expected).length + 1, `${pod.name}: containers`)
    t.match(added, [{ name: METRIC, restartPolicy: 'Always' }], `${pod.name}: the observer`)
    t.strictSame(withoutObserver(pod), withoutObserver(expected), `${pod.name}: everything else`)
    const labels = pod.labels.filter((key) => key.includes('ridealong'))
    t.strictSame(labels, [], `${pod.name} has no label of Ridealong`)
    t.match(JSON.parse(pod.annotations[STATUS] ?? '{}'), { outcome: 'injected' })
  }
}

const STATUS = 'ridealong.dev/status'

function containersIn(pod: CreatedPod | undefined): readonly { readonly name: string }[] {
  return [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])]
}

/** Returns a pod without the observer, the volume that covers its token, and its annotation. */
function withoutObserver(pod: CreatedPod | undefined) {
  const { shareProcessNamespace: _, ...spec } = pod?.spec ?? {}
  const { initContainers = [], volumes = [] } = spec
  const { [STATUS]: __, ...annotations } = pod?.annotations ?? {}
  return {
    annotations: Object.keys(annotations).sort(),
    spec: {
      ...spec,
      initContainers: initContainers.filter(({ name }: Named) => name !== METRIC),
      volumes: volumes.filter(({ name }: Named) => !name.startsWith('ridealong-')),
    },
  }
}

interface Named {
  readonly name: string
}

/** Waits until `top` shows values of each pod. A slow machine may then have ended some of them. */
async function topShowsPods(
  t: Test,
  { kubeconfig }: Cluster,
  { kind, name }: Workload,
  pods: readonly string[],
): Promise<void> {
  const words = ['top', `${kind}/${name}`, '-n', OBSERVED, '--kubeconfig', kubeconfig]
  // biome-ignore lint/suspicious/noExplicitAny: the columns depend on the metric.
  let lines: readonly any[] = []
  await until('all pods have values', async () => {
    const { code, out } = await run([...words, '--once', '-o', 'json'])
    if (code !== 0) return false
    lines = JSON.parse(out).lines
    return lines.length === pods.length && lines.every(({ values }) => values.run_delay !== null)
  })
  t.strictSame(lines.map(({ pod }) => pod).sort(), pods, 'top shows all pods')
  for (const { pod, state, values } of lines) {
    t.match(state, /^(running|ended)$/, `${pod} is ${state}`)
    t.ok(values.rss > 0, `${pod} has values`)
  }
}

function collectFindsPods(
  t: Test,
  { rows }: Collected,
  { programOf }: Workload,
  pods: readonly string[],
): void {
  const logs = rows.filter(({ kind }) => kind === 'log')
  t.strictSame(logs.map(({ pod }) => pod).sort(), pods, 'collect reads one log of each pod')
  // The workers of an MPIJob still run, so their logs have no end.
  for (const { pod, metric } of logs) t.equal(metric, METRIC, `the log of ${pod}`)
  for (const pod of pods) {
    const own = rows.filter((row) => row.pod === pod && row.program === programOf(pod))
    t.ok(own.length > 1, `${pod} has ${own.length} rows of ${programOf(pod)}`)
  }
}

async function reportShowsPods(
  t: Test,
  { file, page }: Collected,
  { programOf }: Workload,
  pods: readonly string[],
): Promise<void> {
  t.equal(page.pods.length, pods.length, 'the page shows all pods')
  const output = `${file}.json`
  const { code, err } = await run(['report', file, '-o', 'json', '--to', output])
  t.equal(code, 0, err)
  const { pods: shown }: FindingsDocument = JSON.parse(readFileSync(output, 'utf8'))
  t.strictSame(shown.map(({ pod }) => pod ?? '').sort(), pods, 'the JSON has all pods')
  t.strictSame(shown.map(({ podIndex }) => podIndex).sort(), [...page.pods].sort())
  for (const { pod, programs } of shown) {
    const found = programs.find(({ program }) => program === programOf(pod ?? ''))
    t.ok((found?.cpu_seconds ?? 0) > 0, `${pod} has the CPU time of ${programOf(pod ?? '')}`)
    t.match(found, { sources: { cpu_seconds: { metric: METRIC } } }, `the source of ${pod}`)
  }
}
