import t from 'tap'
import { compareSides, type SideComparison } from '../../../../src/runs/compare/comparison.ts'
import { headline, shownVerdict } from '../../../../src/runs/compare/headline.ts'
import type { ComparedRun } from '../../../../src/runs/compare/run-facts.ts'
import { chooseRule, SIDE_RULES } from '../../../../src/runs/compare/side-rules.ts'
import { draw, randomNumbers, recordedRuns, side } from './draws.ts'

const LIMIT = 0.05
const GOOD = recordedRuns('even')
const SLOW = recordedRuns('uneven')

function compareTwo(base: readonly ComparedRun[], other: readonly ComparedRun[]): SideComparison {
  const [comparison] = compareSides([side('A', base), side('B', other)]).comparisons
  if (comparison === undefined) throw new Error('two sides have one comparison')
  return comparison
}

for (const kind of ['hang', 'crash'] as const) {
  t.test(`a side with a recorded ${kind} fails in each of 100 draws`, async (t) => {
    const random = randomNumbers(47)
    const bad = recordedRuns(kind)
    for (let number = 0; number < 100; number++) {
      const base = draw(GOOD, 5 + Math.floor(4 * random()), random)
      const size = 5 + Math.floor(4 * random())
      // At least one run is bad, and at most all are. Copies of a recording are other runs.
      const count = 1 + Math.floor(size * random())
      const copies = Array.from({ length: count }, () => draw(bad, 1, random)).flat()
      const other = draw([...copies, ...draw(GOOD, size - count, random)], size, random)
      const comparison = compareTwo(base, other)
      const line = headline(comparison)
      t.equal(chooseRule(comparison, LIMIT).exitCode, 1, line)
      t.equal(shownVerdict(comparison), 'unfinished')
      t.notMatch(line, /faster|slower|no difference/)
      t.match(line, count === size ? /^None of the \d runs of B finished\./ : /^\d of \d runs of B/)
    }
  })
}

t.test('the first rule that applies decides', async (t) => {
  const [hang, crash] = [recordedRuns('hang'), recordedRuns('crash')]
  const [five, six] = [GOOD.slice(0, 5), GOOD.slice(5, 11)]
  const unknown = six.map((run) => {
    return { ...run, completion: { state: 'unknown', reason: 'Not collected.' } } as const
  })
  const cases = [
    [
      'unfinished',
      five,
      [...six, ...hang.slice(0, 1)],
      /^1 of 7 runs of B did not finish\. .* The other 6 took /,
    ],
    ['unfinished', hang, crash, /^None of the 6 runs of B finished\. .* None of the 6 runs of A /],
    [
      'unfinished',
      five,
      crash.slice(0, 1),
      /^B did not finish\. Pod 0 failed: .* A took 2\.\d+ s from/,
    ],
    [
      'base-unfinished',
      hang,
      five,
      /^None of the 6 runs of A finished\. .* B took 2\.\d+ s from MPI_Init/,
    ],
    [
      'end-unknown',
      five,
      unknown,
      / took .* It is not known whether B finished\. Not collected\.$/,
    ],
    [
      'too-few-runs',
      [...five.slice(1), ...crash.slice(0, 1)],
      six,
      /^1 of 5 runs of A did not finish\. .* B took .* This may be noise/,
    ],
    ['too-few-runs', five, six.slice(0, 4), /^B took .* This may be noise: 4 runs of a side/],
    ['slower', five, SLOW.slice(0, 5), /^B is slower than A: /],
    [
      'slower',
      [...five, ...crash.slice(0, 1)],
      SLOW.slice(0, 5),
      /^1 of 6 runs of A did not finish\. .* B is slower/,
    ],
    ['passed', SLOW.slice(0, 5), five, /^B is faster than A: /],
  ] as const
  for (const [name, base, other, line] of cases) {
    const comparison = compareTwo(base, other)
    t.equal(chooseRule(comparison, LIMIT).name, name)
    t.match(headline(comparison), line)
  }
  const tested = new Set<string>(cases.map(([name]) => name))
  t.strictSame(
    SIDE_RULES.filter(({ name }) => !tested.has(name)),
    [],
  )
})

t.test('the amounts of runs that did not finish are shown, and not compared', async (t) => {
  const { time, quantities, parts, calls } = compareTwo(GOOD.slice(0, 5), recordedRuns('crash'))
  t.match(time, { other: { median: null, missing: 'the run did not finish' }, verdict: 'unknown' })
  const cpu = quantities.find(({ quantity }) => quantity === 'process.cpu.time')
  t.match(cpu, { ratio: null, difference: null, interval: null, verdict: 'unknown' })
  t.ok((cpu?.other.median ?? 0) > 0)
  t.strictSame(parts, [])
  t.ok(calls?.every(({ verdict }) => verdict === 'unknown'))
})

t.test('one run that did not finish leaves the others to be compared', async (t) => {
  const base = GOOD.slice(0, 5)
  const { quantities } = compareTwo(base, [
    ...SLOW.slice(0, 5),
    ...recordedRuns('crash').slice(0, 1),
  ])
  const cpu = quantities.find(({ quantity }) => quantity === 'process.cpu.time')
  t.equal(cpu?.other.runs, 5)
  t.not(cpu?.interval, null)
})

t.test('other programs are named, and still compared', async (t) => {
  const renamed = SLOW.slice(0, 5).map((run) => ({ ...run, programs: ['split_mpi'] }))
  const comparison = compareTwo(GOOD.slice(0, 5), renamed)
  t.match(
    headline(comparison),
    /^B is slower than A: .* The programs differ: A ran split, and B ran split_mpi\./,
  )
  t.notMatch(headline(compareTwo(GOOD.slice(0, 5), SLOW.slice(0, 5))), /programs differ/)
})

t.test('the time from MPI_Init to MPI_Finalize is named only if both were seen', async (t) => {
  const lost = GOOD.slice(0, 5).map((run) => ({
    ...run,
    quantities: run.quantities.map((one) =>
      one.quantity === 'ridealong.mpi.elapsed' ? { ...one, value: null, missing: 'lost' } : one,
    ),
  }))
  t.notMatch(headline(compareTwo(GOOD.slice(5, 10), lost)), /MPI_Finalize/)
  t.match(
    headline(compareTwo(GOOD.slice(5, 10), GOOD.slice(0, 5))),
    /from MPI_Init to MPI_Finalize/,
  )
})
