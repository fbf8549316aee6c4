import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import type { Access } from '../../../../src/cluster/cluster.ts'
import { KEYS, STATUS_KEY } from '../../../../src/core/keys.ts'
import { leftStatus } from '../../../../src/core/status.ts'
import { INTERVALS, type Intervals } from '../../../../webhook/cluster/backoff.ts'
import { watchCluster } from '../../../../webhook/cluster/cluster.ts'
import { capturedLog, sampleOf } from '../../../server.ts'
import { askingPod, CATALOG, ride } from '../../../src/core/build.ts'
import { type StandIn, startStandIn } from '../../../stand-ins/apiserver.ts'
import { until } from '../../../until.ts'

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

/** An apiserver with a Lease that no replica holds, and a namespace with the annotation. */
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

/** Starts a replica that looks for missed pods. */
function replica(t: Test, access: Access, pace: Partial<Intervals> = {}, excluded: string[] = []) {
  let catalog = CATALOG
  const registry = new Registry()
  const { log, lines } = capturedLog()
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(excluded),
    scan: { lease: LEASE, catalog: () => catalog },
    registry,
    log,
    pace: { ...QUICK, ...pace },
  })
  t.teardown(() => cluster.stop())
  /** Returns its counts; undefined if it does not count. */
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

/** Returns the reason, the owner and the count of each Event. */
const told = (standIn: StandIn) =>
  standIn
    .all('events')
    .map(({ reason, involvedObject, count }) => `${reason} ${Object(involvedObject).name} ${count}`)
    .sort()

t.test('pods that were missed are counted, and their owners have one Event each', async (t) => {
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
  await until('all is told', () => standIn.all('events').length === 5)
  t.strictSame(told(standIn), [
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
  await until('each is logged', () => logged() === 5)
  const looks = standIn.count(PODS)
  await until('it looks again', () => standIn.count(PODS) >= looks + 6)
  t.equal(standIn.count(EVENTS), 5, 'what is told is not told again')
  t.equal(logged(), 5)
  t.equal(standIn.count(/^(PATCH|DELETE|PUT|POST) .*\/pods/), 0, 'no pod is touched')
})

t.test('an Event follows the number of pods, and is left to end with them', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'lammps-0', { of: owner('Job', 'lammps') })
  const { found } = replica(t, access)
  await until('it is told', () => told(standIn).includes('NotObserved lammps 1'))
  putPod(standIn, 'lammps-1', { of: owner('Job', 'lammps') })
  await until('it is told anew', () => told(standIn).includes('NotObserved lammps 2'))
  t.equal(standIn.all('events').length, 1)
  standIn.remove('pods', 'lammps-0', 'hpc')
  standIn.remove('pods', 'lammps-1', 'hpc')
  await until('none is counted', async () => (await found()) === 0)
  t.equal(standIn.all('events').length, 1, 'what happened has happened')
})

t.test('an Event that an apiserver may have forgotten is written again', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  replica(t, access, { eventMs: 50 })
  await until('it is written again', () => standIn.count(EVENTS) >= 3)
  t.equal(standIn.all('events').length, 1)
})

