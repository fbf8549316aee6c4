import t from 'tap'
import { limitRange, type Place, podOf, resourceQuota, ride } from './build.ts'

const limitRanges = [limitRange({ max: { cpu: '10m' } })]
const resourceQuotas = [resourceQuota({ 'limits.cpu': '10m' })]
const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }

const wordIn = (place: Place) => ride(podOf({ 'ridealong.dev/inject': 'root-stat' }), place).word

t.test('the first of what is in the way is the reason, in the order of admission', async (t) => {
  const granted = { 'ridealong.dev/privilege': 'baseline' }
  const rules = { limitRanges, resourceQuotas }
  t.equal(wordIn({ labels, rules }), 'privilege')
  t.equal(wordIn({ labels: { ...labels, ...granted }, rules }), 'pod-security')
  t.equal(wordIn({ labels: granted, rules }), 'limit-range')
  t.equal(wordIn({ labels: granted, rules: { resourceQuotas } }), 'quota')
  t.equal(wordIn({ labels: granted }), 'injected')
})

t.test('an observer that is already there is not judged again', async (t) => {
  const asking = podOf({ 'ridealong.dev/inject': 'perf-sysstat' })
  const { pod } = ride(asking)
  t.equal(ride(pod, { rules: { limitRanges, resourceQuotas } }).word, 'already-injected')
})
