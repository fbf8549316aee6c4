import { maximum, median } from '../../lib/statistics.ts'
import { type Interval, MIN_RUNS, type Repeated, ratioInterval, ratioOf } from './interval.ts'
import {
  type ComparedRun,
  type QuantityFacts,
  type QuantityUnit,
  quantityKey,
} from './run-facts.ts'

/** Repeated runs of one version, size or setting. */
export interface Side {
  /** A letter. */
  readonly name: string
  readonly runs: readonly ComparedRun[]
}

/**
 * Whether a quantity has really changed:
 * - `more`, `less`: the interval of the ratio does not contain 1.
 * - `same`: it does. The runs do not show a change.
 * - `unknown`: a side has fewer than five values.
 */
export type Verdict = 'more' | 'less' | 'same' | 'unknown'

/** A quantity of the runs of a side. */
export interface SideValue {
  /** The median of the runs in which the value is known; null if it is known in none. */
  readonly median: number | null
  readonly least: number | null
  readonly greatest: number | null
  /** The number of runs in which the value is known. */
  readonly runs: number
  /** Why the value is not known in a run; null if it is known in all. */
  readonly missing: string | null
  readonly metrics: readonly string[]
}

/** A quantity of two sides. */
export interface QuantityChange {
  readonly quantity: string
  readonly of: string
  readonly title: string
  readonly unit: QuantityUnit
  readonly base: SideValue
  readonly other: SideValue
  /** The median of the other side divided by that of the base; null if one is not known. */
  readonly ratio: number | null
  readonly difference: number | null
  /** By how much a real value can be above the measured one. */
  readonly resolution: number
  /** The interval of the ratio; null if a side has too few runs. */
  readonly interval: Interval | null
  readonly verdict: Verdict
}

/** How a quantity that a run does not have is understood. */
export type Absent =
  /** It was not measured. */
  | 'missing'
  /** It is 0, as the time in a function that was never called. */
  | 'zero'

/** The facts of a side: for each run the list of its quantities, or null if there is none. */
export type FactsBySide = readonly (readonly QuantityFacts[] | null)[]

/** Compares the quantities of two sides, in the order in which they first occur. */
export function compareQuantities(
  base: FactsBySide,
  other: FactsBySide,
  absent: Absent,
): readonly QuantityChange[] {
  const [before, after] = [base.map(byKey), other.map(byKey)]
  const all = new Map<string, QuantityFacts>()
  for (const facts of [...base, ...other].flatMap((list) => list ?? []))
    if (!all.has(quantityKey(facts))) all.set(quantityKey(facts), facts)
  return [...all].map(([key, facts]) => {
    const own = (runs: typeof before) => runs.map((run) => factsIn(run, key, { facts, absent }))
    return changeOf(facts, own(before), own(after))
  })
}

function byKey(list: readonly QuantityFacts[] | null): ReadonlyMap<string, QuantityFacts> | null {
  return list && new Map(list.map((facts) => [quantityKey(facts), facts]))
}

/** Returns the facts of a run about a quantity, also if the run does not have it. */
function factsIn(
  run: ReadonlyMap<string, QuantityFacts> | null,
  key: string,
  { facts, absent }: { readonly facts: QuantityFacts; readonly absent: Absent },
): QuantityFacts {
  const own = run?.get(key)
  if (own !== undefined) return own
  const none = { ...facts, resolution: 0, metrics: [], byPart: {} }
  if (absent === 'zero' && run !== null) return { ...none, value: 0, missing: null }
  const { metrics } = facts
  const missing = metrics.length === 0 ? 'not measured' : `no log of ${metrics.join(' or ')}`
  return { ...none, value: null, missing }
}

function changeOf(
  { quantity, of, title, unit }: QuantityFacts,
  base: readonly QuantityFacts[],
  other: readonly QuantityFacts[],
): QuantityChange {
  const [before, after] = [sideValue(base), sideValue(other)]
  const isKnown = before.median !== null && after.median !== null
  const interval = intervalOf(base, other)
  return {
    quantity,
    of,
    title,
    unit,
    base: before,
    other: after,
    ratio: isKnown ? ratioOf(after.median, before.median) : null,
    difference: isKnown ? after.median - before.median : null,
    resolution: Math.max(resolutionOf(base), resolutionOf(other)),
    interval,
    verdict: verdictOf(interval),
  }
}

function sideValue(facts: readonly QuantityFacts[]): SideValue {
  const known = knownIn(facts)
  const least = known.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY)
  return {
    median: median(known),
    least: known.length === 0 ? null : least,
    greatest: maximum(known),
    runs: known.length,
    missing: facts.find(({ value }) => value === null)?.missing ?? null,
    metrics: [...new Set(facts.flatMap(({ metrics }) => metrics))].sort(),
  }
}

function knownIn(facts: readonly QuantityFacts[]): readonly number[] {
  return facts.flatMap(({ value }) => value ?? [])
}

function resolutionOf(facts: readonly QuantityFacts[]): number {
  return facts.reduce((most, { resolution }) => Math.max(most, resolution), 0)
}

function intervalOf(
  base: readonly QuantityFacts[],
  other: readonly QuantityFacts[],
): Interval | null {
  const [before, after] = [base, other].map((facts) => ({
    values: knownIn(facts),
    resolution: resolutionOf(facts),
  })) as [Repeated, Repeated]
  const isEnough = before.values.length >= MIN_RUNS && after.values.length >= MIN_RUNS
  return isEnough ? ratioInterval(before, after) : null
}

function verdictOf(interval: Interval | null): Verdict {
  if (interval === null) return 'unknown'
  if (interval.lower > 1) return 'more'
  return interval.upper < 1 ? 'less' : 'same'
}
