import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import { kubectl } from '../machine/kubectl.ts'
import { metricsOf, type Release, type Replica, replicasOf } from '../release/helm.ts'
import { installChart } from '../release/installed-chart.ts'
import { killContainer, scale, settled } from '../release/replicas.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// Pods are created while no webhook answers: missed pods. After the webhook has started again, one
// replica finds all missed pods, counts them, and writes one Event for each owner. The replica has
// only the rights that the chart grants, and changes no pod.

const NAME = 'ridealong-guarded'
const ARMED = 'guarded-armed'
const QUIET = 'guarded-quiet'
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const PODS = 20

/** The default interval between scans is too long for a test. */
const OFTEN = 'guard.scan.intervalSeconds=1'

/** The pods name a scheduler that does not exist, so they stay pending. */
const SPEC = { schedulerName: 'nobody', containers: [{ name: 'app', image: 'app' }] }

const pod = (name: string, annotations: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations },
  spec: SPEC,
})

const job = (name: string) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    parallelism: PODS,
    completions: PODS,
    template: { spec: { ...SPEC, restartPolicy: 'Never' } },
  },
})

const apply = ({ cluster }: Release, namespace: string, object: object) =>
  kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(object))

async function install(t: Test): Promise<{ release: Release; api: Api }> {
  const { cluster, api } = await runningCluster(t)
  return { release: await installChart(t, cluster, api, NAME, ['--set', OFTEN]), api }
}

/** Returns the replicas that count missed pods, each with its number of missed pods. */
async function counting(release: Release): Promise<readonly (readonly [Replica, number])[]> {
  const name = 'ridealong_unobserved_pods'
  const running = (await replicasOf(release)).filter(({ isReady }) => isReady)
  const counts = await Promise.all(
    running.map(async (replica) => {
      const text = await metricsOf(replica).catch(() => '')
      const count = sampleOf(text, name, { reason: 'unanswered' })
      return count === undefined ? [] : [[replica, count] as const]
    }),
  )
  return counts.flat()
}

/** Lists Ridealong's Events as lines with the namespace, reason, object and number of pods. */
async function listEvents(api: Api): Promise<readonly string[]> {
  const { body } = await api.get('/api/v1/events?fieldSelector=source=ridealong')
  // biome-ignore lint/suspicious/noExplicitAny: Events as the apiserver serves them.
  const lines = body.items.map(({ metadata, reason, involvedObject, count }: any) => {
    return `${metadata.namespace}: ${reason} ${involvedObject.kind}/${involvedObject.name} ${count}`
  })
  return lines.sort()
}

/** Returns the uid and resourceVersion of each pod, which must not change. */
async function identities(api: Api): Promise<readonly string[]> {
  const lists = await Promise.all(
    [ARMED, QUIET].map((namespace) => api.get(`/api/v1/namespaces/${namespace}/pods`)),
  )
  return lists.flatMap(({ body }) =>
    body.items.map(({ metadata }: { metadata: { uid: string; resourceVersion: string } }) => {
      return `${metadata.uid} ${metadata.resourceVersion}`
    }),
  )
}

/**
 * Returns a function that reports whether exactly one replica counts missed pods, and whether its
 * number of missed pods is `wanted`.
 */
const oneCounts = (release: Release, wanted: number) => async () => {
  const found = await counting(release)
  return found.length === 1 && found[0]?.[1] === wanted
}

t.test('the scan finds pods that the webhook missed', async (t) => {
  const setting = await missPods(t)
  const { api, before } = setting

  await t.test('one replica counts each missed pod, and writes one Event for each owner', (t) =>
    countsEachPod(t, setting),
  )

  await t.test(
    'after the replica that counts was killed, one replica counts all missed pods',
    (t) => countsAfterKill(t, setting),
  )

  await t.test('no pod was changed', async (t) => {
    t.same(await identities(api), before)
  })

  await t.test('missed pods that were deleted are no longer counted', () => stopsCounting(setting))
})

async function missPods(t: Test) {
  const { release, api } = await install(t)
  await createNamespace(t, api, ARMED)
  await createNamespace(t, api, QUIET)
  await apply(release, ARMED, pod('before'))
  // Kubernetes stores times in whole seconds. The pods and the annotation must therefore not be
  // created in the same second.
  await sleep(1100)
  await api.merge(`/api/v1/namespaces/${ARMED}`, { metadata: { annotations: ASKS } })
  await sleep(1100)
  await apply(release, ARMED, pod('answered'))
  await until('one replica counts no missed pods', oneCounts(release, 0))
  t.same(await listEvents(api), [])

  await scale(release, 0)
  await apply(release, ARMED, job('lammps'))
  await apply(release, QUIET, pod('alone', ASKS))
  await apply(release, QUIET, pod('silent'))
  await apply(release, QUIET, pod('annotated'))
  const later = { metadata: { annotations: ASKS } }
  await api.merge(`/api/v1/namespaces/${QUIET}/pods/annotated`, later)
  await until('all pods of the Job exist', async () => {
    const { body } = await api.get(`/api/v1/namespaces/${ARMED}/pods?labelSelector=job-name=lammps`)
    return body.items.length === PODS
  })
  const before = await identities(api)
  const events = [`${ARMED}: NotObserved Job/lammps ${PODS}`, `${QUIET}: NotObserved Pod/alone 1`]
  return { release, api, events, before }
}

type Setting = Awaited<ReturnType<typeof missPods>>

async function countsEachPod(t: Test, { release, api, events }: Setting): Promise<void> {
  await scale(release, 2)
  await until('one replica counts the missed pods', oneCounts(release, PODS + 1), 90_000)
  await until('the Events exist', async () => (await listEvents(api)).length >= events.length)
  await sleep(5000)
  t.same(await listEvents(api), events, 'each owner has one Event')
  t.equal((await counting(release)).length, 1)
  const described = await kubectl(release.cluster, ['describe', 'job/lammps', '-n', ARMED])
  t.match(described, /Warning +NotObserved .*ridealong .*the webhook did not answer: lammps-/)
}

async function countsAfterKill(t: Test, { release, api, events }: Setting): Promise<void> {
  const [[replica] = []] = await counting(release)
  if (replica === undefined) throw new Error('no replica counts')
  const { containerId, restarts, name } = replica
  await killContainer(release.cluster, containerId)
  await until('the replica is started again', async () => {
    const replicas = await replicasOf(release)
    return replicas.some((one) => one.name === name && one.restarts > restarts)
  })
  await settled(release, 2)
  // Another replica takes the Lease after half a minute without a renewal.
  await until('one replica counts the missed pods', oneCounts(release, PODS + 1), 120_000)
  await sleep(3000)
  t.same(await listEvents(api), events, 'the Events are unchanged')
}

async function stopsCounting({ release }: Setting): Promise<void> {
  await kubectl(release.cluster, ['delete', 'job/lammps', '-n', ARMED])
  await kubectl(release.cluster, ['delete', 'pod/alone', '-n', QUIET])
  await until('no pod is counted', oneCounts(release, 0))
}
