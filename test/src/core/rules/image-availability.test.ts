import t from 'tap'
import { askingPod, type Json, type Place, ride, type Texts } from '../build.ts'

// perf-sysstat and io-sysstat have the same image, and trace-stat has another image.
const OBSERVER = 'registry.example/observer:1'
const TRACER = 'registry.example/tracer:1'

const inject = (metrics: string): Texts => ({ 'ridealong.dev/inject': metrics })
const GRANTED = { labels: { 'ridealong.dev/privilege': 'privileged' } }

t.test('a metric is injected if a node has its image, or if images are not watched', async (t) => {
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
    t.equal(
      ride(askingPod({}, inject(metric)), place).word,
      word,
      `${metric} with the images ${place.heldImages}`,
    )
  }
})

t.test('the message names the metric and its complete image', async (t) => {
  const { message, status } = ride(askingPod(), { heldImages: [] })
  t.equal(message, `no node is known to have ${OBSERVER}, the image of perf-sysstat`)
  t.strictSame(status, { outcome: 'left', reason: 'observer-unavailable', message })
})

t.test('only the metrics whose image is unavailable are left', async (t) => {
  const both = askingPod({}, inject('perf-sysstat,trace-stat'))
  const { left, observers, warnings } = ride(both, { heldImages: [OBSERVER], ...GRANTED })
  t.strictSame(left, { 'trace-stat': 'observer-unavailable' })
  t.match(warnings[0], /tracer:1.*trace-stat/)
  t.strictSame(Object.keys(observers), ['perf-sysstat'])
})

t.test('unavailable images prevent an injection in mode container too', async (t) => {
  const pod = askingPod({}, { 'ridealong.dev/mode': 'container' })
  t.equal(ride(pod, { heldImages: [] }).word, 'observer-unavailable')
})

t.test('permanent reasons are reported instead of an unavailable image', async (t) => {
  const place = { heldImages: [] }
  t.equal(ride(askingPod({ hostPID: true }), place).word, 'host-pid')
  t.equal(ride(askingPod({}, inject('nobody')), place).word, 'unknown-metric')
  t.equal(ride(askingPod({}, inject('trace-stat')), place).word, 'privilege')
  t.equal(ride(askingPod({}, inject('false')), place).word, 'opted-out')
})

t.test('an existing observer is not removed when its image becomes unavailable', async (t) => {
  const before = askingPod({}, inject('perf-sysstat'))
  const { pod } = ride(before)
  t.equal(ride(pod, { heldImages: [] }).word, 'already-injected')
  const metadata = pod.metadata as Json
  const annotations = { ...pod.metadata.annotations, ...inject('perf-sysstat,trace-stat') }
  const more = { ...pod, metadata: { ...metadata, annotations } }
  const again = ride(more, { heldImages: [], ...GRANTED })
  t.equal(again.word, 'already-injected', 'the metric with an unavailable image is not added')
  t.strictSame(again.observers, {})
})
