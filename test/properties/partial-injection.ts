/** Rules about pods that get some of the metrics that they request, for the tests of two tiers. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import jsonpatch from 'fast-json-patch'
import { loadCatalog } from '../../src/catalog/load.ts'
import { scanBody } from '../../src/core/body-scan.ts'
import { type Catalog, imagesOf } from '../../src/core/catalog.ts'
import type { Injected } from '../../src/core/decision.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { REASONS } from '../../src/core/reasons.ts'
import { readReview } from '../../src/core/review.ts'
import { type PodReview, reviewPod, type Settings } from '../../src/core/review-pod.ts'
import { limitRange, resourceQuota } from '../src/core/build.ts'
import { type Call, calls, type Json, mapOf, mapsOf, withoutObservers } from './arbitrary.ts'
import { checkScan, statusOf } from './scan-rules.ts'

/** The built-in metrics, metrics that exclude each other, and metrics that need privileges. */
export const CATALOG: Catalog = await loadCatalog({
  folder: fileURLToPath(new URL('catalog', import.meta.url)),
})

const NAMES = [...CATALOG.metrics.keys()]
const IMAGES = [...CATALOG.metrics.values()].flatMap(imagesOf)
const UNKNOWN = ['nobody', 'perf-sysstaat', '"\\u202e', 'x'.repeat(300)]

/** A review of a pod that requests several metrics, and the conditions of the review. */
export interface PartialCall {
  readonly call: Call
  readonly conditions: Omit<Settings, 'catalog'>
}

/** Amounts of memory of one container. An observer has 32Mi or more. */
const small = fc.constantFrom('16Mi', '40Mi', '100Mi', '256Mi')
/** Amounts of memory of a pod, whose own containers have a multiple of 1Gi or nothing. */
const large = fc.constantFrom(
  '64Mi',
  '100Mi',
  '160Mi',
  '256Mi',
  '1100Mi',
  '1200Mi',
  '2100Mi',
  '8Gi',
)

const limits = fc.oneof(
  large.map((memory) => ({ type: 'Pod', max: { memory } })),
  small.map((memory) => ({ type: 'Container', max: { memory } })),
  large.map((memory) => ({ type: 'Pod', min: { memory } })),
  small.map((memory) => ({ type: 'Container', min: { memory } })),
  small.map((memory) => ({ default: { memory } })),
  fc
    .tuple(fc.constantFrom('Pod', 'Container'), fc.constantFrom('1', '2', '4'))
    .map(([type, memory]) => ({ type, maxLimitRequestRatio: { memory } })),
)

const quotas = fc
  .record({
    key: fc.constantFrom('limits.memory', 'requests.memory', 'memory'),
    hard: large,
    used: fc.constantFrom('0', '0', '16Mi'),
    scopes: fc.constantFrom([], [], ['NotBestEffort'], ['BestEffort']),
  })
  .map(({ key, hard, used, scopes }) => resourceQuota({ [key]: hard }, { [key]: used }, { scopes }))

const rules = fc.record({
  limitRanges: fc.array(
    limits.map((item) => limitRange(item)),
    { maxLength: 2 },
  ),
  resourceQuotas: fc.array(quotas, { maxLength: 2 }),
})

const requests = fc
  .tuple(
    fc.shuffledSubarray(NAMES, { minLength: 1 }),
    fc.subarray(UNKNOWN),
    fc.constantFrom<string | undefined>(undefined, undefined, undefined, 'true'),
  )
  .map(([known, unknown, word]) => [...(word ? [word] : []), ...unknown, ...known].join())

export const partialCalls: fc.Arbitrary<PartialCall> = fc
  .record({
    call: fc.constantFrom('anything', 'tools', 'restricted').chain((leaning) => calls(leaning)),
    inject: requests,
    rules: fc.option(rules, { freq: 2, nil: undefined }),
    held: fc.option(fc.subarray(IMAGES, { minLength: IMAGES.length - 2 }), { nil: undefined }),
    apiserverVersion: fc.constantFrom(34, 36),
  })
  .map(({ call, inject, rules: own, held, apiserverVersion }) => {
    const namespace = readNamespace('hpc', call.namespace, own)
    return {
      call: withInject(call, inject),
      conditions: {
        excludedNamespaces: new Set<string>(),
        namespace,
        heldImages: held && new Set(held),
        apiserverVersion,
      },
    }
  })

