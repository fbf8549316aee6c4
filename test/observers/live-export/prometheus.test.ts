import t, { type Test } from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { textOf } from '../../docs/pages.ts'
import { until } from '../../until.ts'
import { observer, type Pod, podOf, type Running } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { panelsOf } from './dashboard.ts'
import { type Prometheus, startPrometheus, withoutPrometheus } from './prometheus.ts'
import { exporting, variablesOf } from './receiver.ts'

// The live export with a real Prometheus.

const { skip } = observerTests()
const options = { skip: skip || withoutPrometheus, timeout: 300_000 }

/** The configuration of Prometheus in the documentation. */
const [, CONFIGURATION = ''] = /^```yaml\n(otlp:\n.*?)^```$/ms.exec(textOf('docs/live.md')) ?? []

const INDEXES = ['0', '1'] as const
const METRICS = ['perf-sysstat', 'pressure'] as const

/** Starts the observers of a pod, which uses a core for a part of the time. */
async function startPod(pod: Pod, index: string, endpoint: string) {
  // A push may take as long as the interval, and an answer a second on a busy machine.
  const catalog = exporting(await loadCatalog({}), { endpoint, interval: 3 })
  const exported = variablesOf(METRICS, catalog)
  const watching = METRICS.map(async (metric) =>
    pod.run(metric, [observer(metric)], {
      RIDEALONG_TARGET_CONTAINER: 'app',
      RIDEALONG_OPTION_RATE: '0.5',
      RIDEALONG_OWNER: 'Job/lammps',
      POD_NAMESPACE: 'hpc',
      POD_NAME: `lammps-${index}-abcde`,
      JOB_COMPLETION_INDEX: index,
      ...exported.get(metric),
    }),
  )
  const running = await Promise.all(watching)
  const work = 'while :; do for i in {1..20000}; do :; done; sleep 0.1; done'
  await pod.run('app', ['bash', '-c', work])
  return running
}

const COUNTER = 'process_cpu_time_seconds_total{job="hpc/lammps"}'
const CPU = `sum by (ridealong_pod_index) (max_over_time(${COUNTER}[1h]))`

async function indexesIn({ query }: Prometheus): Promise<readonly string[]> {
  return (await query(CPU)).map(({ metric }) => metric.ridealong_pod_index ?? '').sort()
}

async function cpuIn({ query }: Prometheus, index: string): Promise<number> {
  const samples = await query(CPU)
  return samples.find(({ metric }) => metric.ridealong_pod_index === index)?.value ?? 0
}

/** The CPU seconds in the summary of perf-sysstat. */
function cpuOf(observers: readonly Running[]): number {
  const lines = observers.flatMap((running) => summaryOf(running.log()))
  return Number(lines.find(({ metric }) => metric === 'perf-sysstat')?.cpu_seconds)
}

t.test(
  'PromQL gives the CPU seconds of the log, and the dashboard has data',
  options,
  async (t) => {
    const prometheus = await startPrometheus(t, CONFIGURATION)
    const pods = await Promise.all(
      INDEXES.map(async (index) => startPod(await podOf(t), index, prometheus.endpoint)),
    )
    await until('both pods are there', async () => (await indexesIn(prometheus)).length === 2)
    t.strictSame(await indexesIn(prometheus), [...INDEXES])
    // Their counters must be large compared with the resolution of a clock tick.
    await until('each pod has used two seconds', async () => {
      const used = await Promise.all(INDEXES.map((index) => cpuIn(prometheus, index)))
      return Math.min(...used) > 2
    })
    for (const running of pods.flat()) running.signal('SIGTERM')
    for (const running of pods.flat()) t.equal(await running.ended, 0, running.log())
    for (const [at, index] of INDEXES.entries()) {
      const logged = cpuOf(pods[at] ?? [])
      const isNear = (found: number) => Math.abs(found - logged) <= 0.03 * logged
      // On a busy machine, an observer may end before Prometheus has stored its last push.
      await until('the last push is stored', async () => isNear(await cpuIn(prometheus, index)))
      const found = await cpuIn(prometheus, index)
      t.ok(logged > 2, `${logged} s`)
      t.ok(isNear(found), `pod ${index}: ${found} s, not ${logged} s`)
    }
    const [sample] = await prometheus.query('process_memory_usage_bytes{ridealong_pod_index="1"}')
    t.match(sample?.metric, {
      job: 'hpc/lammps',
      instance: 'hpc.lammps-1-abcde.perf-sysstat',
      k8s_namespace_name: 'hpc',
      k8s_pod_name: 'lammps-1-abcde',
      k8s_job_name: 'lammps',
      k8s_container_name: 'app',
      process_executable_name: 'bash',
    })
    await checkExpressions(t, prometheus)
  },
)

/** Evaluates the expressions of the dashboard and of the documentation. */
async function checkExpressions(t: Test, { query }: Prometheus): Promise<void> {
  for (const { title, expression } of panelsOf('perf-sysstat', 'hpc/lammps')) {
    t.strictSame(indexesOf(await query(expression)), [...INDEXES], title)
  }
  for (const metric of ['pressure', 'network']) {
    const others = panelsOf(metric, 'hpc/lammps')
    t.ok(others.length > 1, metric)
    for (const { expression } of others) await query(expression)
  }
  for (const expression of documented()) {
    const samples = await query(expression)
    // Without a cgroup and a network of its own, the pod of the test has no such values.
    t.ok(samples.length > 0 || /throttled|network/.test(expression), expression)
  }
}

const indexesOf = (samples: readonly { readonly metric: Readonly<Record<string, string>> }[]) =>
  [...new Set(samples.map(({ metric }) => metric.ridealong_pod_index))].sort()

/** The expressions in the documentation. */
function documented(): readonly string[] {
  const rows = textOf('docs/live.md').matchAll(/^\| .* \| `(.*(?:sum|topk).*)` \|$/gm)
  return [...rows].map(([, expression = '']) => expression.replaceAll('[1m]', '[1h]'))
}
