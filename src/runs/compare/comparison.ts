import { findCause, type TimeCause } from './cause.ts'
import { compareQuantities, type QuantityChange, type Side } from './change.ts'
import { compareFindings, type FindingChange } from './finding-change.ts'
import { compareRanks, type RankChange } from './rank-changes.ts'
import { type ComparedRun, chooseTime, type TimeQuantity } from './run-facts.ts'
import { computeScaling, type Scaling } from './scaling.ts'

/** The changes of a side against the first side. */
export interface SideComparison {
  readonly base: string
  readonly other: string
  readonly time: QuantityChange
  readonly cause: TimeCause | null
  readonly findings: readonly FindingChange[]
  /** The quantities without the time by which the sides are compared. */
  readonly quantities: readonly QuantityChange[]
  /** The time in functions of MPI, and their calls; null if a side recorded none. */
  readonly calls: readonly QuantityChange[] | null
  /** The processor time in functions; null if no process of a side was profiled. */
  readonly functions: readonly QuantityChange[] | null
  readonly ranks: readonly RankChange[]
}

export interface RunComparison {
  readonly sides: readonly Side[]
  /** The time by which the sides are compared. */
  readonly time: TimeQuantity
  readonly comparisons: readonly SideComparison[]
  readonly scaling: Scaling | null
}

/** Compares each side with the first one. */
export function compareSides(sides: readonly Side[]): RunComparison {
  const [base, ...others] = sides
  const time = chooseTime(sides.flatMap(({ runs }) => runs))
  const comparisons = base === undefined ? [] : others.map((other) => compareTwo(base, other, time))
  return { sides, time, comparisons, scaling: computeScaling(sides, time) }
}

function compareTwo(base: Side, other: Side, by: TimeQuantity): SideComparison {
  const all = compareQuantities(
    base.runs.map((run) => run.quantities),
    other.runs.map((run) => run.quantities),
    'missing',
  )
  const time = all.find(({ quantity }) => quantity === by)
  if (time === undefined) throw new Error('every run has a time, also if it is not known')
  const quantities = all.filter((change) => change !== time)
  const findings = compareFindings(base, other)
  const ranks = compareRanks(base, other)
  return {
    base: base.name,
    other: other.name,
    time,
    findings,
    quantities,
    ranks,
    cause: findCause(time, findings, ranks),
    calls: compareList(base, other, ({ calls }) => calls),
    functions: compareList(base, other, ({ functions }) => functions),
  }
}

/** Compares the lists of both sides. A quantity that a run does not have in its list is 0. */
function compareList(
  base: Side,
  other: Side,
  listIn: (run: ComparedRun) => ComparedRun['calls'],
): readonly QuantityChange[] | null {
  const [before, after] = [base, other].map(({ runs }) => runs.map(listIn))
  const isKnown = [before, after].every((lists) => lists?.some((list) => list !== null) === true)
  if (!isKnown) return null
  const size = ({ difference }: QuantityChange) => Math.abs(difference ?? 0)
  const isTime = ({ unit }: QuantityChange) => Number(unit === 's')
  const changes = compareQuantities(before ?? [], after ?? [], 'zero')
  return [...changes].sort((a, b) => isTime(b) - isTime(a) || size(b) - size(a))
}
