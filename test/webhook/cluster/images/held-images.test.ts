import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { watchCluster } from '../../../../webhook/cluster/cluster.ts'
import { holderItem, isHeld, listImages } from '../../../../webhook/cluster/images/held-images.ts'
import { INTERVALS, type Intervals } from '../../../../webhook/cluster/intervals.ts'
import { type StandIn, startStandIn } from '../../../stand-ins/apiserver.ts'
import { until } from '../../../until.ts'
import { capturedLog } from '../../server.ts'

const NAMESPACE = 'ridealong-system'
const A = 'registry.example/observer:a'
const B = 'registry.example/observer:b'

interface HolderOptions {
  readonly ready?: number
  readonly generation?: number
  readonly observed?: number
  readonly updated?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly namespace?: string
}

/**
 * Adds an image holder: a DaemonSet whose pods keep an image on four nodes. All pods have the
 * current template and are ready, unless `options` say otherwise.
 */
function hold(standIn: StandIn, name: string, image: string, options: HolderOptions = {}): void {
  const { ready = 4, generation = 1, observed = generation, updated = 4 } = options
  const { labels = { 'ridealong.dev/image': name }, namespace = NAMESPACE } = options
  standIn.put('daemonsets', {
    metadata: { name, namespace, labels, generation },
    spec: { template: { spec: { containers: [{ name: 'image', image }] } } },
    status: {
      observedGeneration: observed,
      desiredNumberScheduled: 4,
      currentNumberScheduled: 4,
      updatedNumberScheduled: updated,
      numberReady: ready,
    },
  })
}

interface Options {
  readonly pace?: Partial<Intervals>
  readonly imageHolders?: string | undefined
  prepare?(standIn: StandIn): void
}

/** Watches a simulated apiserver, without a wait for the first lists. */
async function start(t: Test, options: Options = {}) {
  const { pace, prepare, imageHolders = NAMESPACE } = options
  const { standIn, access, stop, restart } = await startStandIn(t)
  prepare?.(standIn)
  const { log, lines } = capturedLog()
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(),
    imageHolders,
    registry: new Registry(),
    log,
    pace: { ...INTERVALS, pauseMs: 10, longestPauseMs: 50, ...pace },
  })
  t.teardown(() => cluster.stop())
  const held = () => [...(cluster.heldImages?.() ?? [])].sort()
  const isHeld = (image: string) => held().includes(image)
  const problem = () => cluster.checks().find(({ name }) => name === 'daemonsets')
  const changes = () =>
    lines
      .map((line) => JSON.parse(line))
      .filter(({ image }) => image !== undefined)
      .map(({ image, level }) => [image, level > 30 ? 'lost' : 'held'])
  return { cluster, standIn, stop, restart, held, isHeld, problem, changes, lines }
}

/** Watches a simulated apiserver, and waits until everything is listed and watched. */
async function watch(t: Test, options: Options = {}) {
  const watched = await start(t, options)
  await until('all resources are listed', () =>
    watched.cluster.checks().every(({ fatal }) => !fatal),
  )
  await until('all resources are watched', () => watched.standIn.watches === 4)
  return watched
}

t.test('an image is available while ready pods run it, and each change is logged', async (t) => {
  const { standIn, held, isHeld, changes } = await watch(t, {
    prepare(standIn) {
      hold(standIn, 'one', A)
      hold(standIn, 'other', B, { ready: 0 })
    },
  })
  t.strictSame(held(), [A])
  hold(standIn, 'other', B, { ready: 1 })
  await until('image B is held', () => isHeld(B))
  hold(standIn, 'other', B, { ready: 2 })
  hold(standIn, 'one', A, { ready: 0 })
  await until('image A is lost', () => !isHeld(A))
  t.strictSame(held(), [B])
  t.strictSame(changes(), [
    [A, 'held'],
    [B, 'lost'],
    [B, 'held'],
    [A, 'lost'],
  ])
})

t.test('a returned set of images does not change later', async (t) => {
  const { standIn, cluster, isHeld } = await watch(t, { prepare: (it) => hold(it, 'one', A) })
  const before = cluster.heldImages?.()
  hold(standIn, 'one', A, { ready: 0 })
  await until('image A is lost', () => !isHeld(A))
  t.strictSame([...(before ?? [])], [A])
})

