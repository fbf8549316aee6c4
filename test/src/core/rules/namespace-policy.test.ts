import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readReview } from '../../../../src/core/review.ts'
import { nonsense } from '../../../properties/arbitrary.ts'
import { answerIn, limitRange, type Place, podOf, resourceQuota, ride } from '../build.ts'

const limitRanges = [limitRange({ max: { cpu: '10m' } })]
const resourceQuotas = [resourceQuota({ 'limits.cpu': '10m' })]
const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }

const wordIn = (place: Place) => ride(podOf({ 'ridealong.dev/inject': 'root-stat' }), place).word

t.test(
  'of privilege, pod-security, limit-range and quota, the first reason that applies is reported',
  async (t) => {
    const granted = { 'ridealong.dev/privilege': 'baseline' }
    const rules = { limitRanges, resourceQuotas }
    t.equal(wordIn({ labels, rules }), 'privilege')
    t.equal(wordIn({ labels: { ...labels, ...granted }, rules }), 'pod-security')
    t.equal(wordIn({ labels: granted, rules }), 'limit-range')
    t.equal(wordIn({ labels: granted, rules: { resourceQuotas } }), 'quota')
    t.equal(wordIn({ labels: granted }), 'injected')
  },
)

t.test(
  'LimitRanges and ResourceQuotas are not checked again for an existing observer',
  async (t) => {
    const asking = podOf({ 'ridealong.dev/inject': 'perf-sysstat' })
    const { pod } = ride(asking)
    t.equal(ride(pod, { rules: { limitRanges, resourceQuotas } }).word, 'already-injected')
  },
)

t.test('invalid pods, LimitRanges and ResourceQuotas cause no internal error', async () => {
  const odd = fc.constantFrom(undefined, null, {}, [], 7, 'x', '1e99', '-1', { cpu: [] })
  const list = fc.oneof(odd, fc.record({ cpu: odd, memory: fc.constant('16Mi') }))
  const item = fc.record({ type: fc.constantFrom('Container', 'Pod', 7), min: list, max: list })
  const range = fc.oneof(odd, fc.record({ spec: fc.record({ limits: fc.array(item) }) }))
  const scopes = fc.oneof(odd, fc.array(fc.constantFrom('NotBestEffort', 'PriorityClass', 7)))
  const hard = fc.oneof(list, fc.record({ 'limits.cpu': fc.constant('10m') }))
  const quota = fc.oneof(odd, fc.record({ spec: fc.record({ hard, scopes }), status: odd }))
  const words = new Set<string>()
  const ranges = fc.oneof(fc.constant([]), fc.array(range))
  const every = fc.property(nonsense, ranges, fc.array(quota), (call, ...rules) => {
    const [limitRanges, resourceQuotas] = rules
    const review = readReview(call.body)
    if ('problem' in review) return
    const place = { rules: { limitRanges, resourceQuotas } }
    const { fault, decision } = answerIn({ ...place, review }, review.object)
    words.add('reason' in decision ? decision.reason : decision.outcome)
    assert.equal(fault, undefined)
  })
  fc.assert(every, { numRuns: 3_000 })
  for (const word of ['injected', 'limit-range', 'quota'])
    assert.ok(words.has(word), `${word} occurs`)
})
