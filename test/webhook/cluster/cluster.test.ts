import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { connectApiserver } from '../../../src/cluster/apiserver.ts'
import { PAGE } from '../../../src/cluster/reflect/list.ts'
import { KEYS } from '../../../src/core/keys.ts'
import { followVersion, watchCluster } from '../../../webhook/cluster/cluster.ts'
import { INTERVALS, type Intervals } from '../../../webhook/cluster/intervals.ts'
import { type StandIn, startStandIn } from '../../stand-ins/apiserver.ts'
import { until } from '../../until.ts'
import { capturedLog, sampleOf } from '../server.ts'

/** Intervals that are short if tests wait for them, and otherwise too long to end in a test. */
const QUICK: Intervals = {
  ...INTERVALS,
  pauseMs: 10,
  longestPauseMs: 50,
  lookupMs: 100_000,
  lookupRestMs: 60_000,
  repairSoonMs: 10,
  repairsPerSecond: 1000,
}

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
const ARMED = { 'ridealong.dev/armed': 'true' }

type Strings = Readonly<Record<string, string>>

function namespace(name: string, annotations: Strings = {}, labels: Strings = {}) {
  return { metadata: { name, annotations, labels } }
}

/** Adds the namespace hpc without annotations, so that the first list contains hpc. */
const plain: Options['prepare'] = (standIn) => standIn.put('namespaces', namespace('hpc'))

interface Options {
  readonly pace?: Partial<Intervals>
  readonly excluded?: readonly string[]
  readonly revision?: string
  /** The objects and faults that exist before the watch starts. */
  prepare?(standIn: Awaited<ReturnType<typeof startStandIn>>['standIn']): void
}

/** Watches a simulated apiserver. If `isReady` is false, does not wait for the first lists. */
async function watch(t: Test, options: Options = {}, isReady = true) {
  const { pace = {}, excluded = [], revision, prepare } = options
  const { standIn, access, stop, restart } = await startStandIn(t)
  prepare?.(standIn)
  const registry = new Registry()
  const { log, lines } = capturedLog()
  const cluster = watchCluster({
    access,
    excludedNamespaces: new Set(excluded),
    revision,
    registry,
    log,
    pace: { ...QUICK, ...pace },
  })
  t.teardown(() => cluster.stop())
  if (isReady) {
    await until('all resources are listed', () => cluster.checks().every(({ fatal }) => !fatal))
    await until('all resources are watched', () => standIn.watches === 3)
  }
  const metric = async (name: string, labels: Strings = {}) => {
    return sampleOf(await registry.metrics(), `ridealong_namespace_${name}`, labels) ?? Number.NaN
  }
  /** Returns the inject annotation of a cached namespace; `asked` if a lookup is necessary. */
  const injected = (name: string) => {
    const found = cluster.find(name, false)
    return found instanceof Promise ? 'asked' : found.annotations.get(KEYS.inject)
  }
  return { cluster, standIn, stop, restart, lines, metric, injected }
}

const LISTS = /^GET \/api\/v1\/namespaces\?limit/
const LOOKS = /^GET \/api\/v1\/namespaces\/[^/]+$/
const PATCHES = /^PATCH /

t.test('changes of namespaces arrive through the watch, without lookups', async (t) => {
  const { standIn, injected } = await watch(t, {
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', ASKING)),
  })
  t.equal(injected('hpc'), 'perf-sysstat')
  standIn.put('namespaces', namespace('hpc', { [KEYS.inject]: 'io-sysstat' }))
  await until('the change is known', () => injected('hpc') === 'io-sysstat')
  standIn.put('namespaces', namespace('hpc'))
  await until('the removal is known', () => injected('hpc') === undefined)
  t.equal(standIn.count(LOOKS), 0)
})

t.test('the version of the apiserver is read', async (t) => {
  const { cluster } = await watch(t)
  await until('the version is known', () => cluster.apiserverVersion?.() === 36)
})

t.test('a deleted namespace is removed from the cache', async (t) => {
  const { standIn, cluster } = await watch(t, {
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', ASKING)),
  })
  standIn.remove('namespaces', 'hpc')
  await until('the namespace is looked up', () => cluster.find('hpc', false) instanceof Promise)
})

