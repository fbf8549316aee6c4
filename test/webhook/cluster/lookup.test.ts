import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { watchCluster } from '../../../webhook/cluster/cluster.ts'
import { INTERVALS, type Intervals } from '../../../webhook/cluster/intervals.ts'
import { NotKnownYet } from '../../../webhook/namespaces.ts'
import { startStandIn } from '../../stand-ins/apiserver.ts'
import { until } from '../../until.ts'
import { capturedLog } from '../server.ts'

/**
 * With these values, no look-up times out, no pause between look-ups ends, and the budget of
 * look-ups is not refilled during a test. A test can set other values.
 */
const STILL: Partial<Intervals> = {
  lookupMs: 100_000,
  lookupRestMs: 60_000,
  absentMs: 60_000,
  lookupsPerSecond: 1e-9,
}

/** Watches a simulated apiserver, which has the namespace `known` without annotations. */
async function watch(t: Test, pace: Partial<Intervals>) {
  const { standIn, access } = await startStandIn(t)
  standIn.put('namespaces', { metadata: { name: 'known' } })
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(),
    registry: new Registry(),
    log: capturedLog().log,
    pace: { ...INTERVALS, ...STILL, ...pace },
  })
  t.teardown(() => cluster.stop())
  await until('all resources are listed', () => cluster.checks().every(({ problem }) => !problem))
  await until('all resources are watched', () => standIn.watches === 3)
  const find = async (name: string, mustAsk = false) => cluster.find(name, mustAsk)
  return { standIn, find }
}

const CALLS = /^GET \/api\/v1\/namespaces\/[^/]+/
const INVENTED = Array.from({ length: 300 }, (_, place) => `invented-${place}`)

/** Looks up namespaces in parallel, and returns the numbers of answers and refusals. */
async function findAll(find: (name: string) => Promise<unknown>, names: readonly string[]) {
  const ends = await Promise.allSettled(names.map((name) => find(name)))
  const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  const refused = failures.filter((failure) => failure instanceof NotKnownYet)
  return { answered: ends.length - failures.length, refused: refused.length }
}

t.test('the number of parallel lookups of unknown namespaces is limited', async (t) => {
  const { standIn, find } = await watch(t, { lookupsAtOnce: 8, lookupBurst: 1000 })
  t.same(await findAll(find, INVENTED), { answered: 8, refused: 292 })
  t.equal(standIn.count(CALLS), 24, 'three calls for each namespace')
  const again = INVENTED.map((name) => `${name}-too`)
  t.same(await findAll(find, again), { answered: 8, refused: 292 }, 'later lookups are possible')
})

t.test('a burst of successive lookups of unknown namespaces is limited', async (t) => {
  const { standIn, find } = await watch(t, { lookupBurst: 20 })
  let refused = 0
  for (const name of INVENTED) refused += (await findAll(find, [name])).refused
  t.equal(refused, 280)
  t.equal(standIn.count(CALLS), 60)
})

t.test('the budget of lookups is refilled over time', async (t) => {
  const { find } = await watch(t, { lookupBurst: 1, lookupsPerSecond: 1 })
  t.same(await findAll(find, ['a', 'b']), { answered: 1, refused: 1 })
  await until('the budget is refilled', async () => (await findAll(find, ['b'])).answered === 1)
})

t.test('lookups of invented namespaces do not limit lookups of cached namespaces', async (t) => {
  const { standIn, find } = await watch(t, { lookupBurst: 1 })
  await findAll(find, INVENTED)
  await t.resolves(find('known'))
  t.equal(standIn.count(/namespaces\/known$/), 0)
  await t.resolves(find('known', true), 'the lookup of a cached namespace is not limited')
  t.equal(standIn.count(/namespaces\/known$/), 1)
})

t.test('lookups reuse connections', async (t) => {
  const { standIn, find } = await watch(t, { lookupBurst: 1000 })
  const before = standIn.connections
  for (const name of INVENTED.slice(0, 50)) await find(name)
  t.equal(standIn.count(CALLS), 150)
  t.ok(standIn.connections - before <= 6, `${standIn.connections - before} connections`)
})

t.test('a namespace that does not exist is not looked up again until it is created', async (t) => {
  const { standIn, find } = await watch(t, { lookupRestMs: 1 })
  for (let i = 0; i < 5; i += 1) {
    await find('new')
    await sleep(10)
  }
  t.equal(standIn.count(/namespaces\/new$/), 1)
  await t.rejects(find('new', true), { code: 'NOT_KNOWN_YET' })
  const annotations = { 'ridealong.dev/inject': 'perf-sysstat' }
  // The event of the namespace's creation has arrived, but not the event of its annotation.
  standIn.put('namespaces', { metadata: { name: 'new' } })
  standIn.put('namespaces', { metadata: { name: 'new', annotations } }, true)
  await until('the namespace is looked up again', async () => {
    const found = await find('new', true).catch(() => undefined)
    return found?.annotations.get('ridealong.dev/inject') === 'perf-sysstat'
  })
  t.equal(standIn.count(/namespaces\/new$/), 2)
})

t.test('the pause after a failed lookup does not end the pause after the next one', async (t) => {
  const absentMs = 100
  const { standIn, find } = await watch(t, { absentMs })
  await t.rejects(find('new', true), { code: 'NOT_KNOWN_YET' })
  standIn.put('namespaces', { metadata: { name: 'new' } })
  await until('the created namespace is looked up', () => {
    return find('new', true).then(
      () => true,
      () => false,
    )
  })
  const calls = standIn.count(/namespaces\/new$/)
  await sleep(2 * absentMs)
  await find('new', true)
  t.equal(standIn.count(/namespaces\/new$/), calls)
})

t.test('a namespace that does not exist is looked up again after some time', async (t) => {
  const { standIn, find } = await watch(t, { absentMs: 1 })
  await until('the namespace is looked up again', async () => {
    await find('new').catch(() => {})
    return standIn.count(/namespaces\/new$/) > 1
  })
})
