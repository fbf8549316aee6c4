import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { textOf } from '../../docs/pages.ts'
import { panelsOf } from '../../observers/live-export/dashboard.ts'
import { summaryOf } from '../../observers/prerequisites.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { startDns } from '../operators/dns.ts'
import { createProgramNamespace } from '../operators/in-cluster.ts'
import { type Prometheus, startPrometheus } from '../operators/prometheus.ts'
import { renderTemplate } from '../release/chart.ts'
import { OWN_OBSERVER } from '../release/helm.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// The observers of an Indexed Job push to a real Prometheus in the cluster, which the chart names.

const SPACE = 'live-export'
const HERE = ['-n', SPACE]
const MONITORING = 'monitoring'
const INTERVAL = 5
/** How long each pod works, in seconds. */
const SECONDS = 25
const RUN = `${SPACE}/ranks`
const USAGE = `container_cpu_time_seconds_total{job="${RUN}"}`

/** The share of a core that each pod uses, in percent. */
const LOADS = [90, 30, 60] as const
const PODS = LOADS.map((_, index) => `${index}`)

/** The configuration of Prometheus in the documentation. */
const [, CONFIGURATION = ''] = /^```yaml\n(otlp:\n.*?)^```$/ms.exec(textOf('docs/live.md')) ?? []

/** Computes for its share of each 100 ms, and sends a request over one connection. */
const WORK = `
exec 3<>/dev/tcp/prometheus.${MONITORING}/9090
while :; do printf 'GET /-/ready HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n' >&3; sleep 1; done &
shares=(${LOADS.join(' ')})
perl -e 'sub used { my @times = times; $times[0] + $times[1] }
  $share = shift; $end = time + ${SECONDS};
  while (time < $end) {
    $next = used() + $share / 1000; while (used() < $next) {}
    select(undef, undef, undef, (100 - $share) / 1000);
  }' "\${shares[JOB_COMPLETION_INDEX]}"
kill $!`

const METRICS = ['perf-sysstat', 'pressure', 'network'] as const

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'ranks' },
  spec: {
    completions: LOADS.length,
    parallelism: LOADS.length,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: {
      metadata: {
        annotations: {
          'ridealong.dev/inject': METRICS.join(','),
          ...Object.fromEntries(METRICS.map((metric) => [`${metric}.ridealong.dev/rate`, '1'])),
        },
      },
      spec: {
        restartPolicy: 'Never',
        securityContext: { runAsUser: 1000, runAsGroup: 1000 },
        containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['bash', '-c', WORK] }],
      },
    },
  },
}

/** Writes the catalog of the chart, with the live export, to a folder. Returns the folder. */
async function catalogIn(folder: string, endpoint: string): Promise<string> {
  const values = [OWN_OBSERVER, `observer.otlp.endpoint=${endpoint}`]
  const interval = `observer.otlp.interval=${INTERVAL}`
  const [map] = await renderTemplate('catalog', ['--set', [...values, interval].join(',')])
  for (const [name, text] of Object.entries(map.data)) {
    writeFileSync(join(folder, name), String(text))
  }
  return folder
}

/** A pod of the Job, with the logs of its observers by metric. */
interface Pod {
  readonly pod_index: string
  readonly pod: string
  readonly node: string
  readonly logs: Readonly<Record<string, string>>
}

async function podsOf(cluster: Cluster): Promise<readonly Pod[]> {
  const words = ['get', 'pods', ...HERE, '-l', 'job-name=ranks', '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  return Promise.all(
    // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
    items.map(async ({ metadata, spec }: any) => {
      const logs = METRICS.map(async (metric) => {
        return [metric, await kubectl(cluster, ['logs', metadata.name, ...HERE, '-c', metric])]
      })
      return {
        pod_index: metadata.labels['batch.kubernetes.io/job-completion-index'],
        pod: metadata.name,
        node: spec.nodeName,
        logs: Object.fromEntries(await Promise.all(logs)),
      }
    }),
  )
}

/** Returns when the first row was written, in seconds since 1970. */
function firstRow(log: string): number {
  const [, time = ''] = /^\{"time":"([^"]+)","section"/m.exec(log) ?? []
  return Date.parse(time) / 1000
}

