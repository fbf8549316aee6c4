import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { patchedBy, ride } from '../src/core/build.ts'
import { type Encounter, encounters } from './arbitrary.ts'

// The LimitRanger and the ResourceQuota of Kubernetes themselves judge pods with and without
// observers: the build of their packages is long where nothing of Kubernetes was built before.

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const hasGo = spawnSync('go', ['version']).status === 0
// Where Go has to be, its absence is a failure.
const skip = hasGo || process.env.CI === 'true' ? false : 'Go is not installed'

/** What Kubernetes makes of a pod. */
interface Judged {
  /** With all defaults, as a webhook gets it. */
  readonly seen: Encounter['pod']
  /** Why it is refused, or nothing. */
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

/** An encounter, and what both make of it. */
interface Outcome extends Encounter {
  readonly word: string
  readonly message: string
  /** Why Kubernetes refuses the pod as it came, or nothing. */
  readonly without: string
  /** Why it refuses the pod with the observers, whether they were added or not, or nothing. */
  readonly with: string
}

function outcomesOf(calls: readonly Encounter[]): readonly Outcome[] {
  const alone = judge(calls)
  const rides = calls.map(({ limitRanges, resourceQuotas }, place) => {
    return ride(alone[place]?.seen, { rules: { limitRanges, resourceQuotas } })
  })
  const crowded = judge(
    calls.map((call, place) => {
      const seen = alone[place]?.seen
      return { ...call, pod: patchedBy<Encounter['pod']>(seen, ride(seen).answer.response) }
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

t.test('no pod that Kubernetes admits is refused for its observer', { skip }, async (t) => {
  const seed = Date.now() % 2 ** 31
  const outcomes = outcomesOf(fc.sample(encounters, { numRuns: 8_000, seed }))
  const words = new Map<string, number>()
  for (const { word, without } of outcomes) {
    if (without === '') words.set(word, (words.get(word) ?? 0) + 1)
  }
  t.comment(Object.fromEntries(words))
  t.strictSame([...words.keys()].sort(), ['injected', 'limit-range', 'quota'])
  for (const [word, count] of words) t.ok(count > 100, `${word}: ${count} of the admitted`)

  const stopped = outcomes.filter((outcome) => {
    return outcome.word === 'injected' && outcome.without === '' && outcome.with !== ''
  })
  t.strictSame(
    stopped.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `injected, and refused for it, of seed ${seed}`,
  )

  // Devices that a LimitRange gives to every container are Ridealong's own rule: Kubernetes admits.
  const spared = outcomes.filter((outcome) => {
    return (
      outcome.word !== 'injected' && outcome.with === '' && !/ gets 1 of /.test(outcome.message)
    )
  })
  t.strictSame(
    spared.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `left, and would have been admitted, of seed ${seed}`,
  )
})
