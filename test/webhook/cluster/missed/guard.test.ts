import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import type { Access } from '../../../../src/cluster/cluster.ts'
import { PAGE } from '../../../../src/cluster/reflect/list.ts'
import { KEYS, STATUS_KEY } from '../../../../src/core/keys.ts'
import { leftStatus } from '../../../../src/core/status.ts'
import { watchCluster } from '../../../../webhook/cluster/cluster.ts'
import { INTERVALS, type Intervals } from '../../../../webhook/cluster/intervals.ts'
import { askingPod, CATALOG, ride } from '../../../src/core/build.ts'
import { type StandIn, startStandIn } from '../../../stand-ins/apiserver.ts'
import { until } from '../../../until.ts'
import { capturedLog, sampleOf } from '../../server.ts'

const QUICK: Intervals = {
  ...INTERVALS,
  pauseMs: 10,
  longestPauseMs: 50,
  repairSoonMs: 60_000,
  scanMs: 100,
  eventsPerSecond: 1000,
  renewMs: 50,
  holdMs: 20_000,
  leaseMs: 30_000,
}

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
const THEN = '2026-01-01T12:00:00Z'
const AFTER = '2026-01-01T12:00:06Z'
const LEASE = 'ridealong-system/ridealong-scan'

/** Returns a uid in the apiserver's format, a different one for each name. */
function uidOf(name: string): string {
  const digits = createHash('sha256').update(name).digest('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5')
}

function owner(kind: string, name: string) {
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1'
  return { apiVersion, kind, name, uid: uidOf(name), controller: true }
}

interface PodOptions {
  readonly annotations?: Readonly<Record<string, string>>
  readonly of?: ReturnType<typeof owner>
  readonly namespace?: string
  readonly spec?: object
}

function putPod(standIn: StandIn, name: string, options: PodOptions = {}): void {
  const { annotations = ASKING, of, namespace = 'hpc', spec = {} } = options
  const ownerReferences = of ? [of] : []
  const metadata = { name, namespace, uid: `uid-of-${name}`, creationTimestamp: AFTER }
  standIn.put('pods', { metadata: { ...metadata, annotations, ownerReferences }, spec })
}

/** Starts an apiserver with a Lease that no replica holds, and an annotated namespace. */
async function start(t: Test) {
  const { standIn, access, stop, restart } = await startStandIn(t)
  const annotations = { [`f:${KEYS.inject}`]: {} }
  const managedFields = [
    { time: THEN, fieldsV1: { 'f:metadata': { 'f:annotations': annotations } } },
  ]
  const labels = { 'ridealong.dev/armed': 'true' }
  standIn.put('namespaces', {
    metadata: { name: 'hpc', annotations: ASKING, labels, managedFields },
  })
  standIn.put('leases', { metadata: { name: 'ridealong-scan', namespace: 'ridealong-system' } })
  return { standIn, access, stop, restart }
}

/**
 * Starts a replica that scans for missed pods: pods that requested observers, but have none or
 * altered ones.
 */
function replica(
  t: Test,
  access: Access,
  pace: Partial<Intervals> = {},
  excluded: string[] = [],
  revision?: string,
) {
  let catalog = CATALOG
  const registry = new Registry()
  const { log, lines } = capturedLog()
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(excluded),
    revision,
    scan: { lease: LEASE, catalog: () => catalog },
    registry,
    log,
    pace: { ...QUICK, ...pace },
  })
  t.teardown(() => cluster.stop())
  /** Returns the number of missed pods; undefined if the replica does not count. */
  const found = async (reason = 'unanswered') =>
    sampleOf(await registry.metrics(), 'ridealong_unobserved_pods', { reason })
  const problem = () => cluster.checks().find(({ name }) => name === 'guard')?.problem
  const upgrade = () => {
    catalog = { ...CATALOG, revision: '00000000' }
  }
  return { cluster, lines, found, problem, upgrade }
}