t.test('the pods of a Job are in Prometheus while it runs', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createProgramNamespace(t, api, MONITORING)
  await startDns(cluster, MONITORING)
  const prometheus = await startPrometheus(cluster, api, MONITORING, CONFIGURATION)
  const { query } = prometheus
  await createNamespace(t, api, SPACE)
  const catalog = await catalogIn(t.testdir({}), prometheus.endpoint)
  const webhook = await startWebhook(cluster, { words: ['--catalog', catalog] })
  t.teardown(() => webhook.remove())

  await kubectl(cluster, ['apply', ...HERE, '-f', '-'], JSON.stringify(JOB))
  const present = async () =>
    (await query(USAGE)).map(({ metric }) => metric.ridealong_pod_index).sort()
  await until('all pods are in Prometheus', async () => {
    return (await present()).length === LOADS.length
  })
  t.strictSame(await present(), PODS)
  const { body } = await api.get(`/apis/batch/v1/namespaces/${SPACE}/jobs/ranks`)
  t.equal(body.status.active, LOADS.length, 'all pods still run')
  const complete = ['wait', '--for=condition=Complete', 'job/ranks', ...HERE, '--timeout=300s']
  await kubectl(cluster, complete)

  const pods = await podsOf(cluster)
  await checkTimes(t, prometheus, pods)
  await checkTotals(t, prometheus, pods)
  for (const pod of pods) checkCounts(t, prometheus, pod)
  for (const { title, expression } of ['perf-sysstat', 'network'].flatMap(panels)) {
    const found = (await query(expression)).map(({ metric }) => metric.ridealong_pod_index)
    t.strictSame([...new Set(found)].sort(), PODS, `the panel ${title} has all pods`)
  }
})

const panels = (metric: string) => panelsOf(metric, RUN)

/** Checks that each pod was in Prometheus within two intervals after its first row. */
async function checkTimes(t: Test, { query }: Prometheus, pods: readonly Pod[]) {
  const first = await query(`min_over_time(timestamp(${USAGE})[1h:1s])`)
  for (const { pod_index, logs } of pods) {
    const time = first.find(({ metric }) => metric.ridealong_pod_index === pod_index)?.value
    const delay = Number(time) - firstRow(logs.pressure ?? '')
    t.ok(delay <= 2 * INTERVAL, `pod ${pod_index} was in Prometheus after ${delay} s`)
  }
}

/** Checks the CPU seconds of each pod, and the labels of its pod. */
async function checkTotals(t: Test, { query }: Prometheus, pods: readonly Pod[]) {
  for (const { pod_index, pod, node, logs } of pods) {
    const labels = `job="${RUN}", ridealong_pod_index="${pod_index}"`
    const series = `process_cpu_time_seconds_total{${labels}}`
    const [total] = await query(`sum(max_over_time(${series}[1h]))`)
    const [, ...programs] = summaryOf(logs['perf-sysstat'] ?? '')
    const logged = programs.reduce((sum, { cpu_seconds = 0 }) => sum + Number(cpu_seconds), 0)
    const found = Number(total?.value)
    const figures = `pod ${pod_index}: ${found} CPU seconds in Prometheus, ${logged} in the log`
    t.ok(logged > 0.5 && Math.abs(found - logged) <= 0.03 * logged, figures)
    const [sample] = await query(series)
    t.match(sample?.metric, {
      instance: `${SPACE}.${pod}.perf-sysstat`,
      k8s_namespace_name: SPACE,
      k8s_pod_name: pod,
      k8s_node_name: node,
      k8s_job_name: 'ranks',
      k8s_container_name: 'app',
    })
  }
}

/** Checks that each observer of a pod has pushed, and that no push failed. */
function checkCounts(t: Test, { endpoint }: Prometheus, { pod_index, logs }: Pod): void {
  for (const metric of METRICS) {
    const counts = summaryOf(logs[metric] ?? '').at(-1)
    t.match(counts, { live_export: `${endpoint}/v1/metrics`, failed_pushes: 0, dropped_lines: 0 })
    t.ok(Number(counts?.pushes) > 1, `${metric} of pod ${pod_index}: ${counts?.pushes} pushes`)
  }
}
