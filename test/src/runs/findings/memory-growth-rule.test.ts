import t from 'tap'
import { findIn, podRows } from './rows.ts'

const MIB = 1024 * 1024
const LENGTH = 120

/** Returns a function that returns normally distributed numbers, always the same ones. */
function noise(seed: number): () => number {
  let state = seed
  const uniform = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return (state + 1) / (2 ** 31 + 1)
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/**
 * Returns the findings about a container whose memory, in MiB, is this function of the part of the
 * run from 0 to 1. The standard deviation of the noise is 5 MiB, and a sample in twenty has a
 * buffer of 100 MiB more.
 */
function findGrowth(memoryAt: (part: number) => number, seed = 1) {
  const next = noise(seed)
  const memory_anon = (seconds: number) => {
    const buffer = Math.abs(next()) > 1.96 ? 100 : 0
    return (memoryAt(seconds / LENGTH) + 5 * next() + buffer) * MIB
  }
  const options = { step: 1, only: ['container', 'process'] } as const
  const { findings } = findIn(podRows('0', { container: { memory_anon } }, options))
  return findings.filter(({ rule }) => rule === 'memory-growing')
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

/** The number of seeds with which a finding is made. */
const countFound = (memoryAt: (part: number) => number) =>
  SEEDS.filter((seed) => findGrowth(memoryAt, seed).length > 0).length

t.test(
  'memory that grows steadily to its limit is found, with the time to the limit',
  async (t) => {
    t.equal(
      countFound((part) => 200 + 500 * part),
      SEEDS.length,
    )
    const [found] = findGrowth((part) => 200 + 500 * part)
    const facts = new Map(found?.pods[0]?.facts.map(({ name, value }) => [name, value]))
    // 324 MiB remain, at 500 MiB in 120 s.
    const left = facts.get('time to the limit') ?? 0
    t.ok(Math.abs(left - 77.8) < 8, `${left}`)
    t.match(found?.sentence, /^Pod 0 used more and more memory in container app: at a rate of/)
  },
)

const GIB = 1024

t.test('memory that grows and then stays is not found', async (t) => {
  const shapes: Readonly<Record<string, (part: number) => number>> = {
    'it stops growing after half of the run': (part) => 100 + 850 * Math.min(part / 0.5, 1),
    'it stops growing after 70 % of the run': (part) => 100 + 850 * Math.min(part / 0.7, 1),
    'it stops growing after 90 % of the run': (part) => 100 + 850 * Math.min(part / 0.9, 1),
    'it stops growing after 94 % of the run': (part) => 100 + 850 * Math.min(part / 0.94, 1),
    'it approaches a value': (part) => 0.9 * GIB * (1 - Math.exp(-2 * part)),
    'it is constant': () => 0.8 * GIB,
    'it is allocated and freed in turns': (part) => 500 + 300 * ((part * 25) % 1),
    'it grows in steps': (part) => 200 + 120 * Math.floor(part * 6),
    'it shrinks': (part) => 900 - 500 * part,
    'it grows, but would need four times as long': (part) => 200 + 200 * part,
  }
  for (const [what, memoryAt] of Object.entries(shapes)) t.equal(countFound(memoryAt), 0, what)
})

t.test('the memory of all processes of a container counts together', async (t) => {
  // One process grows, one shrinks, and one is constant.
  const growing = (part: number) => 100 + 400 * part
  const shrinking = (part: number) => 450 - 350 * part
  t.equal(
    countFound((part) => growing(part) + 100 + 450),
    SEEDS.length,
  )
  t.equal(
    countFound((part) => growing(part) + shrinking(part) + 100),
    0,
  )
})

t.test('a container without a limit, or with few samples, has no finding', async (t) => {
  const memory_anon = (seconds: number) => (300 + 5 * seconds) * MIB
  const rulesIn = (cells: object, step: number) => {
    const rows = podRows('0', { container: { memory_anon, ...cells } }, { step })
    return findIn(rows).findings.map(({ rule }) => rule)
  }
  t.strictSame(rulesIn({}, 1), ['memory-growing'])
  t.strictSame(rulesIn({ memory_limit: null, unlimited: 'cpu,memory' }, 1), [])
  t.strictSame(rulesIn({}, 10), [])
  t.strictSame(rulesIn({ oom_kill: 1 / 60, oom: 1 / 60 }, 1), ['oom-killed'])
})
