/**
 * Searches for reviews whose answers take long compared with the parsing of the reviews:
 * `npm run bench:search -- --rounds 2000 --seed 1`. The search mutates reviews, keeps the slowest,
 * and prints them, slowest first. If a review is slower than all adversaries in adversarial.ts, add
 * the review to that file.
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { loadCatalog } from '../../src/catalog/load.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { reviewPod } from '../../src/core/review-pod.ts'
import { readBody } from '../../webhook/body.ts'
import { Dice } from '../properties/dice.ts'
import { ADVERSARIES, RULES } from './adversarial.ts'

/** The size of the first reviews and of the longest reviews, in characters. */
const FIRST = 2 ** 12
const LONGEST = 2 ** 17
/** The number of reviews that are kept, and the number of random choices in a mutation. */
const KEPT = 24
const CHOICES = 64

interface Found {
  /** The name of the adversary from which the review was mutated. */
  readonly origin: string
  readonly text: string
  readonly parseMs: number
  readonly answerMs: number
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
})
const seed = Number(values.seed)
const print = (line: string) => process.stdout.write(`${line}\n`)
const settings = {
  catalog: await loadCatalog({}),
  namespace: readNamespace('hpc', undefined, RULES),
  excludedNamespaces: new Set<string>(),
}

/** Returns the shortest of three processor times of an action, in milliseconds. */
function costOf(work: () => void): number {
  const costs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...costs)
}

function measure(origin: string, text: string): Found | undefined {
  try {
    const parseMs = costOf(() => JSON.parse(text))
    const answerMs = costOf(() => reviewPod(readBody(text), settings))
    return { origin, text, parseMs, answerMs }
  } catch {
    // After a mutation, a body may no longer be a review.
    return undefined
  }
}

/**
 * Returns the processor time of an answer minus three times the processor time of parsing the
 * review, in milliseconds.
 */
const badness = ({ answerMs, parseMs }: Found) => answerMs - 3 * parseMs

/**
 * Returns the value with one mutated part: repeated, copied from another review, or made longer.
 */
function mutate(value: unknown, other: unknown, dice: Dice): unknown {
  const isDeep = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isDeep || dice.number(4) === 3) return grown(value, other, dice)
  const keys = Object.keys(value)
  const key = dice.pick(...keys) ?? ''
  const inner = (value as Record<string, unknown>)[key]
  const beside = (other as Record<string, unknown> | null)?.[key] ?? other
  const mutated = mutate(inner, beside, dice)
  if (Array.isArray(value)) return value.with(Number(key), mutated)
  return { ...value, [key]: mutated }
}

function grown(value: unknown, other: unknown, dice: Dice): unknown {
  const times = dice.pick(2, 4, 16, 256)
  if (typeof value === 'string') return dice.pick(value.repeat(times), `${value}${times}`, other)
  if (Array.isArray(value)) {
    const renamed = (item: unknown, place: number) =>
      typeof item === 'object' && item !== null ? { ...item, name: `n${place}` } : item
    const many = Array.from({ length: times }, () => value).flat()
    return dice.pick(many, many.map(renamed), [value], other)
  }
  if (typeof value !== 'object' || value === null) return other
  const entries = Array.from({ length: times }, (_, i) =>
    Object.entries(value).map(([key, inner]) => [`${key}${i}`, inner]),
  )
  return dice.pick(
    Object.fromEntries(entries.flat()),
    { ...mapOf(other), ...value },
    [value],
    other,
  )
}

function mapOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

let kept = ADVERSARIES.flatMap(({ name, build }) => measure(name, build(FIRST)) ?? [])
const throws = fc.array(fc.nat(0xffff), { minLength: CHOICES, maxLength: CHOICES, size: 'max' })
const samples = fc.sample(throws, { numRuns: Number(values.rounds), seed })
print(`seed ${seed}, ${samples.length} rounds`)
for (const sample of samples) {
  const dice = new Dice(sample)
  const [sampled, other] = [dice.pick(...kept), dice.pick(...kept)]
  if (sampled === undefined || other === undefined) break
  const pod = mutate(JSON.parse(sampled.text), JSON.parse(other.text), dice)
  const text = JSON.stringify(pod)
  const found = text.length <= LONGEST ? measure(sampled.origin, text) : undefined
  if (found === undefined) continue
  kept = [...kept, found].sort((a, b) => badness(b) - badness(a)).slice(0, KEPT)
}
print('kB     parse ms  answer ms  ratio  from')
for (const { text, parseMs, answerMs, origin } of kept) {
  const cells = [(text.length / 1000).toFixed(1).padEnd(5), parseMs.toFixed(2).padStart(8)]
  const ratio = (answerMs / parseMs).toFixed(1).padStart(5)
  print(`${cells.join('  ')}  ${answerMs.toFixed(2).padStart(9)}  ${ratio}  ${origin}`)
}
