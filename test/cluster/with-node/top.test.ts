import t from 'tap'
import { run } from '../../cli/command.ts'
import { openProcessTerminal } from '../../cli/top/process-terminal.ts'
import { reportSoFar } from '../collected.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// `top` follows a Job through a real apiserver and kubelet: once with the output in JSON, and in a
// terminal until the Job has ended.

const SPACE = 'top'

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'ranks' },
  spec: {
    completions: 2,
    parallelism: 2,
    completionMode: 'Indexed',
    backoffLimit: 0,
    template: {
      metadata: {
        annotations: {
          'ridealong.dev/inject': 'perf-sysstat,pressure',
          'perf-sysstat.ridealong.dev/rate': '1',
          'pressure.ridealong.dev/rate': '1',
        },
      },
      spec: {
        restartPolicy: 'Never',
        securityContext: { runAsUser: 1000, runAsGroup: 1000 },
        containers: [
          {
            name: 'app',
            image: DEBIAN_IMAGE,
            // Pod 0 computes, and pod 1 sleeps, until the test ends them.
            command: [
              'sh',
              '-c',
              'trap "exit 0" TERM; while :; do test $JOB_COMPLETION_INDEX = 0 || sleep 1; done',
            ],
          },
        ],
      },
    },
  },
}

t.test('the pods of a Job are shown while it runs', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  const here = ['-n', SPACE]
  await kubectl(cluster, ['apply', ...here, '-f', '-'], JSON.stringify(JOB))
  const words = ['top', 'job/ranks', ...here, '--kubeconfig', cluster.kubeconfig]

  // biome-ignore lint/suspicious/noExplicitAny: the columns depend on the metric.
  let lines: readonly any[] = []
  await until('all pods have values', async () => {
    const { code, out } = await run([...words, '--once', '-o', 'json'])
    if (code !== 0) return false
    lines = JSON.parse(out).lines
    // Two observers measure them, and each finds the processes at a time of its own.
    const hasValues = lines.map(({ values }) => values.run_delay !== null && values.rss !== null)
    return hasValues.length === 2 && hasValues.every(Boolean)
  })
  const [busy, idle] = lines.toSorted((a, b) => Number(a.pod_index) - Number(b.pod_index))
  t.match([busy.state, idle.state], ['running', 'running'])
  const used = busy.values.percent_cpu + busy.values.run_delay * 100
  t.ok(used > 50, `pod 0 computes or waits for ${used} % of the time`)
  t.ok(idle.values.percent_cpu < 20, `pod 1 uses ${idle.values.percent_cpu} % of a core`)
  t.ok(busy.values.rss > 0)

  await reportSoFar(cluster, SPACE, 'job/ranks')

  // On a busy machine, pod 0 has a finding.
  const terminal = await openProcessTerminal(t, [...words, '--sort', 'percent_cpu'])
  await terminal.shows(/^0 +running +([a-z-]+ +)?\d+\.\d .*\n1 +running +/m)
  terminal.press('p')
  await terminal.shows(/^0 +sh +running +\d+\.\d/m)
  terminal.press('p')
  await kubectl(cluster, ['delete', 'job/ranks', ...here, '--wait=false'])
  await terminal.shows(/^0 +ended +([a-z-]+ +)?\d+\.\d .*\n1 +ended/m)
  terminal.press('q')
  const { code, before, after } = await terminal.end()
  t.equal(code, 0)
  t.equal(after, before)
})