const EVENTS = /^PATCH .*\/events\//
const PODS = /^GET \/api\/v1\/pods\?/

/** Returns the reason, the name of the owner and the count of each Event. */
const listEvents = (standIn: StandIn) =>
  standIn
    .all('events')
    .map(({ reason, involvedObject, count }) => `${reason} ${Object(involvedObject).name} ${count}`)
    .sort()

t.test('missed pods are counted, and each of their owners has one Event', async (t) => {
  const { standIn, access } = await start(t)
  for (let i = 0; i < 250; i += 1) putPod(standIn, `lammps-${i}`, { of: owner('Job', 'lammps') })
  putPod(standIn, 'armed', { annotations: {}, of: owner('ReplicaSet', 'web') })
  putPod(standIn, 'alone')
  putPod(standIn, 'quiet', { annotations: {}, namespace: 'quiet' })
  const message = 'no node is known to have observer:1, the image of perf-sysstat'
  const left = { ...ASKING, [STATUS_KEY]: leftStatus('observer-unavailable', message) }
  putPod(standIn, 'left', { annotations: left, of: owner('Job', 'unheld') })
  const injected = { ...ASKING, [STATUS_KEY]: '{"outcome":"injected","metrics":["perf-sysstat"]}' }
  putPod(standIn, 'stripped', { annotations: injected, of: owner('Job', 'stripped') })
  const { found, lines, problem } = replica(t, access)
  await until('all Events exist', () => standIn.all('events').length === 5)
  t.strictSame(listEvents(standIn), [
    'NotObserved alone 1',
    'NotObserved lammps 250',
    'NotObserved web 1',
    'ObserverAltered stripped 1',
    'ObserverUnavailable unheld 1',
  ])
  t.equal(await found('unanswered'), 252)
  t.equal(await found('altered'), 1)
  t.equal(await found('observer-unavailable'), 1)
  t.equal(problem(), undefined)
  const logged = () =>
    lines.filter((line) => line.includes('requested observers but run without them')).length
  await until('each Event is logged', () => logged() === 5)
  const looks = standIn.count(PODS)
  await until('the replica scans again', () => standIn.count(PODS) >= looks + 6)
  t.equal(standIn.count(EVENTS), 5, 'no Event is written again')
  t.equal(logged(), 5)
  t.equal(standIn.count(/^(PATCH|DELETE|PUT|POST) .*\/pods/), 0, 'no pod is changed')
})

t.test('an Event has the current number of pods, and stays when they are deleted', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'lammps-0', { of: owner('Job', 'lammps') })
  const { found } = replica(t, access)
  await until('the Event exists', () => listEvents(standIn).includes('NotObserved lammps 1'))
  putPod(standIn, 'lammps-1', { of: owner('Job', 'lammps') })
  await until('the Event is updated', () => listEvents(standIn).includes('NotObserved lammps 2'))
  t.equal(standIn.all('events').length, 1)
  standIn.remove('pods', 'lammps-0', 'hpc')
  standIn.remove('pods', 'lammps-1', 'hpc')
  await until('no pod is counted', async () => (await found()) === 0)
  t.equal(standIn.all('events').length, 1, 'the Event stays')
})

t.test('an Event is written again when it may have expired', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  replica(t, access, { eventMs: 50 })
  await until('the Event is written again', () => standIn.count(EVENTS) >= 3)
  t.equal(standIn.all('events').length, 1)
})

t.test('one replica counts pods, and another replica counts after the first stops', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'lammps-0', { of: owner('Job', 'lammps') })
  const replicas = [1, 2, 3].map(() => replica(t, access))
  const counting = async () => {
    const all = await Promise.all(replicas.map(async (one) => ((await one.found()) ? [one] : [])))
    return all.flat()
  }
  await until('one replica counts', async () => (await counting()).length > 0)
  const asked = standIn.count(/^GET .*\/leases\//)
  await until(
    'each replica has read the Lease again',
    () => standIn.count(/^GET .*\/leases\//) > asked + 30,
  )
  const [first, ...others] = await counting()
  t.equal(others.length, 0)
  await first?.cluster.stop()
  await until('another replica counts', async () => {
    const [next] = await counting()
    return next !== undefined && next !== first
  })
  t.equal((await counting()).length, 1)
  t.strictSame(listEvents(standIn), ['NotObserved lammps 1'], 'the Event is unchanged')
})

