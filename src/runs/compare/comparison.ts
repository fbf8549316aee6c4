import { findCause, type TimeCause } from './cause.ts'
import { compareQuantities, type QuantityChange, type Side } from './change.ts'
import { compareFindings, type FindingChange } from './finding-change.ts'
import { compareParts, type PartChange } from './part-changes.ts'
import { type ComparedRun, chooseTime, TIME, type TimeQuantity } from './run-facts.ts'
import { computeScaling, type Scaling } from './scaling.ts'
import { countEnds, type SideFacts, withFinished } from './side-rules.ts'

/** The changes of a side against the first side. */
export interface SideComparison extends SideFacts {
  /** The names of the programs of both sides, if they are not the same; otherwise null. */
  readonly programs: { readonly base: readonly string[]; readonly other: readonly string[] } | null
  readonly cause: TimeCause | null
  readonly findings: readonly FindingChange[]
  /**
   * The quantities of the runs that finished, without the time by which the sides are compared. If
   * no run of a side finished, its values are those until its runs ended, and not compared.
   */
  readonly quantities: readonly QuantityChange[]
  /** The time in functions of MPI, and their calls; null if a side recorded none. */
  readonly calls: readonly QuantityChange[] | null
  /** The processor time in functions; null if no process of a side was profiled. */
  readonly functions: readonly QuantityChange[] | null
  readonly parts: readonly PartChange[]
}

export interface RunComparison {
  readonly sides: readonly Side[]
  /** The time by which two sides are compared, unless both lack it. */
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
  const ends = { base: countEnds(base), other: countEnds(other) }
  const [before, after] = [withFinished(base), withFinished(other)]
  const isComparable = [ends.base, ends.other].every(({ runs, unfinished }) => unfinished < runs)
  const judge = (changes: Changes) => (isComparable ? changes : withoutVerdicts(changes))
  const all = judge(
    compareQuantities(
      before.runs.map((run) => run.quantities),
      after.runs.map((run) => run.quantities),
      'missing',
    ),
  )
  const timeBy = (name: TimeQuantity) => all.find(({ quantity }) => quantity === name)
  // Two sides of which no run finished can lack the time by which the others are compared.
  const time = timeBy(by) ?? timeBy(TIME)
  if (time === undefined) throw new Error('every run has a time, also if it is not known')
  const quantities = all.filter((change) => change !== time)
  const findings = compareFindings(base, other)
  const parts = isComparable ? compareParts(before, after) : []
  const listOf = (listIn: ListIn) => {
    const changes = compareList(before, after, listIn)
    return changes && judge(changes)
  }
  return {
    base: base.name,
    other: other.name,
    ends,
    programs: differentPrograms(base, other),
    time,
    findings,
    quantities,
    parts,
    cause: findCause(time, findings, parts),
    calls: listOf(({ calls }) => calls),
    functions: listOf(({ functions }) => functions),
  }
}

type Changes = readonly QuantityChange[]

/** Returns the values of both sides without what follows from them. */
function withoutVerdicts(changes: Changes): Changes {
  const none = { ratio: null, difference: null, interval: null, verdict: 'unknown' } as const
  return changes.map((change) => ({ ...change, ...none }))
}

/** Returns the programs of both sides; null if they are the same, or not known. */
function differentPrograms(base: Side, other: Side): SideComparison['programs'] {
  const [before, after] = [base, other].map(({ runs }) =>
    [...new Set(runs.flatMap(({ programs }) => programs))].sort(),
  ) as [string[], string[]]
  const isKnown = before.length > 0 && after.length > 0
  return isKnown && before.join() !== after.join() ? { base: before, other: after } : null
}

type ListIn = (run: ComparedRun) => ComparedRun['calls']

/** Compares the lists of both sides. A quantity that a run does not have in its list is 0. */
function compareList(base: Side, other: Side, listIn: ListIn): Changes | null {
  const [before, after] = [base, other].map(({ runs }) => runs.map(listIn))
  const isKnown = [before, after].every((lists) => lists?.some((list) => list !== null) === true)
  if (!isKnown) return null
  const size = ({ difference }: QuantityChange) => Math.abs(difference ?? 0)
  const isTime = ({ unit }: QuantityChange) => Number(unit === 's')
  const changes = compareQuantities(before ?? [], after ?? [], 'zero')
  return [...changes].sort((a, b) => isTime(b) - isTime(a) || size(b) - size(a))
}