function withInject({ body, namespace }: Call, inject: string): Call {
  const request = mapOf(body.request)
  const object = mapOf(request.object)
  const metadata = mapOf(object.metadata)
  const annotations = { ...mapOf(metadata.annotations), 'ridealong.dev/inject': inject }
  const changed = { ...object, metadata: { ...metadata, annotations } }
  return { namespace, body: { ...body, request: { ...request, object: changed } } }
}

/** Reviews a pod; the patch must apply. */
export function answer(
  body: Json,
  settings: Settings,
): { reviewed: PodReview; pod: Json; patched: Json } {
  const review = readReview(body, scanBody(JSON.stringify(body)))
  if ('problem' in review) throw new Error(review.problem)
  const reviewed = reviewPod(review, settings)
  assert.equal(reviewed.fault, undefined)
  const pod = mapOf(review.object)
  const operations = JSON.parse(JSON.stringify(reviewed.operations))
  const patched = jsonpatch.applyPatch(structuredClone(pod), operations, true).newDocument
  return { reviewed, pod, patched }
}

/** How many pods had each property; a test checks that there were enough. */
export interface PartialCounts {
  readonly injected: number
  /** The injected pods that lack a metric. */
  readonly partial: number
  /** The pods that lack a metric, by reason. */
  readonly reasons: ReadonlyMap<string, number>
}

/** Checks the rules on `numRuns` pods. */
export function checkPartialInjection(numRuns: number): PartialCounts {
  const reasons = new Map<string, number>()
  let [injected, partial] = [0, 0]
  fc.assert(
    fc.property(partialCalls, ({ call, conditions }) => {
      const settings = { ...conditions, catalog: CATALOG }
      const { reviewed, pod, patched } = answer(call.body, settings)
      const { decision } = reviewed
      checkScan({ decision, received: pod, patched, surroundings: settings })
      if (decision.outcome !== 'injected') return
      injected += 1
      if (decision.left.length > 0) partial += 1
      for (const reason of new Set(decision.left.map((each) => each.reason)))
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      checkResolved(decision, pod, settings)
      assert.deepEqual(withoutObservers(patched, pod, NAMES), pod)
      checkStatus(decision, patched)
      const request = { ...mapOf(call.body.request), object: patched }
      const again = answer({ ...call.body, request }, settings).reviewed
      assert.deepEqual(again.operations, [])
      assert.equal('reason' in again.decision && again.decision.reason, 'already-injected')
    }),
    { numRuns },
  )
  return { injected, partial, reasons }
}

/** Checks that each requested metric is an observer or has a reason, and that no rule is broken. */
function checkResolved(decision: Injected, pod: Json, { namespace }: Settings): void {
  const { observers, left, others, present } = decision
  const added = observers.map(({ metric }) => metric.name)
  const lacking = [...left, ...others].map(({ metric }) => metric)
  const all = [...added, ...present, ...lacking]
  assert.equal(new Set(all).size, all.length, 'a metric is resolved twice')
  const inject = `${mapOf(mapOf(pod.metadata).annotations)['ridealong.dev/inject']}`
  for (const name of inject.split(','))
    assert.ok(!CATALOG.metrics.has(name) || all.includes(name), `${name} is not resolved`)
  assert.ok(left.every(({ reason }) => REASONS[reason].leavesMetric))
  assert.ok(observers.every(({ metric }) => metric.tool === undefined || namespace.allowsTools))
  const own = [mapOf(pod.spec).initContainers, mapOf(pod.spec).containers].flatMap(mapsOf)
  assert.ok(own.every(({ name }) => !added.includes(`${name}`)))
}

/** Checks that the status names the observers, and the first left metrics with their reasons. */
function checkStatus({ observers, left, present }: Injected, patched: Json): void {
  const status = statusOf(patched)
  assert.deepEqual(status.metrics, [...present, ...observers.map(({ metric }) => metric.name)])
  const written = mapsOf(status.left)
  assert.deepEqual(
    written.map(({ metric, reason }) => [metric, reason]),
    left.slice(0, written.length).map(({ metric, reason }) => [metric, reason]),
  )
  const isCut = written.some(({ message }) => message === undefined)
  assert.ok(written.length === left.length || isCut || written.length === 0)
}