t.test(
  'another replica takes the Lease of a dead replica after the duration of the Lease',
  async (t) => {
    const { standIn, access } = await start(t)
    putPod(standIn, 'alone')
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 2, leaseTransitions: 4 }
    // The clock of the dead replica is far ahead. The time in the Lease must have no effect.
    const renewTime = '2999-01-01T00:00:00.000000Z'
    const metadata = { name: 'ridealong-scan', namespace: 'ridealong-system' }
    standIn.put('leases', { metadata, spec: { ...spec, renewTime } })
    const begun = performance.now()
    const { found } = replica(t, access)
    await until('the replica counts', async () => (await found()) === 1)
    t.ok(performance.now() - begun >= 2000, 'the replica counts only after the Lease has expired')
    const lease = standIn.get('leases', 'ridealong-scan', 'ridealong-system')
    t.match(lease?.spec, { leaseDurationSeconds: 30, leaseTransitions: 5 })
    t.match(Object(lease?.spec).renewTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  },
)

t.test(
  'a replica that cannot renew its Lease stops counting before the Lease expires',
  async (t) => {
    const { standIn, access } = await start(t)
    putPod(standIn, 'alone')
    const { found, problem } = replica(t, access, { holdMs: 1500 })
    await until('the replica counts', async () => (await found()) === 1)
    standIn.faults.refuse = [/\/leases\//, 500]
    await until('the replica no longer counts', async () => (await found()) === undefined)
    await until('the check names the reason', () => /500/.test(problem() ?? ''))
    standIn.faults.refuse = undefined
    await until('the replica counts again', async () => (await found()) === 1)
  },
)

t.test('failed lists and failed Events are reported and repeated', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  standIn.faults.refuse = [/\/v1\/pods$/, 403]
  const { found, problem, lines, cluster } = replica(t, access)
  await until('the failed list is reported', () => /403/.test(problem() ?? ''))
  t.equal(await found(), undefined, 'an unknown number is not zero')
  t.ok(
    cluster.checks().every(({ fatal }) => !fatal),
    'the replica stays ready',
  )
  standIn.faults.refuse = [EVENTS, 403]
  await until('the replica counts', async () => (await found()) === 1)
  await until('the failed Event is reported', () => /403/.test(problem() ?? ''))
  await until('the failure is logged', () => lines.some((line) => line.includes('is incomplete')))
  standIn.faults.refuse = undefined
  await until('the Event exists', () => standIn.all('events').length === 1)
  await until('no problem is reported', () => problem() === undefined)
})

t.test('a replica that cannot read the Lease does not scan, and logs the error once', async (t) => {
  const { standIn, access } = await start(t)
  standIn.remove('leases', 'ridealong-scan', 'ridealong-system')
  const { found, problem, lines } = replica(t, access)
  const asked = () => standIn.count(/^GET .*\/leases\//)
  await until('the Lease was read several times', () => asked() > 3)
  t.match(problem(), /404: ridealong-scan not found/)
  t.equal(lines.filter((line) => line.includes('ridealong-scan not found')).length, 1)
  t.equal(await found(), undefined)
  t.equal(standIn.count(PODS), 0)
})

t.test('the scan skips namespaces that the administrator excludes', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  putPod(standIn, 'other', { namespace: 'lab' })
  const { found } = replica(t, access, {}, ['hpc'])
  await until('the replica counts', async () => (await found()) !== undefined)
  t.equal(await found(), 1)
  await until('the Event exists', () => listEvents(standIn).includes('NotObserved other 1'))
})

