import { median } from '../../lib/statistics.ts'
import type { RuleName } from '../findings/rules.ts'
import type { Severity } from '../rules/rule.ts'
import type { Side } from './change.ts'
import type { ComparedRun, FindingFacts } from './run-facts.ts'

/** The findings of a rule in the runs of a side. */
export interface SideFinding {
  /** The number of runs in which the rule was checked. */
  readonly checked: number
  /** The number of runs with the finding. */
  readonly found: number
  /** The median of the time lost in the runs with the finding; null if it is not known. */
  readonly secondsLost: number | null
  /** Why the rule was not checked in a run; null if it was checked in all. */
  readonly unchecked: string | null
}

/**
 * How a finding changed. It belongs to a side if more than half of the runs in which the rule was
 * checked have it.
 * - `came`, `went`: it belongs to one side only.
 * - `stayed`: it belongs to both sides.
 * - `rare`: it belongs to neither.
 * - `unknown`: the rule was not checked in any run of a side.
 */
export type FindingStatus = 'came' | 'went' | 'stayed' | 'rare' | 'unknown'

/** A finding of two sides. */
export interface FindingChange {
  readonly rule: RuleName
  readonly title: string
  readonly severity: Severity
  readonly status: FindingStatus
  readonly base: SideFinding
  readonly other: SideFinding
  /** By how much the time lost grew; null if it is not known. A run without a finding lost none. */
  readonly secondsLost: number | null
  /** The sentence of the run that lost most, of the other side if it has the finding. */
  readonly sentence: string
}

/** Compares the findings of two sides. Those that came are first, and then those that went. */
export function compareFindings(base: Side, other: Side): readonly FindingChange[] {
  const all = [...base.runs, ...other.runs].flatMap(({ findings }) => findings)
  const changes = [...Map.groupBy(all, ({ rule }) => rule).values()].map(([first]) =>
    findingChange(first as FindingFacts, base, other),
  )
  const order = (change: FindingChange) => STATUSES.indexOf(change.status)
  const size = ({ secondsLost }: FindingChange) => Math.abs(secondsLost ?? 0)
  return changes.sort((a, b) => order(a) - order(b) || size(b) - size(a))
}

const STATUSES: readonly FindingStatus[] = ['came', 'went', 'stayed', 'unknown', 'rare']

function findingChange({ rule, title, severity }: FindingFacts, base: Side, other: Side) {
  const [before, after] = [sideFinding(base, rule), sideFinding(other, rule)]
  const sentences = [other, base].map(({ runs }) => worstOf(runs, rule)?.sentence)
  return {
    rule,
    title,
    severity,
    base: before,
    other: after,
    status: statusOf(before, after),
    secondsLost: growthOf(lossesIn(base, rule), lossesIn(other, rule)),
    sentence: sentences.find((sentence) => sentence !== undefined) ?? '',
  } satisfies FindingChange
}

function sideFinding({ runs }: Side, rule: RuleName): SideFinding {
  const reasons = runs.flatMap(({ unchecked }) => unchecked.find((one) => one.rule === rule) ?? [])
  const own = runs.flatMap((run) => findingIn(run, rule) ?? [])
  return {
    checked: runs.length - reasons.length,
    found: own.length,
    secondsLost: median(own.flatMap(({ secondsLost }) => secondsLost ?? [])),
    unchecked: reasons[0]?.reason ?? null,
  }
}

/** Returns the finding of a rule that lost most; a rule can have several. */
function findingIn({ findings }: ComparedRun, rule: RuleName): FindingFacts | undefined {
  return findings.find((one) => one.rule === rule)
}

function worstOf(runs: readonly ComparedRun[], rule: RuleName): FindingFacts | undefined {
  const own = runs.flatMap((run) => findingIn(run, rule) ?? [])
  return [...own].sort((a, b) => (b.secondsLost ?? 0) - (a.secondsLost ?? 0))[0]
}

function statusOf(base: SideFinding, other: SideFinding): FindingStatus {
  if (base.checked === 0 || other.checked === 0) return 'unknown'
  const [before, after] = [base, other].map(({ found, checked }) => 2 * found > checked)
  if (before === after) return before ? 'stayed' : 'rare'
  return after ? 'came' : 'went'
}

/** Returns the seconds lost in each run in which the rule was checked; null if one is not known. */
function lossesIn({ runs }: Side, rule: RuleName): readonly number[] | null {
  const checked = runs.filter(({ unchecked }) => !unchecked.some((one) => one.rule === rule))
  const losses = checked.map((run) => {
    const finding = findingIn(run, rule)
    return finding === undefined ? 0 : finding.secondsLost
  })
  const known = losses.filter((loss) => loss !== null)
  return known.length === losses.length ? known : null
}

function growthOf(base: readonly number[] | null, other: readonly number[] | null): number | null {
  const [before, after] = [median(base ?? []), median(other ?? [])]
  return before === null || after === null ? null : after - before
}
