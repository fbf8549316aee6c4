import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import { askingPod, limitRange, type Place, podOf, resourceQuota, ride } from '../build.ts'
import { toolDocument, toolOf } from '../tools/build.ts'

const TOOLS = { 'ridealong.dev/tools': 'true' }

/** Returns the names of the added observers, without installers, and the reasons of the others. */
function added(metrics: string, rules: Place['rules']) {
  const place = { labels: TOOLS, ...(rules && { rules }) }
  const ridden = ride(askingPod({}, { 'ridealong.dev/inject': metrics }), place)
  const names = Object.keys(ridden.observers).filter((name) => !name.endsWith('-install'))
  return { names, left: ridden.left, word: ridden.word, ridden, place }
}

/** A quota on the limits of memory. An observer of the tests has 32Mi, an installer 24Mi. */
const quota = (memory: string) => ({ resourceQuotas: [resourceQuota({ 'limits.memory': memory })] })
const ofPod = (memory: string) => ({ limitRanges: [limitRange({ type: 'Pod', max: { memory } })] })

t.test('quotas judge the sum, and the last metrics are left', async (t) => {
  const both = 'perf-sysstat,io-sysstat'
  const rows: [string, readonly string[]][] = [
    ['64Mi', ['perf-sysstat', 'io-sysstat']],
    ['63Mi', ['perf-sysstat']],
    ['32Mi', ['perf-sysstat']],
    ['31Mi', []],
  ]
  for (const [memory, names] of rows) {
    const got = added(both, quota(memory))
    t.strictSame(got.names, names, memory)
    t.equal(got.word, names.length > 0 ? 'injected' : 'quota')
    if (names.length === 1) t.strictSame(got.left, { 'io-sysstat': 'quota' })
  }
})

t.test('metrics with tools are left before all others', async (t) => {
  const { names, left } = added('cpu-profile,perf-sysstat,io-sysstat', ofPod('64Mi'))
  t.strictSame(names, ['perf-sysstat', 'io-sysstat'])
  t.strictSame(left, { 'cpu-profile': 'limit-range' })
  const least = added('cpu-profile,perf-sysstat,io-sysstat', ofPod('32Mi'))
  t.strictSame(least.names, ['perf-sysstat'])
  t.strictSame(least.left, { 'io-sysstat': 'limit-range', 'cpu-profile': 'limit-range' })
  t.strictSame(added('cpu-profile', ofPod('32Mi')).names, ['cpu-profile'], 'alone, it fits')
})

t.test('metrics that are left for other reasons do not count', async (t) => {
  const { names, left } = added('trace-stat,perf-sysstat', quota('32Mi'))
  t.strictSame(names, ['perf-sysstat'])
  t.strictSame(left, { 'trace-stat': 'privilege' })
})

t.test('the kept observers get the resources that the LimitRanges need', async (t) => {
  const min = limitRange({ min: { memory: '40Mi' } })
  const rules = { limitRanges: [min], ...quota('40Mi') }
  const { names, left, ridden } = added('perf-sysstat,io-sysstat', rules)
  t.strictSame(names, ['perf-sysstat'])
  t.strictSame(left, { 'io-sysstat': 'quota' })
  t.equal(ridden.observers['perf-sysstat']?.resources?.limits?.memory, '40Mi')
})

t.test('a second review adds no metric that did not fit', async (t) => {
  for (const rules of [quota('64Mi'), ofPod('64Mi'), quota('32Mi'), ofPod('40Mi')]) {
    const { ridden, place } = added('cpu-profile,perf-sysstat,io-sysstat', rules)
    t.equal(ridden.word, 'injected')
    const again = ride(ridden.pod, place)
    t.equal(again.word, 'already-injected')
    t.equal(again.isPatched, false)
  }
})

t.test('a second review adds no metric that fits only beside earlier observers', async (t) => {
  // Without limits, the pod would have none. With the limits of the catalog, only one metric fits.
  // Beside that metric, another one without a limit would fit.
  const resources = { requests: { cpu: '1' } }
  const pod = askingPod({ resources }, { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' })
  const place = { rules: ofPod('32Mi') }
  const first = ride(pod, place)
  t.strictSame(Object.keys(first.observers), ['perf-sysstat'])
  t.strictSame(first.left, { 'io-sysstat': 'limit-range' })
  const again = ride(first.pod, place)
  t.equal(again.word, 'already-injected')
  t.equal(again.isPatched, false)
  const later = ride(first.pod, { rules: ofPod('64Mi') })
  t.strictSame(Object.keys(later.observers), ['io-sysstat'], 'with other rules, it is added')
  t.strictSame(later.left, {})
})

t.test('a second review adds no metric because another one now has another reason', async (t) => {
  const preload = { name: 'LD_PRELOAD', value: '/x.so', separator: ':' } as const
  const forwarded = [{ ...preload, forwardedBy: 'open-mpi' }] as const
  const large = toolOf('b', forwarded)
  const installer = { ...large.installer, resources: { limits: { cpu: '1m', memory: '64Mi' } } }
  const documents = [
    toolDocument('a', forwarded),
    toolDocument('b', forwarded, { tool: { ...large, installer } }),
    toolDocument('c', [preload]),
  ]
  const rules = { limitRanges: [limitRange({ max: { memory: '40Mi' } })] }
  const place = { catalog: buildCatalog(documents, '3f2a91c0'), labels: TOOLS, rules }
  const launcher = { labels: { 'jobset.sigs.k8s.io/replicatedjob-name': 'launcher' } }
  const first = ride(podOf({ 'ridealong.dev/inject': 'a,b,c' }, {}, launcher), place)
  t.strictSame(first.left, { b: 'limit-range', c: 'limit-range' })
  // The first review has set the launch agent for `a`. The agent of `b` conflicts with it, so a
  // second review would leave `b` for this reason, and the memory limit would allow `c` alone.
  const again = ride(first.pod, place)
  t.equal(again.word, 'already-injected')
  t.equal(again.isPatched, false)
})

t.test('observers of an earlier review count once', async (t) => {
  const place = { rules: quota('64Mi') }
  const { pod } = ride(askingPod(), place)
  const { metadata } = pod
  const inject = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  const annotations = { ...metadata.annotations, ...inject }
  const later = ride({ ...pod, metadata: { ...metadata, annotations } }, place)
  t.strictSame(Object.keys(later.observers), ['io-sysstat'])
  t.strictSame(later.left, {})
})

t.test('with on-error: deny, a pod whose metrics do not fit together is denied', async (t) => {
  const deny = {
    'ridealong.dev/inject': 'perf-sysstat,io-sysstat',
    'ridealong.dev/on-error': 'deny',
  }
  const { outcome, word, message } = ride(askingPod({}, deny), { rules: quota('63Mi') })
  t.equal(outcome, 'denied')
  t.equal(word, 'quota')
  t.match(message, 'ResourceQuota "compute": with its observers, the pod needs')
})
