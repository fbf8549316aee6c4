import t from 'tap'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { type PodReview, reviewPod } from '../../src/core/review-pod.ts'
import { readBody } from '../../webhook/body.ts'
import { NotAReview } from '../../webhook/problem.ts'
import { ADVERSARIES, RULES } from '../bench/adversarial.ts'
import { CATALOG } from '../src/core/build.ts'

// Tests with reviews that are built to be slow or to have large answers, in a namespace that allows
// tools and has a LimitRange and quotas.

const labels = { 'ridealong.dev/tools': 'true' }
const namespace = readNamespace('hpc', { metadata: { labels } }, RULES)
const settings = { catalog: CATALOG, namespace, excludedNamespaces: new Set<string>() }

/** Returns the answer to a body; undefined if the body is not a review. */
function answerTo(body: string): PodReview | undefined {
  try {
    return reviewPod(readBody(body), settings)
  } catch (error) {
    if (error instanceof NotAReview) return undefined
    throw error
  }
}

/**
 * Returns the processor time of `times` answers to a body, in microseconds: the smallest of five
 * measurements.
 */
function costOf(body: string, times: number): number {
  const costs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i += 1) answerTo(body)
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  return Math.min(...costs)
}

const SMALL = 2 ** 12
const GROWTH = 2 ** 6

// A large review has 64 times the size of a small one. If the time grew with the square of the
// size, a large review would take as long as 4,096 small ones. The test allows twenty times the
// time of 64 small reviews, because of busy machines, caches and garbage collection.
t.test('the time of an answer does not grow with the square of the review size', async (t) => {
  for (const { name, build } of ADVERSARIES) {
    const small = costOf(build(SMALL), GROWTH)
    const large = costOf(build(SMALL * GROWTH), 1)
    const times = `${large} us for one large review, ${small} us for ${GROWTH} small ones`
    t.ok(large < 20 * small, `${name}: ${times}`)
  }
})

t.test('an answer has at most 16,384 characters, and is no internal error', async (t) => {
  for (const { name, build } of ADVERSARIES) {
    for (const size of [2 ** 10, 2 ** 16, 2 ** 20]) {
      const answer = answerTo(build(size))
      const characters = JSON.stringify(answer?.response ?? {}).length
      t.ok(characters <= 2 ** 14, `${name}, size ${size}: the answer has ${characters} characters`)
      t.equal(answer?.fault, undefined, `${name}: the answer is no internal error`)
    }
  }
})
