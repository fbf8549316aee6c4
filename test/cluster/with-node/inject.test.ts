import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { run } from '../../cli/command.ts'
import { parse, timepointsIn } from '../../observers/prerequisites.ts'
import { comparable, type JobPod, podsOfCompleted } from '../completed-job.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { startWebhook } from '../webhook.ts'

// Compares two equal Indexed Jobs. The command injects one Job, which runs in a namespace without a
// webhook. The webhook injects the pods of the other Job.

const APART = 'inject-apart'
const ASKED = 'inject-asked'

const BUSY = 'end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done'

function job(name: string) {
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', BUSY] }
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '1',
  }
  const spec = { restartPolicy: 'Never', containers: [container] }
  const template = { metadata: { annotations }, spec }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { completions: 2, parallelism: 2, completionMode: 'Indexed', template },
  }
}

/** Returns the Job as `ridealong inject` prints it. */
async function injected(t: Test, name: string): Promise<string> {
  const file = `${t.testdir({})}/job.json`
  writeFileSync(file, JSON.stringify(job(name)))
  const { code, out, err } = await run(['inject', '-f', file, '--observer-image', IMAGES.observer])
  t.match({ code, err }, { code: 0, err: '' })
  return out
}

async function apply(cluster: Cluster, namespace: string, manifest: string): Promise<void> {
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], manifest)
}

/** Returns the number of pods that the webhook has left for a reason. */
function leftFor(reason: string, metrics: string): number {
  const line = new RegExp(`^ridealong_reviews_total\\{.*reason="${reason}".*\\} (\\d+)$`, 'm')
  return Number(line.exec(metrics)?.[1] ?? 0)
}

t.test('the command and the webhook inject the same observers', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, APART)
  await createNamespace(t, api, ASKED)
  const words = ['--observer-image', IMAGES.observer]
  const webhook = await startWebhook(cluster, { name: 'inject', words, namespace: ASKED })
  t.teardown(() => webhook.remove())
  const logOf = (namespace: string, { metadata }: JobPod) =>
    kubectl(cluster, ['logs', '-n', namespace, metadata.name, '-c', 'perf-sysstat'])

  await apply(cluster, APART, await injected(t, 'ranks'))
  await apply(cluster, ASKED, JSON.stringify(job('ranks')))
  const apart = await podsOfCompleted(cluster, APART, 'ranks')
  const asked = await podsOfCompleted(cluster, ASKED, 'ranks')

  await t.test('both Jobs complete, and the fields of their pods are equal', async (t) => {
    t.equal(apart.length, 2)
    t.strictSame(apart.map(comparable), asked.map(comparable))
    for (const { spec } of apart)
      t.match(spec, { shareProcessNamespace: true, initContainers: [{ name: 'perf-sysstat' }] })
  })

  await t.test('every timepoint in the logs of both Jobs is parsed', async (t) => {
    const pods = [
      ...apart.map((pod) => [APART, pod] as const),
      ...asked.map((pod) => [ASKED, pod] as const),
    ]
    for (const [namespace, pod] of pods) {
      const log = await logOf(namespace, pod)
      const { data, metadata } = parse('perf-sysstat', log)
      t.ok(data.length > 0, `${namespace} has timepoints`)
      t.equal(data.length, timepointsIn(log))
      t.match(metadata, { pod: pod.metadata.name, container: 'app' })
    }
  })

  await t.test('the webhook does not change pods that the command has injected', async (t) => {
    const before = leftFor('already-injected', await webhook.metrics())
    await apply(cluster, ASKED, await injected(t, 'ranks-again'))
    const pods = await podsOfCompleted(cluster, ASKED, 'ranks-again')
    t.equal(leftFor('already-injected', await webhook.metrics()) - before, 2)
    const renamed = (pod: JobPod) =>
      JSON.parse(JSON.stringify(comparable(pod)).replaceAll('ranks-again', 'ranks'))
    t.strictSame(pods.map(renamed), apart.map(comparable))
  })
})