t.test('all pages of a list are read', async (t) => {
  const page = Number(PAGE)
  const last = 2 * page
  const { standIn, injected } = await watch(t, {
    prepare(standIn) {
      for (let i = 0; i <= last; i += 1) standIn.put('namespaces', namespace(`n-${i}`, ASKING))
    },
  })
  for (const place of [0, page, last])
    t.equal(injected(`n-${place}`), 'perf-sysstat', `n-${place} is cached`)
  t.equal(standIn.count(LISTS), 3)
})

t.test('a change of a LimitRange or a ResourceQuota replaces the cached namespace', async (t) => {
  const { standIn, cluster } = await watch(t, {
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', ASKING)),
  })
  for (const resource of ['limitranges', 'resourcequotas']) {
    const before = cluster.find('hpc', false)
    t.equal(cluster.find('hpc', false), before, 'without a change, the object is the same')
    standIn.put(resource, { metadata: { name: 'rule', namespace: 'hpc' }, spec: {} })
    await until('the cached namespace is replaced', () => cluster.find('hpc', false) !== before)
    const other = cluster.find('hpc', false)
    standIn.remove(resource, 'rule', 'hpc')
    await until('the rule is removed', () => cluster.find('hpc', false) !== other)
  }
})

t.test('parallel lookups of an unknown namespace share their calls', async (t) => {
  const { standIn, cluster, metric } = await watch(t)
  standIn.faults.mute = true
  standIn.put('namespaces', namespace('new', ASKING))
  const found = [1, 2, 3, 4, 5].map((place) => cluster.find('new', place % 2 === 0))
  for (const each of found) {
    t.equal((await each).annotations.get(KEYS.inject), 'perf-sysstat')
  }
  t.equal(standIn.count(/^GET \/api\/v1\/namespaces\/new$/), 1)
  t.equal(standIn.count(/^GET \/api\/v1\/namespaces\/new\/limitranges$/), 1)
  t.equal(standIn.count(/^GET \/api\/v1\/namespaces\/new\/resourcequotas$/), 1)
  t.notOk(cluster.find('new', true) instanceof Promise, 'the answer is cached')
  t.equal(await metric('lookups_total', { outcome: 'answered' }), 1)
})

t.test(
  'an armed namespace is looked up again if its cached object does not have the annotation',
  async (t) => {
    const { standIn, cluster, injected } = await watch(t, {
      prepare: (standIn) => standIn.put('namespaces', namespace('hpc')),
    })
    standIn.faults.mute = true
    standIn.put('namespaces', namespace('hpc', ASKING))
    t.equal(injected('hpc'), undefined, 'no lookup for a pod with its own annotation')
    const found = await cluster.find('hpc', true)
    t.equal(found.annotations.get(KEYS.inject), 'perf-sysstat')
    t.equal(injected('hpc'), 'perf-sysstat')
  },
)

t.test('a lookup is not repeated until lookupRestMs has passed', async (t) => {
  const { standIn, cluster } = await watch(t, {
    pace: { lookupRestMs: 100 },
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc')),
  })
  await cluster.find('hpc', true)
  t.notOk(cluster.find('hpc', true) instanceof Promise)
  t.equal(standIn.count(LOOKS), 1)
  await until('the namespace is looked up again', async () => {
    const found = cluster.find('hpc', true)
    await found
    return found instanceof Promise
  })
})

t.test('a lookup without an answer ends after its timeout', async (t) => {
  const { standIn, cluster, metric, lines } = await watch(t, {
    pace: { lookupMs: 100 },
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', ASKING)),
  })
  standIn.faults.hang = /^GET .*\/namespaces\/./
  const found = await cluster.find('new', false)
  t.equal(found.name, 'new')
  t.equal(found.annotations.size, 0)
  t.equal(await metric('lookups_total', { outcome: 'failed' }), 1)
  t.ok(lines.some((line) => line.includes('no answer within 100 ms')))
})

t.test('a pod of an armed namespace gets no decision if the annotation is unknown', async (t) => {
  const { standIn, cluster, injected } = await watch(t, {
    pace: { lookupMs: 100 },
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc')),
  })
  standIn.faults.hang = /^GET .*\/namespaces\/./
  const find = async (name: string) => cluster.find(name, true)
  await t.rejects(find('new'), { code: 'NOT_KNOWN_YET' })
  await t.rejects(find('new'), { code: 'NOT_KNOWN_YET' }, 'before lookupRestMs has passed')
  await t.rejects(
    find('hpc'),
    { code: 'NOT_KNOWN_YET' },
    'the namespace may have been annotated a moment ago',
  )
  standIn.put('namespaces', namespace('new', ASKING))
  await until('the namespace is known', () => injected('new') === 'perf-sysstat')
  t.equal((await find('new')).annotations.get(KEYS.inject), 'perf-sysstat')
})