t.test('only the DaemonSets of image holders are read', async (t) => {
  const { standIn, held } = await watch(t, {
    prepare(standIn) {
      hold(standIn, 'one', A)
      hold(standIn, 'foreign', B, { labels: { app: 'other' } })
      hold(standIn, 'elsewhere', 'registry.example/observer:c', { namespace: 'hpc' })
    },
  })
  t.strictSame(held(), [A])
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`
  const calls = standIn.calls.filter((call) => call.includes('daemonsets'))
  t.equal(calls.length, 2, 'one list and one watch')
  for (const call of calls) {
    const url = new URL(call.split(' ')[1] ?? '', 'https://localhost')
    t.equal(url.pathname, path)
    t.equal(url.searchParams.get('labelSelector'), 'ridealong.dev/image')
  }
})

t.test('an image is held if one of two DaemonSets runs it', async (t) => {
  const { standIn, held, isHeld } = await watch(t, {
    prepare(standIn) {
      hold(standIn, 'one', A, { ready: 1 })
      hold(standIn, 'other', A, { ready: 0 })
    },
  })
  t.strictSame(held(), [A])
  hold(standIn, 'one', A, { ready: 0 })
  await until('image A is lost', () => !isHeld(A))
})

t.test('a new image of a DaemonSet is held when a ready pod runs it', async (t) => {
  const { standIn, held, isHeld } = await watch(t, { prepare: (it) => hold(it, 'one', A) })
  hold(standIn, 'one', B, { generation: 2, observed: 1 })
  hold(standIn, 'one', B, { generation: 2, updated: 1, ready: 3 })
  hold(standIn, 'mark', 'registry.example/mark:1')
  await until('the changes are known', () => isHeld('registry.example/mark:1'))
  t.notOk(isHeld(B), 'no ready pod runs image B yet')
  t.ok(isHeld(A), 'nodes still have the old image')
  hold(standIn, 'one', B, { generation: 2, updated: 1, ready: 4 })
  await until('image B is held', () => isHeld(B))
  t.ok(held().includes(A))
})

const MARK = 'registry.example/mark:1'

/** Waits until earlier changes are known: a later event comes through the same watch. */
async function marked(standIn: StandIn, isHeld: (image: string) => boolean): Promise<void> {
  hold(standIn, 'mark', MARK)
  await until('the mark is known', () => isHeld(MARK))
  hold(standIn, 'mark', MARK, { ready: 0 })
  await until('the removal of the mark is known', () => !isHeld(MARK))
}

t.test('an image stays available after its DaemonSet is deleted', async (t) => {
  const { standIn, isHeld, changes } = await watch(t, {
    prepare(standIn) {
      hold(standIn, 'one', A)
      hold(standIn, 'other', B, { ready: 0 })
    },
  })
  standIn.remove('daemonsets', 'one', NAMESPACE)
  standIn.remove('daemonsets', 'other', NAMESPACE)
  await marked(standIn, isHeld)
  t.ok(isHeld(A))
  t.notOk(isHeld(B), 'an image that was not held stays unavailable')
  t.notOk(changes().some(([image, word]) => image === A && word === 'lost'))
})

t.test('an image is lost some time after its DaemonSet is deleted', async (t) => {
  const { standIn, isHeld, changes } = await watch(t, {
    pace: { orphanMs: 100 },
    prepare: (standIn) => hold(standIn, 'one', A),
  })
  standIn.remove('daemonsets', 'one', NAMESPACE)
  await until('image A is lost', () => !isHeld(A))
  t.strictSame(changes().at(-1), [A, 'lost'])
})

t.test('an image stays available while a new template with this image is rolled out', async (t) => {
  const { standIn, isHeld, changes } = await watch(t, { prepare: (it) => hold(it, 'one', A) })
  const steps: readonly HolderOptions[] = [
    { generation: 2, observed: 1 },
    { generation: 2, updated: 0 },
    { generation: 2, updated: 1, ready: 3 },
    { generation: 2, updated: 1 },
    { generation: 2, updated: 1, ready: 3 },
    { generation: 2 },
    // All pods are replaced at once, as on a single node.
    { generation: 3, observed: 2 },
    { generation: 3, updated: 0, ready: 0 },
    { generation: 3, ready: 0 },
  ]
  for (const step of steps) {
    hold(standIn, 'one', A, step)
    await marked(standIn, isHeld)
    t.ok(isHeld(A), `image A is held after ${JSON.stringify(step)}`)
  }
  t.notOk(changes().some(([image, word]) => image === A && word === 'lost'))
  hold(standIn, 'one', A, { generation: 3 })
  await marked(standIn, isHeld)
  hold(standIn, 'one', A, { generation: 3, ready: 0 })
  await until('image A is lost after the rollout', () => !isHeld(A))
})

t.test('an image is lost some time after a rollout if no pod becomes ready', async (t) => {
  const { standIn, isHeld, changes } = await watch(t, {
    pace: { orphanMs: 100 },
    prepare: (standIn) => hold(standIn, 'one', A),
  })
  hold(standIn, 'one', A, { generation: 2, ready: 0 })
  await until('image A is lost', () => !isHeld(A))
  t.strictSame(changes().at(-1), [A, 'lost'])
})

t.test('a recreated DaemonSet can lose its image only after its pods were ready', async (t) => {
  const { standIn, isHeld } = await watch(t, { prepare: (standIn) => hold(standIn, 'one', A) })
  standIn.remove('daemonsets', 'one', NAMESPACE)
  hold(standIn, 'one', A, { ready: 0 })
  await marked(standIn, isHeld)
  t.ok(isHeld(A), 'the pods of the new DaemonSet have not started yet')
  hold(standIn, 'one', A)
  hold(standIn, 'one', A, { ready: 0 })
  await until('image A is lost', () => !isHeld(A))
})

t.test('before the first list, no image is held and the server is not ready', async (t) => {
  const { cluster, standIn, held, problem, isHeld } = await start(t, {
    prepare(standIn) {
      hold(standIn, 'one', A)
      standIn.faults.refuse = [/daemonsets$/, 403]
    },
  })
  await until('the problem is reported', () =>
    /not listed yet: .*403/.test(problem()?.problem ?? ''),
  )
  t.equal(problem()?.fatal, true)
  t.strictSame(held(), [], 'no image is known')
  const find = async () => cluster.find('hpc', false)
  await t.rejects(find(), { code: 'NOT_KNOWN_YET' }, 'no decision before the images are known')
  standIn.faults.refuse = undefined
  await until('image A is held', () => isHeld(A))
  t.equal((await find()).name, 'hpc')
  t.strictSame(problem(), { name: 'daemonsets', problem: undefined, fatal: false })
})

t.test('known images stay available while the apiserver is unavailable', async (t) => {
  const { held, problem, stop } = await watch(t, { prepare: (it) => hold(it, 'one', A) })
  await stop()
  await until('the problem is reported', () => /ECONNREFUSED/.test(problem()?.problem ?? ''))
  t.equal(problem()?.fatal, false)
  t.strictSame(held(), [A])
})

t.test('without the option imageHolders, no DaemonSets are watched', async (t) => {
  const { standIn, access } = await startStandIn(t)
  const { log } = capturedLog()
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(),
    registry: new Registry(),
    log,
  })
  t.teardown(() => cluster.stop())
  await until('all resources are watched', () => standIn.watches === 3)
  t.equal(cluster.heldImages, undefined)
  t.equal(standIn.count(/daemonsets/), 0)
})

const METADATA = { name: 'images-1', namespace: 'ridealong-system', resourceVersion: '7' }

type Json = Readonly<Record<string, unknown>>

/** Returns a DaemonSet with this generation and status. `counted` builds a status from counts. */
function holder(generation: number, status: Json, containers: unknown = [{ image: 'a' }]) {
  const metadata = { ...METADATA, generation, managedFields: [{}] }
  return holderItem({ metadata, spec: { template: { spec: { containers } } }, status })
}

function counted(pods: number, updated: number, ready: number, observedGeneration = 1): Json {
  return {
    observedGeneration,
    desiredNumberScheduled: 4,
    currentNumberScheduled: pods,
    updatedNumberScheduled: updated,
    numberReady: ready,
  }
}

t.test('a DaemonSet holds its image if a ready pod runs it', async (t) => {
  const rows: [boolean, string, Json][] = [
    [true, 'all its pods are ready', counted(4, 4, 4)],
    [true, 'one pod is ready', counted(4, 4, 1)],
    [true, 'the only pod is ready', counted(1, 1, 1)],
    [false, 'no pod is ready', counted(4, 4, 0)],
    [false, 'the only pod is not ready', counted(1, 1, 0)],
    [false, 'no node is selected', counted(0, 0, 0)],
    [false, 'the status is empty', {}],
    [false, 'a count is not a number', { ...counted(4, 4, 4), numberReady: '4' }],
  ]
  for (const [held, name, status] of rows) t.equal(isHeld(holder(1, status)), held, name)
})

t.test('during a rollout, pods of the old template do not hold the new image', async (t) => {
  const rows: [boolean, string, Json][] = [
    [false, 'the controller has not observed the new template', counted(4, 4, 4, 1)],
    [false, 'no pod has the new template', counted(4, 0, 4, 2)],
    [false, 'one pod has the new template, and is not ready', counted(4, 1, 3, 2)],
    [false, 'one of two pods has the new template, and only one is ready', counted(2, 1, 1, 2)],
    [false, 'the old pod is deleted, and the new pod does not exist', counted(3, 0, 3, 2)],
    [true, 'one pod has the new template, and all pods are ready', counted(4, 1, 4, 2)],
    [true, 'three of four pods have the new template, and two are ready', counted(4, 3, 2, 2)],
    [true, 'all pods have the new template, and one is ready', counted(4, 4, 1, 2)],
  ]
  for (const [held, name, status] of rows) t.equal(isHeld(holder(2, status)), held, name)
})

t.test('only the generation, images and status of a DaemonSet are kept', async (t) => {
  const item = holder(1, counted(1, 1, 1), [{ image: 'a', env: [{}] }, { image: 'b' }, {}, null])
  t.strictSame(listImages(item), ['a', 'b'])
  t.strictSame(Object.keys(item.object), ['generation', 'images', 'status'])
  const { name, namespace, resourceVersion } = item
  t.strictSame({ name, namespace, resourceVersion }, METADATA)
  for (const containers of [null, 'a', {}, []]) {
    t.strictSame(listImages(holder(1, {}, containers)), [])
  }
})