t.test('scans take at most a twentieth of the time, however long a scan takes', async (t) => {
  const { standIn, access } = await start(t)
  // Three pages, of which the last is half full.
  const count = 2.5 * Number(PAGE)
  for (let i = 0; i < count; i += 1) putPod(standIn, `lammps-${i}`, { of: owner('Job', 'lammps') })
  standIn.faults.delay = [/^GET \/api\/v1\/pods$/, 10]
  replica(t, access)
  await until('the replica has scanned three times', () => standIn.count(PODS) >= 9)
  const times = standIn.calledAt.filter((_, place) => PODS.test(standIn.calls[place] ?? ''))
  for (const first of [0, 3]) {
    const [begin = 0, , end = 0, next = 0] = times.slice(first)
    t.ok(next - end >= 19 * (end - begin), `${next - end} ms after ${end - begin} ms`)
  }
})

t.test('a stopped replica releases its Lease, and sends no more requests', async (t) => {
  const { standIn, access } = await start(t)
  const { cluster, found } = replica(t, access)
  await until('the replica counts', async () => (await found()) === 0)
  await cluster.stop()
  const lease = () => Object(standIn.get('leases', 'ridealong-scan', 'ridealong-system')?.spec)
  await until('the Lease is released', () => lease().holderIdentity === '')
  t.equal(lease().leaseDurationSeconds, 1)
  const { length } = standIn.calls
  await sleep(300)
  t.equal(standIn.calls.length, length)
})

t.test('an Event contains no text of a forged status annotation or a forged owner', async (t) => {
  const { standIn, access } = await start(t)
  const text = '\u001b]0;PWNED\u0007 call 555-0100'
  const left = { ...ASKING, [STATUS_KEY]: leftStatus('observer-unavailable', text) }
  const injected = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat', text] })
  putPod(standIn, 'left', { annotations: left, of: { ...owner('Job', 'a'), name: text } })
  const altered = { ...ASKING, [STATUS_KEY]: injected }
  putPod(standIn, 'altered', { annotations: altered, of: { ...owner('Job', 'b'), kind: text } })
  putPod(standIn, 'asking', { of: { ...owner('Job', 'c'), uid: text } })
  const { lines } = replica(t, access)
  await until('all Events exist', () => standIn.all('events').length === 3)
  t.strictSame(listEvents(standIn), [
    'NotObserved asking 1',
    'ObserverAltered altered 1',
    'ObserverUnavailable left 1',
  ])
  t.notMatch(JSON.stringify(standIn.all('events')), /PWNED|call 555-0100/)
  t.notMatch(lines.join(''), /PWNED|call 555-0100/)
})

t.test('an observer is compared only with the catalog from which it was injected', async (t) => {
  const { standIn, access } = await start(t)
  const { metadata, spec } = ride(askingPod()).pod
  const { annotations = {} } = metadata
  const [observer] = spec.initContainers ?? []
  const other = { ...spec, initContainers: [{ ...observer, image: 'registry.example/miner:1' }] }
  putPod(standIn, 'whole', { annotations, spec })
  putPod(standIn, 'other', { annotations, spec: other, of: owner('Job', 'other') })
  const { found, upgrade } = replica(t, access)
  await until('one pod is counted', async () => (await found('altered')) === 1)
  await until('the owner has an Event', () => standIn.all('events').length === 1)
  t.strictSame(listEvents(standIn), ['ObserverAltered other 1'])
  t.notMatch(JSON.stringify(standIn.all('events')), /miner/)
  upgrade()
  await until(
    'pods from before the upgrade are not counted',
    async () => (await found('altered')) === 0,
  )
})

