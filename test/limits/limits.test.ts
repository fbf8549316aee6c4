import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { patchedBy, ride } from '../src/core/build.ts'
import { type Encounter, encounters } from './arbitrary.ts'

// Compares Ridealong's decisions with Kubernetes' own LimitRanger, PodSecurity and ResourceQuota,
// for pods with and without observers. The first build of the Kubernetes packages takes minutes.

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const hasGo = spawnSync('go', ['version']).status === 0
// In CI, the tests are never skipped: they fail if Go is not installed.
const skip = hasGo || process.env.CI === 'true' ? false : 'Go is not installed'

/** The result of Kubernetes for a pod. */
interface Judged {
  /** The pod with all defaults, as a webhook receives it. */
  readonly seen: Encounter['pod']
  /** Why Kubernetes refuses the pod; empty if it is accepted. */
  readonly refused: string
}

let program = ''

t.before(() => {
  if (skip !== false) return
  program = join(t.testdir(), 'limits')
  const env = { ...process.env, CGO_ENABLED: '0' }
  const args = ['build', '-trimpath', '-o', program, '.']
  const built = spawnSync('go', args, { cwd: MODULE, env, encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`go build: ${built.error?.message ?? built.stderr}`)
})

function judge(calls: readonly Encounter[]): readonly Judged[] {
  const input = calls.map((call) => JSON.stringify(call)).join('\n')
  const ran = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (ran.status !== 0) throw new Error(`limits: ${ran.error?.message ?? ran.stderr}`)
  return ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The labels of a namespace that allows the tools and privileges of all metrics. */
const GRANTED = { 'ridealong.dev/tools': 'true', 'ridealong.dev/privilege': 'privileged' }
const ENFORCE = 'pod-security.kubernetes.io/enforce'

/** A pod with its rules, and the results of Ridealong and Kubernetes. */
interface Outcome extends Encounter {
  readonly word: string
  readonly message: string
  /** Why Kubernetes refuses the original pod; empty if it is accepted. */
  readonly without: string
  /**
   * Why Kubernetes refuses the pod with observers, even if Ridealong did not add them; empty if it
   * is accepted.
   */
  readonly with: string
}

function outcomesOf(calls: readonly Encounter[]): readonly Outcome[] {
  const alone = judge(calls)
  const rides = calls.map(({ limitRanges, resourceQuotas, enforce }, place) => {
    const labels = { ...GRANTED, ...(enforce && { [ENFORCE]: enforce }) }
    return ride(alone[place]?.seen, { labels, rules: { limitRanges, resourceQuotas } })
  })
  const crowded = judge(
    calls.map((call, place) => {
      const seen = alone[place]?.seen
      const injected = ride(seen, { labels: GRANTED }).answer
      return { ...call, pod: patchedBy<Encounter['pod']>(seen, injected.response) }
    }),
  )
  return calls.map((call, place) => ({
    ...call,
    word: rides[place]?.word ?? '',
    message: rides[place]?.message ?? '',
    without: alone[place]?.refused ?? '',
    with: crowded[place]?.refused ?? '',
  }))
}

t.test('a pod gets observers exactly if Kubernetes admits it with them', { skip }, async (t) => {
  const seed = Date.now() % 2 ** 31
  const outcomes = outcomesOf(fc.sample(encounters, { numRuns: 8_000, seed }))
  const words = new Map<string, number>()
  for (const { word, without } of outcomes) {
    if (without === '') words.set(word, (words.get(word) ?? 0) + 1)
  }
  t.comment(Object.fromEntries(words))
  t.strictSame([...words.keys()].sort(), ['injected', 'limit-range', 'pod-security', 'quota'])
  for (const [word, count] of words)
    t.ok(count > 100, `${word}: ${count} pods; the test needs more than 100`)
  const installed = outcomes.filter(({ word, pod }) => {
    return word === 'injected' && JSON.stringify(pod).includes('cpu-profile')
  })
  t.ok(installed.length > 500, `${installed.length} pods with an installer; the test needs 500`)

  const stopped = outcomes.filter((outcome) => {
    return outcome.word === 'injected' && outcome.without === '' && outcome.with !== ''
  })
  t.strictSame(
    stopped.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `Kubernetes refuses no injected pod (seed ${seed})`,
  )

  // If a LimitRange gives devices to every container, Ridealong adds no observers, although
  // Kubernetes would accept the pod.
  const spared = outcomes.filter((outcome) => {
    const isOwnRule = /: its default of 1 \S+ would also apply to /.test(outcome.message)
    return outcome.word !== 'injected' && outcome.with === '' && !isOwnRule
  })
  t.strictSame(
    spared.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `no left pod would be admitted with observers (seed ${seed})`,
  )
})
