import t from 'tap'
import { formatText } from '../../../../cli/shared/table.ts'
import { compareQuantities, type Side } from '../../../../src/runs/compare/change.ts'
import { compareSides } from '../../../../src/runs/compare/comparison.ts'
import { headline } from '../../../../src/runs/compare/headline.ts'
import { measureRun } from '../../../../src/runs/compare/measure-run.ts'
import {
  type ComparedRun,
  type FindingFacts,
  knownQuantity,
  TIME,
} from '../../../../src/runs/compare/run-facts.ts'
import { formatComparison } from '../../../../src/runs/compare/text.ts'
import { recordedRun } from '../convert/recorded.ts'
import { side } from './draws.ts'

const CPU = { quantity: 'process.cpu.time', of: 'process', title: 'CPU time', unit: 's' } as const

/** Returns the facts of a run that took so many seconds. */
function runOf(seconds: number, more: Partial<ComparedRun> = {}): ComparedRun {
  const time = { quantity: TIME, of: 'run', title: 'time', unit: 's', metrics: ['vitals'] } as const
  return {
    name: `${seconds}.jsonl`,
    size: 2,
    sizeUnit: 'pods',
    programs: ['lmp'],
    completion: { state: 'finished', reason: null },
    quantities: [{ ...knownQuantity(time, seconds), resolution: 1 }],
    calls: null,
    functions: null,
    findings: [],
    unchecked: [],
    notices: [],
    ...more,
  }
}

function sideOf(name: string, seconds: readonly number[], more: Partial<ComparedRun> = {}): Side {
  return { name, runs: seconds.map((one) => runOf(one, more)) }
}

const TENS = [100, 101, 99, 100, 102]
const TWENTIES = [200, 202, 199, 201, 198]

const throttled = (secondsLost: number): FindingFacts => {
  return {
    ...{ rule: 'throttled', title: 'Throttled', severity: 'slowdown', secondsLost },
    sentence: 'Pod 0 was throttled.',
    pods: ['0'],
  }
}

t.test('a value that was not measured is missing with its reason, and never 0', async (t) => {
  const measured = [knownQuantity({ ...CPU, metrics: ['vitals'] }, 4)]
  const [change] = compareQuantities([measured], [[]], 'missing')
  t.match(change, {
    base: { median: 4, missing: null },
    other: { median: null, runs: 0, missing: 'no log of vitals' },
    ratio: null,
    difference: null,
    verdict: 'unknown',
  })
})

t.test(
  'a function that was not called took no time, but only if calls were recorded',
  async (t) => {
    const calls = [knownQuantity({ ...CPU, of: 'MPI call', metrics: ['mpi-trace'] }, 4)]
    const [called] = compareQuantities([calls], [[]], 'zero')
    t.match(called, { base: { median: 4 }, other: { median: 0, missing: null }, ratio: 0 })
    const [unrecorded] = compareQuantities([calls], [null], 'zero')
    t.match(unrecorded, { other: { median: null, missing: 'no log of mpi-trace' }, ratio: null })
  },
)

t.test('a finding that the slow runs have is the cause', async (t) => {
  const slow = sideOf('B', TWENTIES, { findings: [throttled(90)] })
  const [comparison] = compareSides([sideOf('A', TENS), slow]).comparisons
  if (comparison === undefined) return t.fail()
  t.match(comparison.findings, [
    {
      status: 'came',
      base: { found: 0, checked: 5 },
      other: { found: 5, checked: 5 },
      secondsLost: 90,
    },
  ])
  t.match(
    headline(comparison),
    /^B is slower than A: 3 min 20 s instead of 100 s, \+100 % \(.*\)\. New finding: Throttled\. Pod 0/,
  )
})

t.test('a finding that lost too little time is not the cause', async (t) => {
  const slow = sideOf('B', TWENTIES, { findings: [throttled(20)] })
  const [comparison] = compareSides([sideOf('A', TENS), slow]).comparisons
  t.equal(comparison?.cause, null)
})

t.test('a rule that was not checked on a side has no new finding', async (t) => {
  const unchecked = [{ rule: 'throttled', reason: 'metric pressure was not collected' }] as const
  const slow = sideOf('B', TWENTIES, { findings: [throttled(90)] })
  const [comparison] = compareSides([sideOf('A', TENS, { unchecked }), slow]).comparisons
  t.match(comparison?.findings, [
    { status: 'unknown', base: { checked: 0, unchecked: 'metric pressure was not collected' } },
  ])
  t.equal(comparison?.cause, null)
})

t.test('with fewer than five runs there is no verdict, and the first line says so', async (t) => {
  const [comparison] = compareSides([
    sideOf('A', TENS),
    sideOf('B', [200, 201, 202, 203]),
  ]).comparisons
  if (comparison === undefined) return t.fail()
  t.match(comparison.time, { verdict: 'unknown', interval: null, ratio: 2.015 })
  t.match(
    headline(comparison),
    /This may be noise: 4 runs of a side cannot show it, at least 5 are/,
  )
})

