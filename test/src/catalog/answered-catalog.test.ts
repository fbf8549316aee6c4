import t from 'tap'
import {
  type ObserverAnswer,
  readMetricAnswer,
  withAnswers,
} from '../../../src/catalog/answered-catalog.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { buildCatalog, type Catalog } from '../../../src/core/catalog.ts'
import { differenceFrom } from '../../../src/core/rules/observer-difference.ts'
import { askingPod } from '../../../src/pods/doctor/probe.ts'
import {
  type ContainerObject,
  type Json,
  metricDocument,
  type Place,
  ride,
  type Texts,
} from '../core/build.ts'
import { MOUNTED, SHARED } from '../core/tools/build.ts'

const BUILT_IN = await loadCatalog({})
const MIRRORED = await loadCatalog({ observerImage: 'mirror.example/observer:7' })

/** Returns the answer of an installation with a catalog to a pod that requests one metric. */
function answerOf(metric: string, place: Place, annotations: Texts = {}) {
  return readMetricAnswer(
    ride(askingPod(metric, annotations), place).pod as unknown as Json,
    metric,
  )
}

function observerOf(...words: Parameters<typeof answerOf>): ObserverAnswer {
  const answer = answerOf(...words)
  if (answer.kind !== 'observer') throw new Error(`the answer is ${JSON.stringify(answer)}`)
  return answer
}

function catalogOf(metric: string, answer: ObserverAnswer, base: Catalog = BUILT_IN): Catalog {
  return withAnswers(base, new Map([[metric, answer]]), answer.revision)
}

t.test('the catalog has the image and the revision of the installation', async (t) => {
  const answer = observerOf('perf-sysstat', { catalog: MIRRORED })
  const { metrics, revision } = catalogOf('perf-sysstat', answer)
  t.equal(revision, MIRRORED.revision)
  for (const [name, { container }] of metrics)
    t.equal(container.image, 'mirror.example/observer:7', `the image of ${name}`)
  const { container, options } = metrics.get('perf-sysstat') ?? {}
  t.strictSame(options, BUILT_IN.metrics.get('perf-sysstat')?.options)
  t.strictSame(container?.command, BUILT_IN.metrics.get('perf-sysstat')?.container.command)
})

t.test('an observer that is added with this catalog equals that of the installation', async (t) => {
  const labels = { 'ridealong.dev/tools': 'true' }
  for (const metric of MIRRORED.metrics.keys()) {
    const place = { catalog: MIRRORED, labels }
    const theirs = ride(askingPod(metric), place).observers
    const catalog = catalogOf(metric, observerOf(metric, place))
    const ours = ride(askingPod(metric), { catalog, labels }).observers
    const byName = (all: Readonly<Record<string, ContainerObject>>) =>
      Object.values(all).map((one) => ({
        ...one,
        env: new Set(one.env?.map((v) => JSON.stringify(v))),
      }))
    t.strictSame(byName(ours), byName(theirs), metric)
  }
})

t.test('the tool of the catalog is installed or mounted as in the installation', async (t) => {
  const labels = { 'ridealong.dev/tools': 'true' }
  for (const theirs of [SHARED, MOUNTED]) {
    const place = { catalog: theirs, labels }
    const catalog = catalogOf('mpi-trace', observerOf('mpi-trace', place), SHARED)
    const { pod } = ride(askingPod('mpi-trace'), { catalog, labels })
    t.strictSame(pod.spec, ride(askingPod('mpi-trace'), place).pod.spec)
  }
})

t.test('a metric that is not built in gets its options from the answer', async (t) => {
  const options = { depth: { type: 'string', enum: ['1', '2'], default: '1', description: 'd' } }
  const container = {
    image: 'mirror.example/power:1',
    command: ['power'],
    args: ['--fast'],
    env: [{ name: 'POWER', value: 'all' }],
    resources: { limits: { cpu: '10m', memory: '16Mi' } },
  }
  const document = metricDocument('power', { options, container } as never)
  const theirs = buildCatalog([document], '0123abcd')
  const annotations = { 'power.ridealong.dev/depth': '2' }
  const catalog = catalogOf('power', observerOf('power', { catalog: theirs }, annotations))
  const pod = askingPod('power', annotations)
  t.strictSame(
    new Set(ride(pod, { catalog }).observers.power?.env),
    new Set(ride(pod, { catalog: theirs }).observers.power?.env),
  )
  const [ours] = Object.values(ride(pod, { catalog }).observers)
  t.equal(differenceFrom(theirs, { ...ours }, 'initContainers'), undefined)
})

t.test('an installation that adds no observer answers with a reason, or not at all', async (t) => {
  t.match(answerOf('none-such', { catalog: MIRRORED }), { kind: 'left', reason: 'unknown-metric' })
  const heldImages: readonly string[] = []
  t.match(answerOf('perf-sysstat', { catalog: MIRRORED, heldImages }), {
    kind: 'left',
    reason: 'observer-unavailable',
  })
  t.match(readMetricAnswer(askingPod('perf-sysstat'), 'perf-sysstat'), { kind: 'silent' })
})

t.test('a container that no status names is not an answer', async (t) => {
  const { metadata, spec } = ride(askingPod('perf-sysstat'), { catalog: MIRRORED }).pod
  const pod = { metadata: { ...metadata, annotations: {} }, spec }
  t.match(readMetricAnswer(pod, 'perf-sysstat'), { kind: 'silent' })
})
