import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import jsonpatch, { type Operation } from 'fast-json-patch'
import t from 'tap'
import { readRecording } from '../../../cli/shared/recording.ts'
import { buildReviewer } from '../../../cli/shared/settings.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { readNamespace } from '../../../src/core/namespaces/namespace.ts'
import { type Review, readReview } from '../../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../../src/core/review-pod.ts'
import { CASE_NAMES, CASE_NAMESPACES, reviewFile } from '../../cases/read.ts'
import { calls } from '../../properties/arbitrary.ts'

// The apiserver applies patches with a Go module. Ridealong checks its patches with the npm package
// fast-json-patch. If the results differed, the apiserver could refuse the pod or create another
// pod than Ridealong intends.

const TOOLS = fileURLToPath(new URL('../../properties/catalog', import.meta.url))
const MODULE = fileURLToPath(new URL('.', import.meta.url))

/** A pod and the patch in its answer. */
interface Patched {
  readonly object: unknown
  readonly patch: readonly Operation[]
}

/** Builds the Go program in a folder, and applies each patch with the program. */
function applyWithGo(folder: string, pods: readonly Patched[]): unknown[] {
  const program = join(folder, 'apply')
  const built = spawnSync('go', ['build', '-o', program, '.'], { cwd: MODULE, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`go build: ${built.error?.message ?? built.stderr}`)
  const input = pods.map((pod) => JSON.stringify(pod)).join('\n')
  const ran = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (ran.status !== 0) throw new Error(`apply: ${ran.error?.message ?? ran.stderr}`)
  return ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function applyHere({ object, patch }: Patched): unknown {
  return jsonpatch.applyPatch(structuredClone(object), patch, true).newDocument
}

/** Returns the pod of a review, and the patch in its answer. */
function patchedOf(review: Review, answer: (review: Review) => PodReview): Patched {
  const { patch = 'W10=' } = answer(review).response.response
  return { object: review.object, patch: JSON.parse(`${Buffer.from(patch, 'base64')}`) }
}

t.test('both modules return the same pod for each recorded review', async (t) => {
  const answer = await buildReviewer({ namespaces: CASE_NAMESPACES })
  const reading = CASE_NAMES.map((name) => readRecording(reviewFile(name)))
  const pods = (await Promise.all(reading)).map((review) => patchedOf(review, answer))
  const patched = applyWithGo(t.testdir(), pods)
  t.equal(patched.length, pods.length)
  for (const [index, name] of CASE_NAMES.entries()) {
    t.strictSame(patched[index], applyHere(pods[index] as Patched), `${name}: the pods are equal`)
  }
})

t.test('both modules return the same pod for 2,000 random reviews', async (t) => {
  const seed = Date.now() % 2 ** 31
  const answer = await buildReviewer({})
  const pods = fc.sample(calls(), { numRuns: 2_000, seed }).map(({ body }) => {
    const review = readReview(body)
    if ('problem' in review) throw new Error(review.problem)
    return patchedOf(review, answer)
  })
  const patched = applyWithGo(t.testdir(), pods)
  t.equal(patched.length, pods.length)
  t.ok(
    pods.filter(({ patch }) => patch.length > 1).length > 200,
    'many patches have several operations',
  )
  const others = pods.filter((pod, index) => !isDeepStrictEqual(applyHere(pod), patched[index]))
  t.strictSame(others, [], `both modules return the same pods (seed ${seed})`)
})

t.test('both modules return the same pod for 1,000 random pods with tools', async (t) => {
  const seed = Date.now() % 2 ** 31
  const catalog = await loadCatalog({ folder: TOOLS })
  const pods = fc.sample(calls('tools'), { numRuns: 1_000, seed }).map((call) => {
    const review = readReview(call.body)
    if ('problem' in review) throw new Error(review.problem)
    const namespace = readNamespace('hpc', call.namespace)
    return patchedOf(review, (one) =>
      reviewPod(one, { catalog, namespace, excludedNamespaces: new Set() }),
    )
  })
  const patched = applyWithGo(t.testdir(), pods)
  const withTools = pods.filter(({ patch }) => JSON.stringify(patch).includes('ridealong-tool-'))
  t.ok(withTools.length > 100, `${withTools.length} pods got a tool; the test needs more than 100`)
  const others = pods.filter((pod, index) => !isDeepStrictEqual(applyHere(pod), patched[index]))
  t.strictSame(others, [], `both modules return the same pods (seed ${seed})`)
})

t.test('the Go program reports a patch that cannot be applied', async (t) => {
  const patch: Operation[] = [{ op: 'add', path: '/spec/volumes/-', value: {} }]
  const [refused, applied] = applyWithGo(t.testdir(), [
    { object: { spec: {} }, patch },
    { object: { spec: { volumes: [] } }, patch },
  ])
  t.match(refused, { error: /does not apply/ })
  t.strictSame(applied, { spec: { volumes: [{}] } })
})