t.test('a change that the interval between samples can hide is not shown', async (t) => {
  const sides = [sideOf('A', [10, 10, 10, 10, 10]), sideOf('B', [11, 11, 11, 11, 11])]
  t.match(compareSides(sides).comparisons, [{ time: { ratio: 1.1, verdict: 'same' } }])
})

t.test('times that differ have texts that differ', async (t) => {
  const compared = compareSides([
    sideOf('A', [11_981, 11_982, 11_981, 11_980, 11_981]),
    sideOf('B', [12_029, 12_030, 12_029, 12_028, 12_029]),
  ])
  const [text = '', ...rest] = formatText(formatComparison(compared))
  t.match(text, /^B is slower than A: 12029 s instead of 11981 s, \+0\.4 % /)
  t.match(rest.join('\n'), /time +11981 s +12029 s +\+0\.4 % /)
})

t.test('if all runs have recorded MPI, they are compared by its exact time', async (t) => {
  const mpi = { of: 'process of MPI', title: 'since MPI_Init', unit: 's', metrics: [] } as const
  const elapsed = (seconds: number) =>
    knownQuantity({ ...mpi, quantity: 'ridealong.mpi.elapsed' }, seconds)
  const recorded = (name: string, seconds: number) => {
    const [run] = sideOf(name, [10]).runs as [ComparedRun]
    return side(name, Array(5).fill({ ...run, quantities: [...run.quantities, elapsed(seconds)] }))
  }
  const both = compareSides([recorded('A', 9), recorded('B', 9.5)])
  t.match(both.comparisons, [{ time: { title: 'since MPI_Init', verdict: 'more' } }])
  t.match(both.comparisons.map(headline), [/9\.5 s instead of 9 s from MPI_Init to MPI_Finalize/])
  const some = compareSides([recorded('A', 9), sideOf('B', [10, 10, 10, 10, 10])])
  t.match(some.comparisons, [{ time: { title: 'time', verdict: 'same' } }])
  const crashed = { completion: { state: 'unfinished', reason: 'It crashed.' } } as const
  const three = compareSides([
    sideOf('A', TENS, crashed),
    sideOf('B', TENS, crashed),
    recorded('C', 9),
  ])
  const [neither, one] = three.comparisons.map(({ time }) => time.title)
  t.strictSame([neither, one], ['time', 'since MPI_Init'], 'two sides without it have a time')
})

t.test('runs on different numbers of pods scale against the smallest', async (t) => {
  const sides = [
    sideOf('A', [50], { size: 4 }),
    sideOf('B', [100], { size: 1 }),
    sideOf('C', [52, 48, 50], { size: 2 }),
  ]
  const comparison = compareSides(sides)
  t.strictSame(comparison.scaling, {
    sizeUnit: 'pods',
    rows: [
      { side: 'B', size: 1, seconds: 100, speedUp: 1, efficiency: 1 },
      { side: 'C', size: 2, seconds: 50, speedUp: 2, efficiency: 1 },
      { side: 'A', size: 4, seconds: 50, speedUp: 2, efficiency: 0.5 },
    ],
  })
  const text = formatText(formatComparison(comparison)).join('\n')
  t.match(text, /\n {2}A {2}4 +50 s +2 +50 %\n/)
  t.equal(compareSides(sides.slice(0, 1)).scaling, null)
  const mixed = [...sides, sideOf('D', [20], { sizeUnit: 'MPI ranks', size: 8 })]
  t.equal(compareSides(mixed).scaling, null, 'pods are not compared with processes')
})

t.test('the facts of a recorded run have its times, calls and functions', async (t) => {
  const facts = measureRun(recordedRun('all-metrics'), 'all-metrics')
  t.match(facts, { size: 2, sizeUnit: 'MPI ranks' })
  const byName = new Map(facts.quantities.map((one) => [one.quantity, one]))
  // The totals of the summaries of perf-sysstat and mpi-trace.
  t.match(byName.get('process.cpu.time'), { value: 4.64 + 5, byPart: { 0: 4.64, 1: 5 } })
  t.match(byName.get('ridealong.mpi.elapsed'), { value: 26.373717, metrics: ['mpi-trace'] })
  t.match(byName.get('ridealong.pressure.container.cpu_full'), {
    value: null,
    missing: 'the rows of vitals have no value',
  })
  t.ok(facts.calls?.some(({ title, value }) => title === 'MPI_Send' && (value ?? 0) > 0))
  t.ok(facts.functions?.some(({ quantity }) => quantity.startsWith('LAMMPS_NS::')))
})
