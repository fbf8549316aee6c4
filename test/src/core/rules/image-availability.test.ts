import t from 'tap'
import { askingPod, type Json, type Place, ride, type Texts } from '../build.ts'

// perf-sysstat and io-sysstat have one image, trace-stat has another.
const OBSERVER = 'registry.example/observer:1'
const TRACER = 'registry.example/tracer:1'

const inject = (metrics: string): Texts => ({ 'ridealong.dev/inject': metrics })
const GRANTED = { labels: { 'ridealong.dev/privilege': 'privileged' } }

t.test('a metric rides where a node is known to hold its image, or nobody watches', async (t) => {
  const rows: [string, string, Place][] = [
    ['injected', 'perf-sysstat', {}],
    ['injected', 'perf-sysstat', { heldImages: [OBSERVER] }],
    ['injected', 'perf-sysstat', { heldImages: [TRACER, OBSERVER] }],
    ['observer-unavailable', 'perf-sysstat', { heldImages: [TRACER] }],
    ['observer-unavailable', 'perf-sysstat', { heldImages: [`${OBSERVER}0`, 'observer:1'] }],
    ['injected', 'trace-stat', { heldImages: [TRACER], ...GRANTED }],
    ['observer-unavailable', 'trace-stat', { heldImages: [OBSERVER], ...GRANTED }],
  ]
  for (const [word, metric, place] of rows) {
    t.equal(ride(askingPod({}, inject(metric)), place).word, word, `${metric}: ${place.heldImages}`)
  }
})

t.test('the message names the metric and its image, whole', async (t) => {
  const { message, status } = ride(askingPod(), { heldImages: [] })
  t.equal(message, `no node is known to have ${OBSERVER}, the image of perf-sysstat`)
  t.strictSame(status, { outcome: 'left', reason: 'observer-unavailable', message })
})

t.test('one image that no node holds leaves all the metrics', async (t) => {
  const both = askingPod({}, inject('perf-sysstat,trace-stat'))
  const { word, observers, message } = ride(both, { heldImages: [OBSERVER], ...GRANTED })
  t.equal(word, 'observer-unavailable')
  t.match(message, /tracer:1.*trace-stat/)
  t.strictSame(observers, {})
})

t.test('an ordinary container that cannot start is no better than a native sidecar', async (t) => {
  const pod = askingPod({}, { 'ridealong.dev/mode': 'container' })
  t.equal(ride(pod, { heldImages: [] }).word, 'observer-unavailable')
})

t.test('what will not change by itself is said before what may', async (t) => {
  const place = { heldImages: [] }
  t.equal(ride(askingPod({ hostPID: true }), place).word, 'host-pid')
  t.equal(ride(askingPod({}, inject('nobody')), place).word, 'unknown-metric')
  t.equal(ride(askingPod({}, inject('trace-stat')), place).word, 'privilege')
  t.equal(ride(askingPod({}, inject('false')), place).word, 'opted-out')
})

t.test('what rides already stays when its image is gone', async (t) => {
  const before = askingPod({}, inject('perf-sysstat'))
  const { pod } = ride(before)
  t.equal(ride(pod, { heldImages: [] }).word, 'already-injected')
  const metadata = pod.metadata as Json
  const annotations = { ...pod.metadata.annotations, ...inject('perf-sysstat,trace-stat') }
  const more = { ...pod, metadata: { ...metadata, annotations } }
  const again = ride(more, { heldImages: [], ...GRANTED })
  t.equal(again.word, 'already-injected', 'and what cannot be added to it is not')
  t.strictSame(again.observers, {})
})