t.test('of several replicas one counts, and the next when that one stops', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'lammps-0', { of: owner('Job', 'lammps') })
  const replicas = [1, 2, 3].map(() => replica(t, access))
  const counting = async () => {
    const all = await Promise.all(replicas.map(async (one) => ((await one.found()) ? [one] : [])))
    return all.flat()
  }
  await until('one counts', async () => (await counting()).length > 0)
  const asked = standIn.count(/^GET .*\/leases\//)
  await until('each asked for it again', () => standIn.count(/^GET .*\/leases\//) > asked + 30)
  const [first, ...others] = await counting()
  t.equal(others.length, 0)
  await first?.cluster.stop()
  await until('another counts', async () => {
    const [next] = await counting()
    return next !== undefined && next !== first
  })
  t.equal((await counting()).length, 1)
  t.strictSame(told(standIn), ['NotObserved lammps 1'], 'the Event is the same')
})

t.test('a replica that dies is followed when its Lease was not renewed for long', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  const spec = { holderIdentity: 'dead', leaseDurationSeconds: 2, leaseTransitions: 4 }
  // Its clock was far ahead of ours, which must not matter.
  const renewTime = '2999-01-01T00:00:00.000000Z'
  const metadata = { name: 'ridealong-scan', namespace: 'ridealong-system' }
  standIn.put('leases', { metadata, spec: { ...spec, renewTime } })
  const begun = performance.now()
  const { found } = replica(t, access)
  await until('it is taken', async () => (await found()) === 1)
  t.ok(performance.now() - begun >= 2000, 'not before it was seen unchanged for its duration')
  const lease = standIn.get('leases', 'ridealong-scan', 'ridealong-system')
  t.match(lease?.spec, { leaseDurationSeconds: 30, leaseTransitions: 5 })
  t.match(Object(lease?.spec).renewTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

t.test('a replica that cannot renew its Lease counts no more before another may', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  const { found, problem } = replica(t, access, { holdMs: 1500 })
  await until('it counts', async () => (await found()) === 1)
  standIn.faults.refuse = [/\/leases\//, 500]
  await until('it counts no more', async () => (await found()) === undefined)
  await until('it says why', () => /500/.test(problem() ?? ''))
  standIn.faults.refuse = undefined
  await until('it counts again', async () => (await found()) === 1)
})

t.test('what cannot be listed, or told, is said and tried again', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  standIn.faults.refuse = [/\/v1\/pods$/, 403]
  const { found, problem, lines, cluster } = replica(t, access)
  await until('it says so', () => /403/.test(problem() ?? ''))
  t.equal(await found(), undefined, 'nobody knows is not none')
  t.ok(
    cluster.checks().every(({ fatal }) => !fatal),
    'and it serves all the same',
  )
  standIn.faults.refuse = [EVENTS, 403]
  await until('it counts', async () => (await found()) === 1)
  await until('it says so', () => /403/.test(problem() ?? ''))
  await until('it is logged', () => lines.some((line) => line.includes('is incomplete')))
  standIn.faults.refuse = undefined
  await until('it is told', () => standIn.all('events').length === 1)
  await until('all is well', () => problem() === undefined)
})

t.test('without the Lease nobody looks, and it is said once', async (t) => {
  const { standIn, access } = await start(t)
  standIn.remove('leases', 'ridealong-scan', 'ridealong-system')
  const { found, problem, lines } = replica(t, access)
  const asked = () => standIn.count(/^GET .*\/leases\//)
  await until('it has asked for it several times', () => asked() > 3)
  t.match(problem(), /404: ridealong-scan not found/)
  t.equal(lines.filter((line) => line.includes('ridealong-scan not found')).length, 1)
  t.equal(await found(), undefined)
  t.equal(standIn.count(PODS), 0)
})

t.test('namespaces that the administrator excludes are nobody to look for', async (t) => {
  const { standIn, access } = await start(t)
  putPod(standIn, 'alone')
  putPod(standIn, 'other', { namespace: 'lab' })
  const { found } = replica(t, access, {}, ['hpc'])
  await until('it counts', async () => (await found()) !== undefined)
  t.equal(await found(), 1)
  await until('it is told', () => told(standIn).includes('NotObserved other 1'))
})

t.test('one that stops gives its Lease up, and asks no more', async (t) => {
  const { standIn, access } = await start(t)
  const { cluster, found } = replica(t, access)
  await until('it counts', async () => (await found()) === 0)
  await cluster.stop()
  const lease = () => Object(standIn.get('leases', 'ridealong-scan', 'ridealong-system')?.spec)
  await until('the Lease is given up', () => lease().holderIdentity === '')
  t.equal(lease().leaseDurationSeconds, 1)
  const { length } = standIn.calls
  await sleep(300)
  t.equal(standIn.calls.length, length)
})

t.test('a forged status and a forged owner say nothing in an Event', async (t) => {
  const { standIn, access } = await start(t)
  const text = '\u001b]0;PWNED\u0007 call 555-0100'
  const left = { ...ASKING, [STATUS_KEY]: leftStatus('observer-unavailable', text) }
  const injected = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat', text] })
  putPod(standIn, 'left', { annotations: left, of: { ...owner('Job', 'a'), name: text } })
  const altered = { ...ASKING, [STATUS_KEY]: injected }
  putPod(standIn, 'altered', { annotations: altered, of: { ...owner('Job', 'b'), kind: text } })
  putPod(standIn, 'asking', { of: { ...owner('Job', 'c'), uid: text } })
  const { lines } = replica(t, access)
  await until('all is told', () => standIn.all('events').length === 3)
  t.strictSame(told(standIn), [
    'NotObserved asking 1',
    'ObserverAltered altered 1',
    'ObserverUnavailable left 1',
  ])
  t.notMatch(JSON.stringify(standIn.all('events')), /PWNED|555/)
  t.notMatch(lines.join(''), /PWNED|555/)
})

t.test('an observer is compared with the catalog that is served now', async (t) => {
  const { standIn, access } = await start(t)
  const { metadata, spec } = ride(askingPod()).pod
  const { annotations = {} } = metadata
  const [observer] = spec.initContainers ?? []
  const other = { ...spec, initContainers: [{ ...observer, image: 'registry.example/miner:1' }] }
  putPod(standIn, 'whole', { annotations, spec })
  putPod(standIn, 'other', { annotations, spec: other, of: owner('Job', 'other') })
  const { found, upgrade } = replica(t, access)
  await until('it is told', async () => (await found('altered')) === 1)
  await until('its owner has an Event', () => standIn.all('events').length === 1)
  t.strictSame(told(standIn), ['ObserverAltered other 1'])
  t.notMatch(JSON.stringify(standIn.all('events')), /miner/)
  upgrade()
  await until('pods from before an upgrade are left', async () => (await found('altered')) === 0)
})

t.test('a namespace with very many owners keeps no other from its Events', async (t) => {
  const { standIn, access } = await start(t)
  for (let i = 0; i < 300; i += 1) putPod(standIn, `a-${i}`, { of: owner('Job', `j-${i}`) })
  putPod(standIn, 'other', { namespace: 'lab' })
  replica(t, access, { eventsPerNamespace: 20, scanMs: 3_600_000, eventsPerSecond: 100 })
  const crowd = () => standIn.all('events').filter(({ metadata }) => metadata.namespace === 'hpc')
  await until('all that may be is told', () => crowd().length === 20)
  await sleep(300)
  t.equal(crowd().length, 20)
  const written = standIn.calls.filter((one) => EVENTS.test(one))
  t.match(written[1], /\/namespaces\/lab\//, 'it was the second to be told')
})

t.test('what is over the bound of a namespace is told in the next looks', async (t) => {
  const { standIn, access } = await start(t)
  for (let i = 0; i < 25; i += 1) putPod(standIn, `a-${i}`, { of: owner('Job', `j-${i}`) })
  replica(t, access, { eventsPerNamespace: 10 })
  await until('all is told', () => standIn.all('events').length === 25)
  t.equal(standIn.count(EVENTS), 25, 'each once')
})
