import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { readQuantity } from '../../../src/core/kubernetes/quantity.ts'
import { buildGoProgram } from '../../cluster/machine/go-program.ts'
import { type Json, patchedBy, ride, type Texts } from '../../src/core/build.ts'
import { type Encounter, encounters, limitedPods } from './arbitrary.ts'

// Compares Ridealong's decisions with Kubernetes' own LimitRanger, PodSecurity and ResourceQuota,
// for pods with and without observers. The first build of the Kubernetes packages takes minutes.

const MODULE = fileURLToPath(new URL('.', import.meta.url))

/** The result of Kubernetes for a pod. */
interface Judged {
  /** The pod with all defaults, as a webhook receives it. */
  readonly seen: Encounter['pod']
  /** Why Kubernetes refuses the pod; empty if it is accepted. */
  readonly refused: string
}

let program = ''

t.before(() => {
  program = join(t.testdir(), 'limits')
  buildGoProgram(MODULE, program)
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
  /** Why the pod was left as it is; `partly` if it has only some of the metrics. */
  readonly word: string
  readonly message: string
  /** Why Kubernetes refuses the original pod; empty if it is accepted. */
  readonly without: string
  /**
   * Why Kubernetes refuses the pod with observers, even if Ridealong did not add them; empty if it
   * is accepted.
   */
  readonly with: string
  /** Why Kubernetes refuses the answer of Ridealong; empty if it is accepted. */
  readonly injected: string
  /** The pod without observers, as a webhook receives it. */
  readonly seen: Json
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
  const answered = judge(
    calls.map((call, place) => {
      const seen = alone[place]?.seen
      const response = rides[place]?.answer.response
      return response === undefined ? call : { ...call, pod: patchedBy<Json>(seen, response) }
    }),
  )
  return calls.map((call, place) => ({
    ...call,
    seen: alone[place]?.seen ?? call.pod,
    injected: answered[place]?.refused ?? '',
    word: wordOf(rides[place]),
    message: rides[place]?.message ?? '',
    without: alone[place]?.refused ?? '',
    with: crowded[place]?.refused ?? '',
  }))
}

function isInjected({ word }: Outcome): boolean {
  return word === 'injected' || word === 'partly'
}

function wordOf(one: ReturnType<typeof ride> | undefined): string {
  return Object.keys(one?.left ?? {}).length > 0 ? 'partly' : (one?.word ?? '')
}

t.test('a pod gets observers exactly if Kubernetes admits it with them', async (t) => {
  const seed = Date.now() % 2 ** 31
  const outcomes = outcomesOf(fc.sample(encounters, { numRuns: 8_000, seed }))
  const words = new Map<string, number>()
  for (const { word, without } of outcomes) {
    if (without === '') words.set(word, (words.get(word) ?? 0) + 1)
  }
  t.comment(Object.fromEntries(words))
  t.strictSame([...words.keys()].sort(), ['injected', 'limit-range', 'partly', 'quota'])
  for (const [word, count] of words)
    t.ok(count > 5, `${word}: ${count} pods; the test needs more than 5`)
  const installed = outcomes.filter(({ word, pod }) => {
    return word === 'injected' && JSON.stringify(pod).includes('cpu-profile')
  })
  t.ok(installed.length > 500, `${installed.length} pods with an installer; the test needs 500`)

  const stopped = outcomes.filter((outcome) => {
    return isInjected(outcome) && outcome.without === '' && outcome.injected !== ''
  })
  t.strictSame(
    stopped.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `Kubernetes refuses no injected pod (seed ${seed})`,
  )

  const spared = outcomes.filter(({ word, with: refused }) => word !== 'injected' && refused === '')
  t.strictSame(
    spared.slice(0, 3).map((outcome) => JSON.stringify(outcome)),
    [],
    `no pod that lacks observers would be admitted with all of them (seed ${seed})`,
  )
})

/** Amounts of an observer or installer that a LimitRange may accept. */
type Amounts = (limits: Texts, place: Encounter) => Texts

const RESOURCES = ['cpu', 'memory'] as const

/** Returns the greatest of the minimums of this type, or the own limit if that is greater. */
function atLeast(name: (typeof RESOURCES)[number], limit: string, place: Encounter, type: string) {
  const items = place.limitRanges.flatMap(({ spec }) => (spec as { limits: Json[] }).limits)
  const minimums = items
    .filter((item) => item.type === type)
    .map(({ min }) => (min as Texts)?.[name])
  const amounts = [limit, ...minimums.filter((one) => one !== undefined)]
  return amounts.reduce((one, other) => (amountOf(other) > amountOf(one) ? other : one))
}

function amountOf(quantity: string): bigint {
  return readQuantity(quantity) ?? 0n
}

const withMinimums =
  (...types: readonly string[]): Amounts =>
  (limits, place) =>
    Object.fromEntries(
      RESOURCES.map((name) => [
        name,
        types.reduce((own, type) => atLeast(name, own, place, type), limits[name] ?? '0'),
      ]),
    )

/** The amounts to try: those of the catalog, the minimums of containers, and those of pods. */
const TRIED: readonly Amounts[] = [
  (limits) => limits,
  withMinimums('Container'),
  withMinimums('Container', 'Pod'),
]

/** Returns a pod with observers whose requests and limits are these amounts. */
function withAmounts(place: Encounter, seen: Json, amounts: Amounts): Encounter {
  const { answer } = ride(
    { ...seen, spec: { ...mapOf(seen.spec), resources: undefined } },
    {
      labels: GRANTED,
    },
  )
  const pod = patchedBy<Json>(seen, answer.response)
  const spec = mapOf(pod.spec)
  const own = mapOf(seen.spec)
  const names = new Set([...listOf(own.containers), ...listOf(own.initContainers)].map(nameOf))
  const rewrite = (containers: unknown) =>
    listOf(containers).map((container) => {
      if (names.has(nameOf(container))) return container
      const { limits } = mapOf(container.resources)
      const cpuAndMemory = amounts(limits as Texts, place)
      const tried = { ...(limits as Texts), ...cpuAndMemory, 'example.com/gpu': '0' }
      return { ...container, resources: { requests: tried, limits: tried } }
    })
  const initContainers = rewrite(spec.initContainers)
  return {
    ...place,
    pod: { ...pod, spec: { ...spec, containers: rewrite(spec.containers), initContainers } },
  }
}

const mapOf = (value: unknown): Json => (value ?? {}) as Json
const listOf = (value: unknown): readonly Json[] => (value ?? []) as readonly Json[]
const nameOf = ({ name }: Json): unknown => name

t.test('observers are added to all pods that can take them', async (t) => {
  const seed = Date.now() % 2 ** 31
  const outcomes = outcomesOf(fc.sample(limitedPods, { numRuns: 10_000, seed }))
  const possible = outcomes.filter(({ without }) => without === '')
  const injected = possible.filter(isInjected)
  const left = possible.filter(({ word }) => word === 'limit-range' || word === 'partly')
  t.comment({
    refused: outcomes.length - possible.length,
    injected: injected.length,
    left: left.length,
  })
  t.equal(new Set([...injected, ...left]).size, possible.length)
  t.ok(injected.length > 1000, 'more than 1000 pods are injected')
  t.strictSame(
    outcomes
      .filter((one) => isInjected(one) && one.without === '' && one.injected !== '')
      .slice(0, 3)
      .map((one) => JSON.stringify(one)),
    [],
    `Kubernetes admits all injected pods (seed ${seed})`,
  )
  for (const amounts of TRIED) {
    const judged = judge(left.map((one) => withAmounts(one, one.seen, amounts)))
    const missed = left.filter((_, place) => judged[place]?.refused === '')
    t.strictSame(
      missed.slice(0, 3).map((one) => JSON.stringify(one)),
      [],
      `Kubernetes refuses the pods that lack observers with all of them (seed ${seed})`,
    )
  }
})