// The rules of a namespace are its LimitRanges and ResourceQuotas.
t.test('a namespace without annotations is found even if its rules cannot be read', async (t) => {
  const { standIn, cluster } = await watch(t, {
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc')),
  })
  standIn.faults.refuse = [/limitranges$/, 403]
  t.equal((await cluster.find('hpc', true)).annotations.size, 0)
})

t.test('a lookup returns the namespace even if its rules cannot be read', async (t) => {
  const { standIn, cluster } = await watch(t, { pace: { lookupMs: 5000 } })
  standIn.faults.mute = true
  standIn.faults.hang = /limitranges$/
  standIn.put('namespaces', namespace('new', ASKING))
  t.equal((await cluster.find('new', true)).annotations.get(KEYS.inject), 'perf-sysstat')
  standIn.faults.hang = undefined
  standIn.faults.refuse = [/limitranges$/, 403]
  standIn.put('namespaces', namespace('newer', ASKING))
  t.equal((await cluster.find('newer', true)).annotations.get(KEYS.inject), 'perf-sysstat')
})

t.test('an invalid namespace name is never part of a request path', async (t) => {
  const { standIn, cluster } = await watch(t)
  const { length } = standIn.calls
  for (const name of ['', '.', '..', 'a/b', 'a?b', 'A', '-a', 'a-', 'a'.repeat(64), '%2e%2e']) {
    const found = cluster.find(name, true)
    t.notOk(found instanceof Promise, `"${name}" is not looked up`)
  }
  t.equal(standIn.calls.length, length)
})

t.test('before the first lists, the cache is not ready and namespaces are looked up', async (t) => {
  const { standIn, cluster, injected, lines } = await watch(
    t,
    {
      prepare(standIn) {
        standIn.faults.refuse = [/\/v1\/limitranges$/, 403]
        standIn.put('namespaces', namespace('hpc', ASKING))
      },
    },
    false,
  )
  const [namespaces, limitRanges] = [0, 1].map((place) => () => cluster.checks()[place])
  await until('namespaces are listed', () => namespaces?.()?.fatal === false)
  await until('the problem is reported', () => /403/.test(limitRanges?.()?.problem ?? ''))
  t.equal(limitRanges?.()?.fatal, true)
  t.equal(injected('hpc'), 'asked', 'a LimitRange of hpc may be unknown')
  const isWarning = (line: string) => /"level":40.*"resource":"limitranges".*403/.test(line)
  await until('the second refusal is logged as a warning', () => lines.some(isWarning))
  standIn.faults.refuse = undefined
  await until('the cache is ready', () =>
    cluster.checks().every(({ problem }) => problem === undefined),
  )
  t.equal(injected('hpc'), 'perf-sysstat')
})

t.test('a broken watch continues at its last position', async (t) => {
  const { standIn, injected } = await watch(t, { prepare: plain })
  const lists = standIn.count(LISTS)
  for (const inject of ['one', 'two']) {
    standIn.cut()
    standIn.put('namespaces', namespace('hpc', { [KEYS.inject]: inject }))
    await until('the change is known', () => injected('hpc') === inject)
    await until('all resources are watched', () => standIn.watches === 3)
  }
  t.equal(standIn.count(LISTS), lists)
})

t.test('an event whose line was cut off is received again', async (t) => {
  const { standIn, injected } = await watch(t, { prepare: plain })
  standIn.say('namespaces', '{"type":"MODIFIED","object":{"metadata":{"name":"hpc"')
  standIn.cut()
  standIn.put('namespaces', namespace('hpc', ASKING))
  await until('the annotation is known', () => injected('hpc') === 'perf-sysstat')
})

t.test('a watch position that is too old causes a new list', async (t) => {
  const { standIn, injected } = await watch(t, { prepare: plain })
  const lists = standIn.count(LISTS)
  standIn.put('namespaces', namespace('hpc', ASKING), true)
  standIn.faults.compacted = standIn.version
  standIn.cut()
  await until('the annotation is known', () => injected('hpc') === 'perf-sysstat')
  t.ok(standIn.count(LISTS) > lists)
})

