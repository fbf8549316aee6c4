import { rounded } from '../../lib/round.ts'
import type { TimeCause } from './cause.ts'
import type { QuantityChange, Side } from './change.ts'
import type { RunComparison, SideComparison } from './comparison.ts'
import { headline, shownVerdict } from './headline.ts'
import { CONFIDENCE, MIN_RUNS } from './interval.ts'
import { type TimeQuantity, timeOf } from './run-facts.ts'

/** The version of the document. It changes if a field changes its meaning or is removed. */
const API_VERSION = 'ridealong.dev/v1alpha1'

/** Builds the document of `compare --output json`. */
export function comparisonDocument({ sides, time, comparisons, scaling }: RunComparison) {
  return roundNumbers({
    apiVersion: API_VERSION,
    kind: 'Comparison',
    confidence: CONFIDENCE,
    fewestRuns: MIN_RUNS,
    time,
    sides: sides.map((side) => sideDocument(side, time)),
    comparisons: comparisons.map(twoDocument),
    scaling,
  })
}

function sideDocument({ name, runs }: Side, quantity: TimeQuantity) {
  return {
    name,
    runs: runs.map((run) => {
      const { value = null, resolution = 0 } = timeOf(run, quantity) ?? {}
      const { name: files, size, sizeUnit, programs, completion, notices } = run
      const time = { seconds: value, resolutionSeconds: resolution }
      return { files, size, sizeUnit, programs, completion, ...time, notices }
    }),
  }
}

function twoDocument(comparison: SideComparison) {
  const { base, other, ends, programs, time, cause, findings, parts } = comparison
  return {
    base,
    other,
    headline: headline(comparison),
    verdict: shownVerdict(comparison),
    ends,
    programs,
    cause: causeDocument(cause),
    findings,
    quantities: [time, ...comparison.quantities].map(changeDocument),
    calls: comparison.calls?.map(changeDocument) ?? null,
    functions: comparison.functions?.map(changeDocument) ?? null,
    parts,
  }
}

function causeDocument(cause: TimeCause | null) {
  if (cause === null) return null
  const { kind, seconds } = cause
  if (kind === 'finding')
    return { kind, rule: cause.change.rule, part: null, quantity: null, seconds }
  const { part, quantity } = cause.change
  return { kind, rule: null, part, quantity, seconds }
}

/** JSON has no infinite numbers: a ratio to 0, or a limit that may be one, is null. */
function changeDocument(change: QuantityChange) {
  const { ratio, interval, ...others } = change
  const limits = interval && { lower: finite(interval.lower), upper: finite(interval.upper) }
  return { ...others, ratio: ratio === null ? null : finite(ratio), interval: limits }
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

/** Returns a document with all of its numbers rounded to six digits. */
function roundNumbers<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(roundNumbers) as Value
  if (value === null || typeof value !== 'object') return rounded(value) as Value
  const entries = Object.entries(value).map(([key, own]) => [key, roundNumbers(own)])
  return Object.fromEntries(entries) as Value
}