t.test('a namespace with many owners does not delay the Events of other namespaces', async (t) => {
  const { standIn, access } = await start(t)
  for (let i = 0; i < 300; i += 1) putPod(standIn, `a-${i}`, { of: owner('Job', `j-${i}`) })
  putPod(standIn, 'other', { namespace: 'lab' })
  replica(t, access, { eventsPerNamespace: 20, scanMs: 3_600_000, eventsPerSecond: 100 })
  const crowd = () => standIn.all('events').filter(({ metadata }) => metadata.namespace === 'hpc')
  await until('the namespace has its maximum of Events', () => crowd().length === 20)
  await sleep(300)
  t.equal(crowd().length, 20)
  const written = standIn.calls.filter((one) => EVENTS.test(one))
  t.match(written[1], /\/namespaces\/lab\//, 'the second Event is for the other namespace')
})

t.test('Events above the limit of a namespace are written in the next scans', async (t) => {
  const { standIn, access } = await start(t)
  for (let i = 0; i < 25; i += 1) putPod(standIn, `a-${i}`, { of: owner('Job', `j-${i}`) })
  replica(t, access, { eventsPerNamespace: 10 })
  await until('all Events exist', () => standIn.all('events').length === 25)
  t.equal(standIn.count(EVENTS), 25, 'each Event is written once')
})

/** Adds a namespace that requests observers and has a revision, with a pod without observers. */
function putRevision(standIn: StandIn, revision: string): void {
  const hpc = standIn.get('namespaces', 'hpc')?.metadata
  const labels = { ...hpc?.labels, 'ridealong.dev/revision': revision }
  standIn.put('namespaces', { metadata: { ...hpc, name: revision, labels } })
  putPod(standIn, 'lammps', { annotations: {}, namespace: revision, of: owner('Job', revision) })
}

/** Adds the MutatingWebhookConfiguration of a release with a revision. */
function putRelease(standIn: StandIn, revision: string): void {
  const labels = { 'ridealong.dev/revision': revision }
  standIn.put('mutatingwebhookconfigurations', { metadata: { name: revision, labels } })
}

t.test('each release reports only the pods of its own namespaces', async (t) => {
  const { standIn, access } = await start(t)
  for (const revision of ['canary', 'blue']) putRevision(standIn, revision)
  putRelease(standIn, 'canary')
  putRelease(standIn, 'blue')
  putPod(standIn, 'lammps', { annotations: {}, of: owner('Job', 'default') })
  const first = replica(t, access)
  await until('the default release has scanned', async () => (await first.found()) === 1)
  t.equal(await first.found('revision-absent'), 0)
  await until('there is an Event', () => listEvents(standIn).length === 1)
  t.strictSame(listEvents(standIn), ['NotObserved default 1'])
  await first.cluster.stop()
  const canary = replica(t, access, {}, [], 'canary')
  await until('the release canary has scanned', async () => (await canary.found()) === 1)
  await until('there is another Event', () => listEvents(standIn).length === 2)
  t.strictSame(listEvents(standIn), ['NotObserved canary 1', 'NotObserved default 1'])
  t.equal(standIn.count(/mutatingwebhookconfigurations/) > 0, true)
})

t.test('the default release reports pods with a revision that no release has', async (t) => {
  const { standIn, access } = await start(t)
  for (const revision of ['canary', 'typo']) putRevision(standIn, revision)
  putRelease(standIn, 'canary')
  const { found } = replica(t, access)
  await until('the pod is counted', async () => (await found('revision-absent')) === 1)
  t.equal(await found(), 0)
  await until('there is an Event', () => listEvents(standIn).length === 1)
  t.strictSame(listEvents(standIn), ['RevisionAbsent typo 1'])
  const [event] = standIn.all('events')
  t.match(event?.message, /no release has the revision that the label ridealong.dev\/revision/)
})

t.test('without revisions, the scan lists no webhook configurations', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  const { found } = replica(t, access)
  await until('the pod is counted', async () => (await found()) === 1)
  t.equal(standIn.count(/mutatingwebhookconfigurations/), 0)
})
