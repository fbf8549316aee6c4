import t from 'tap'
import {
  compareQuantities,
  type QuantityChange,
  type Side,
} from '../../../../src/runs/compare/change.ts'
import { compareSides } from '../../../../src/runs/compare/comparison.ts'
import { headline } from '../../../../src/runs/compare/headline.ts'
import { draw, type Kind, randomNumbers, recordedRuns, side } from './draws.ts'

// Comparisons of recorded runs: draws of five runs against five others.

const DRAWS = 10_000
const RUNS = 5

t.test('of two sides with equal runs, at most 6 % are called different', async (t) => {
  const all = recordedRuns('even')
  t.equal(all.length, 40)
  const random = randomNumbers(20_261_126)
  const lists = all.map(({ quantities }) => quantities.filter(({ unit }) => unit === 's'))
  const different = new Map<string, number>()
  for (let number = 0; number < DRAWS; number++) {
    const drawn = draw(lists, 2 * RUNS, random)
    for (const { title, verdict } of compareQuantities(
      drawn.slice(0, RUNS),
      drawn.slice(RUNS),
      'missing',
    ))
      different.set(
        title,
        (different.get(title) ?? 0) + Number(verdict === 'more' || verdict === 'less'),
      )
  }
  for (const title of [
    'time',
    'CPU time',
    'since MPI_Init',
    'outside MPI',
    'waiting for a processor',
  ]) {
    const part = (different.get(title) ?? Number.NaN) / DRAWS
    t.comment(`${title}: ${(100 * part).toFixed(2)} % are called different`)
    t.ok(part <= 0.06, `${title}: ${part}`)
  }
})

/** For each kind of slow runs, the beginning of the sentence about the cause. */
const CAUSES: readonly (readonly [Kind, RegExp])[] = [
  ['limited', /^B is slower than A: .* New finding: Throttled/],
  ['crowded', /^B is slower than A: .* (New|Changed) finding: Waiting for a CPU/],
  ['uneven', /^B is slower than A: .* New finding: Waiting for a rank in collective calls/],
]

for (const [kind, expected] of CAUSES) {
  t.test(`${kind} runs are called slower, and the first line says why`, async (t) => {
    const [even, slow] = [recordedRuns('even'), recordedRuns(kind)]
    const random = randomNumbers(5)
    const lines = Array.from({ length: 200 }, () => {
      const sides = [side('A', draw(even, RUNS, random)), side('B', draw(slow, RUNS, random))]
      const [comparison] = compareSides(sides).comparisons
      return comparison === undefined ? '' : headline(comparison)
    })
    const matching = lines.filter((line) => expected.test(line))
    t.ok(
      matching.length >= 0.9 * lines.length,
      `${matching.length} of ${lines.length}: ${lines[0]}`,
    )
  })
}

for (const kind of ['even', 'uneven', 'limited', 'crowded'] as const) {
  t.test(`${kind} runs that are compared with themselves have no changes`, async (t) => {
    const runs = recordedRuns(kind)
    const [a, b] = [side('A', runs), side('B', runs)]
    for (const { title, base, ratio, verdict } of changesIn(a, b)) {
      t.equal(ratio, base.median === null ? null : 1, title)
      t.equal(verdict, base.runs < RUNS ? 'unknown' : 'same', title)
    }
    const [comparison] = compareSides([a, b]).comparisons
    const statuses = comparison?.findings.map(({ status }) => status) ?? []
    t.notOk(statuses.includes('came') || statuses.includes('went'))
    t.match(comparison, { cause: null, parts: [], time: { verdict: 'same', ratio: 1 } })
  })
}

for (const kind of ['even', 'uneven', 'limited', 'crowded'] as const) {
  t.test(`to exchange the sides inverts each ratio and verdict of ${kind} runs`, async (t) => {
    const random = randomNumbers(11)
    const a = side('A', draw(recordedRuns('even'), RUNS, random))
    const b = side('B', draw(recordedRuns(kind), RUNS, random))
    const back = new Map(changesIn(b, a).map((change) => [keyOf(change), change]))
    for (const { ratio, verdict, ...own } of changesIn(a, b)) {
      const other = back.get(keyOf(own))
      t.equal(other?.verdict, OPPOSITE[verdict], own.title)
      const product = ratio === null ? 1 : ratio * (other?.ratio ?? 0)
      t.ok(Math.abs(product - 1) < 1e-9, own.title)
    }
  })
}

const OPPOSITE = { more: 'less', less: 'more', same: 'same', unknown: 'unknown' }

function changesIn(base: Side, other: Side): readonly QuantityChange[] {
  return compareSides([base, other]).comparisons.flatMap(({ time, quantities, calls }) => {
    return [time, ...quantities, ...(calls ?? [])]
  })
}

const keyOf = ({ of, quantity, unit }: Pick<QuantityChange, 'of' | 'quantity' | 'unit'>) =>
  [of, quantity, unit].join(' ')