t.test('invalid lines of a watch cause a new list, and are logged', async (t) => {
  const garbage = ['garbage\n', '[]\n', '{"type":"ADDED","object":{}}\n', '{"type":"NEWS"}\n']
  for (const [place, line] of garbage.entries()) {
    const { standIn, injected, lines } = await watch(t, { prepare: plain })
    standIn.put('namespaces', namespace('hpc', ASKING), true)
    standIn.say('namespaces', line)
    await until('the annotation is known', () => injected('hpc') === 'perf-sysstat')
    t.ok(
      lines.some((line) => /"trouble":".*(not a JSON object|not an event)/.test(line)),
      `invalid line ${place} is logged`,
    )
  }
})

t.test('a silent watch is detected and renewed', async (t) => {
  const { standIn, injected, lines } = await watch(t, { pace: { silenceMs: 200 }, prepare: plain })
  standIn.faults.mute = true
  standIn.put('namespaces', namespace('hpc', ASKING))
  await until('the annotation is known', () => injected('hpc') === 'perf-sysstat')
  t.ok(lines.some((line) => line.includes('a watch received nothing for 0.2 s')))
})

t.test('bookmarks keep a watch open, and set its position', async (t) => {
  const silenceMs = 5000
  const { standIn, lines } = await watch(t, { pace: { silenceMs } })
  const metadata = { resourceVersion: '4711' }
  const line = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`
  const end = performance.now() + 1.5 * silenceMs
  while (performance.now() < end) {
    for (const resource of ['namespaces', 'limitranges', 'resourcequotas'])
      standIn.say(resource, line)
    await sleep(100)
  }
  t.notOk(lines.some((line) => line.includes('received nothing')))
  standIn.cut()
  await until(
    'the watch continues at the bookmark',
    () => standIn.count(/namespaces\?.*resourceVersion=4711/) === 1,
  )
})

t.test('a periodic list finds changes that a watch has missed', async (t) => {
  const { standIn, injected, lines } = await watch(t, { pace: { relistMs: 1500 }, prepare: plain })
  standIn.put('namespaces', namespace('hpc', ASKING), true)
  await until('the annotation is known', () => injected('hpc') === 'perf-sysstat')
  t.notOk(
    lines.some((line) => line.includes('"level":40')),
    'no warning is logged',
  )
})

t.test('caches are used while the apiserver is unavailable, and updated afterwards', async (t) => {
  const { standIn, injected, cluster, metric, stop, restart } = await watch(t, {
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', ASKING)),
  })
  await stop()
  await until('every check reports the problem', () => {
    return cluster.checks().every(({ problem }) => /ECONNREFUSED.* s ago$/.test(problem ?? ''))
  })
  t.ok(cluster.checks().every(({ fatal }) => !fatal))
  t.equal(injected('hpc'), 'perf-sysstat')
  const age = await metric('cache_age_seconds')
  await until(
    'the age of the cache grows',
    async () => (await metric('cache_age_seconds')) > age + 0.2,
  )
  standIn.put('namespaces', namespace('hpc'), true)
  const start = performance.now()
  await restart()
  await until('the removal is known', () => injected('hpc') === undefined)
  await until('no check reports a problem', () =>
    cluster.checks().every(({ problem }) => problem === undefined),
  )
  const [ageNow, seconds] = [await metric('cache_age_seconds'), (performance.now() - start) / 1000]
  t.ok(ageNow <= seconds, `${ageNow} s old, ${seconds} s after the apiserver is available`)
})

t.test('missing and outdated labels are repaired, at the start and later', async (t) => {
  const { standIn, metric } = await watch(t, {
    prepare(standIn) {
      standIn.put('namespaces', namespace('hpc', ASKING, { team: 'a' }))
      standIn.put('namespaces', namespace('quiet', {}, { team: 'a', ...ARMED }))
      standIn.put('namespaces', namespace('right', ASKING, ARMED))
    },
  })
  const labels = (name: string) => standIn.get('namespaces', name)?.metadata.labels
  const isArmed = (name: string) => labels(name)?.['ridealong.dev/armed'] === 'true'
  await until('hpc is armed', () => isArmed('hpc'))
  await until('quiet is disarmed', () => !isArmed('quiet'))
  t.strictSame(labels('hpc'), { team: 'a', ...ARMED })
  t.strictSame(labels('quiet'), { team: 'a' })
  standIn.put('namespaces', namespace('late', ASKING))
  await until('late is armed', () => isArmed('late'))
  standIn.put('namespaces', namespace('late', {}, ARMED))
  await until('late is disarmed', () => !isArmed('late'))
  await until('all repairs are counted', async () => (await metric('repairs_total')) === 4)
  t.equal(await metric('repairs_total', { outcome: 'armed' }), 2)
  t.equal(standIn.count(PATCHES), 4, 'each repair is one patch, and a correct label is not patched')
})

t.test('a release settles the namespaces that move to it or from it, after a while', async (t) => {
  const canary = { 'ridealong.dev/revision': 'canary' }
  const mark = (revision: string) => ({ 'ridealong.dev/moved-from': revision })
  const { standIn, metric } = await watch(t, {
    revision: 'canary',
    pace: { moveMs: 50 },
    prepare(standIn) {
      standIn.put('namespaces', namespace('to', {}, { ...canary, ...mark('default') }))
      standIn.put('namespaces', namespace('from', {}, mark('canary')))
      standIn.put('namespaces', namespace('other', ASKING, mark('blue')))
    },
  })
  const labels = (name: string) => standIn.get('namespaces', name)?.metadata.labels
  await until('both are settled', async () => (await metric('repairs_total')) === 2)
  t.equal(await metric('repairs_total', { outcome: 'settled' }), 2)
  t.strictSame(labels('to'), canary)
  t.strictSame(labels('from'), {})
  t.strictSame(labels('other'), mark('blue'), 'the namespaces of other releases are not changed')
})

t.test('the mark of a namespace that moves again is kept for the whole time again', async (t) => {
  const mark = (revision: string) => ({ 'ridealong.dev/moved-from': revision })
  const { standIn } = await watch(t, {
    pace: { moveMs: 6000 },
    prepare: (standIn) => standIn.put('namespaces', namespace('hpc', {}, mark('blue'))),
  })
  const start = performance.now()
  while (performance.now() - start < 7000) {
    for (const revision of ['blue', 'green']) {
      standIn.put('namespaces', namespace('hpc', {}, mark(revision)))
      await sleep(50)
    }
  }
  t.equal(standIn.count(PATCHES), 0)
  await until('the last mark is removed', () => standIn.count(PATCHES) === 1)
})

t.test('several replicas together change each label only once', async (t) => {
  const { standIn, access } = await startStandIn(t)
  for (let i = 0; i < 50; i += 1) standIn.put('namespaces', namespace(`n-${i}`, ASKING))
  const registries = [1, 2, 3].map(() => new Registry())
  for (const registry of registries) {
    const { log } = capturedLog()
    const excludedNamespaces = new Set<string>()
    const cluster = watchCluster({ access, excludedNamespaces, registry, log, pace: QUICK })
    t.teardown(() => cluster.stop())
  }
  const repairs = async (outcome: string) => {
    const name = 'ridealong_namespace_repairs_total'
    const counts = registries.map(async (each) => sampleOf(await each.metrics(), name, { outcome }))
    return (await Promise.all(counts)).reduce((sum: number, count) => sum + (count ?? 0), 0)
  }
  await until('all namespaces are armed', async () => (await repairs('armed')) === 50)
  // A replica repairs labels in order, so after the last repair, no other repair is pending.
  standIn.put('namespaces', namespace('later', ASKING))
  await until('a later namespace is armed', async () => (await repairs('armed')) === 51)
  t.equal(await repairs('failed'), 0)
  t.equal(standIn.version, 100 + 51 + 51, 'one change for each namespace')
})

t.test('the label of a namespace that the administrator excludes is not changed', async (t) => {
  const { standIn } = await watch(t, {
    excluded: ['kube-system', 'lab'],
    prepare(standIn) {
      standIn.put('namespaces', namespace('kube-system', ASKING))
      standIn.put('namespaces', namespace('lab', {}, ARMED))
      standIn.put('namespaces', namespace('hpc', ASKING))
    },
  })
  await until('the namespace hpc is armed', () => standIn.count(PATCHES) === 1)
  standIn.put('namespaces', namespace('later', ASKING))
  await until('a later namespace is armed', () => standIn.count(/^PATCH .*\/later\?/) === 1)
  t.equal(standIn.count(PATCHES), 2)
})

t.test(
  'a missing permission is logged once, each refusal is counted, and repairs are repeated',
  async (t) => {
    const { standIn, lines, metric, injected } = await watch(t, {
      pace: { repairMs: 40 },
      prepare(standIn) {
        standIn.faults.refuse = [PATCHES, 403]
        for (const name of ['a', 'b', 'c']) standIn.put('namespaces', namespace(name, ASKING))
      },
    })
    const forbidden = () => metric('repairs_total', { outcome: 'forbidden' })
    await until('the repair was tried several times', async () => (await forbidden()) > 3)
    const told = lines.filter((line) => line.includes('"outcome":"forbidden"'))
    t.equal(told.length, 1)
    t.equal(injected('a'), 'perf-sysstat', 'pods are still injected')
    standIn.faults.refuse = undefined
    await until(
      'all namespaces are armed',
      async () => (await metric('repairs_total', { outcome: 'armed' })) === 3,
    )
  },
)

t.test('after a failed repair, the remaining labels wait for the next check', async (t) => {
  const { standIn, metric } = await watch(t, {
    prepare(standIn) {
      standIn.faults.refuse = [PATCHES, 500]
      for (const name of ['a', 'b', 'c']) standIn.put('namespaces', namespace(name, ASKING))
    },
  })
  const failed = () => metric('repairs_total', { outcome: 'failed' })
  await until('one repair has failed', async () => (await failed()) === 1)
  standIn.put('namespaces', namespace('later', ASKING))
  await until('a later repair is tried', () => standIn.count(/^PATCH .*\/later\?/) === 1)
  t.equal(standIn.count(PATCHES), 2)
})

t.test('a stopped watch closes its connections and sends no more requests', async (t) => {
  const { standIn, cluster } = await watch(t)
  cluster.stop()
  await until('the watches are closed', () => standIn.watches === 0)
  const { length } = standIn.calls
  standIn.put('namespaces', namespace('hpc', ASKING))
  await sleep(200)
  t.equal(standIn.calls.length, length)
})

const READINGS = /^GET \/version$/

/** Follows the version of a simulated apiserver. */
async function follow(t: Test, pace: Partial<Intervals>, prepare?: (standIn: StandIn) => void) {
  const { standIn, access } = await startStandIn(t)
  prepare?.(standIn)
  const troubles: (readonly [string, boolean])[] = []
  const version = followVersion({
    api: connectApiserver(access),
    pace: { ...INTERVALS, pauseMs: 10, longestPauseMs: 20, ...pace },
    onTrouble: (...trouble) => troubles.push(trouble),
  })
  t.teardown(version.stop)
  return { standIn, version, troubles }
}

const versionOf = (minor: string) => ({ major: '1', minor })

t.test('a new version of the apiserver counts when it was read twice', async (t) => {
  const { standIn, version } = await follow(t, { relistMs: 500 }, (standIn) => {
    standIn.serverVersion = versionOf('34')
  })
  t.equal(version.current(), undefined, 'before the first reading, the version is not known')
  await until('the version is read', () => version.current() !== undefined)
  t.equal(version.current(), 34)
  const before = standIn.count(READINGS)
  standIn.serverVersion = versionOf('35')
  await until('the new version is known', () => version.current() === 35)
  t.ok(standIn.count(READINGS) >= before + 2, 'the new version was read twice')
})

t.test('an older version of the apiserver counts at once', async (t) => {
  const { standIn, version } = await follow(t, { relistMs: 50 })
  await until('the version is read', () => version.current() === 36)
  await until('the version is read again', () => standIn.count(READINGS) > 3)
  const before = standIn.count(READINGS)
  standIn.serverVersion = versionOf('34')
  await until('the old version is known', () => version.current() === 34)
  t.ok(standIn.count(READINGS) > before)
})

t.test('a version that cannot be read is reported and read again', async (t) => {
  const { standIn, version, troubles } = await follow(t, {}, (standIn) => {
    standIn.serverVersion = {}
    standIn.faults.refuse = [/version/, 403]
  })
  await until('two readings have failed', () => troubles.length > 1)
  t.match(troubles, [
    [/refused by the test/, false],
    [/refused by the test/, true],
  ])
  standIn.faults.refuse = undefined
  await until('the answer has no version', () => /no version 1\.N/.test(`${troubles.at(-1)}`))
  t.equal(version.current(), undefined)
  standIn.serverVersion = versionOf('30+')
  await until('the version is read', () => version.current() === 30)
})
