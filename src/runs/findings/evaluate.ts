import { capitalized } from '../../lib/capitalized.ts'
import { maximum } from '../../lib/statistics.ts'
import type { Need, PlottedColumn } from '../evidence/evidence.ts'
import {
  columnsReadOnce,
  nameOf,
  partlyRead,
  type RankEvidence,
  type RunEvidence,
  unreadColumns,
} from '../evidence/run-evidence.ts'
import { compareLoss } from '../rules/per-rank.ts'
import type { Affected, FindingRule, FoundRanks, Severity, Threshold } from '../rules/rule.ts'
import { factText, rankName, rankNames, thingsOf } from '../rules/sentence.ts'
import { MIN_SECONDS } from '../rules/time-lost.ts'
import { type CheckedRule, EXPLANATIONS, RULES, type RuleName } from './rules.ts'

/** A finding: what held ranks of a run up, with the evidence, and with advice. */
export interface RunFinding {
  readonly rule: RuleName
  readonly title: string
  readonly severity: Severity
  /** The finding as text for people, one sentence or more. */
  readonly sentence: string
  /** The seconds that the worst rank lost; null if this time is not known. */
  readonly lost: number | null
  /** Whether the numbers belong to the ranks, or to their nodes, which other pods share. */
  readonly scope: 'rank' | 'node'
  /** The ranks with their numbers, the worst first. */
  readonly ranks: readonly Affected[]
  readonly threshold: Threshold
  readonly advice: string
  /** The column to plot; null if no column of the rule's `plots` was read. */
  readonly plot: PlottedColumn | null
  readonly isRelative: boolean
}

/** A finding that was not made, because another one explains it. */
export interface ExplainedFinding {
  readonly rule: RuleName
  readonly ranks: readonly string[]
  readonly by: RuleName
  readonly because: string
}

/** A rule that could not be checked, for all ranks or some of them. */
export interface UncheckedRule {
  readonly rule: RuleName
  readonly title: string
  /** Why not, for example "metric pressure was not collected". */
  readonly reason: string
  /** The ranks for which the rule was not checked; null if it was checked for none. */
  readonly ranks: readonly string[] | null
}

/** The result of all rules. */
export interface Findings {
  /** The findings, the worst first. */
  readonly findings: readonly RunFinding[]
  readonly explained: readonly ExplainedFinding[]
  readonly notChecked: readonly UncheckedRule[]
}

/**
 * Checks all rules.
 *
 * @param known the names of all ranks, including ranks without rows that a rule reads
 */
export function findFindings(run: RunEvidence, known: readonly string[]): Findings {
  const { findings, explained, found } = applyRules(run)
  const notChecked = RULES.flatMap((rule) => uncheckedFor(rule, run, { known, found }))
  return { findings, explained, notChecked }
}

/** Applies all rules, without the reasons why some were not checked. */
export function applyRules(
  run: RunEvidence,
): Pick<Findings, 'findings' | 'explained'> & { readonly found: FoundRanks } {
  const found = new Map<FindingRule, ReadonlyMap<string, number | null>>()
  const findings: RunFinding[] = []
  const explained: ExplainedFinding[] = []
  for (const rule of RULES) {
    const candidates = rule.find(readPods(run, rule), found)
    const { own, explained: others } = separate(rule.name, candidates, found)
    explained.push(...others)
    if (own.length === 0) continue
    found.set(rule, new Map(own.map(({ rank, lost }) => [rank, lost])))
    findings.push(...findingsOf(rule, own, run))
  }
  return { findings: findings.sort(compareFindings), explained, found }
}

/** Keeps only the ranks whose rows have the columns that a rule needs, or enough without them. */
function readPods(run: RunEvidence, rule: FindingRule): RunEvidence {
  const { canFind = () => false } = rule
  return {
    ...run,
    ranks: run.ranks.filter((rank) => metNeed(rank, rule) !== undefined || canFind(rank)),
  }
}

/** Returns the first alternative whose columns were all read. */
function metNeed(rank: RankEvidence, { needs }: FindingRule): readonly Need[] | undefined {
  return needs.find((need) => isMet(rank, need))
}

function isMet(rank: RankEvidence, need: readonly Need[]): boolean {
  return need.every((one) => unreadColumns(rank, one).length === 0)
}

/** Separates the ranks whose finding is made from the ranks whose finding another one explains. */
function separate(name: RuleName, candidates: readonly Affected[], found: FoundRanks) {
  const own: Affected[] = []
  const greatest = new Map(
    [...found].map(([rule, ranks]) => [rule, maximum([...ranks.values()])] as const),
  )
  const others = new Map<string, { by: RuleName; because: string; ranks: string[] }>()
  for (const one of candidates) {
    const cause = causeOf(name, one, { found, greatest })
    if (cause === undefined) {
      own.push(one)
      continue
    }
    const group = others.get(cause.by) ?? { ...cause, ranks: [] }
    others.set(cause.by, group)
    group.ranks.push(one.rank)
  }
  const explained = [...others.values()].map(({ ranks, by, because }) => {
    return { rule: name, ranks, by, because }
  })
  return { own, explained }
}

/** The seconds lost in the findings so far: of each rank, and the most of any rank. */
interface Losses {
  readonly found: FoundRanks
  readonly greatest: ReadonlyMap<FindingRule, number | null>
}

/** Returns the rule whose finding explains a finding about a rank, and why; or undefined. */
function causeOf(name: RuleName, one: Affected, { found, greatest }: Losses) {
  for (const { by, rules, of, because } of EXPLANATIONS) {
    if (!rules.includes(name)) continue
    const lost = of === 'any rank' ? greatest.get(by) : found.get(by)?.get(one.rank)
    if (lost !== undefined && isAccountedFor(one, lost)) return { by: by.name, because }
  }
  return undefined
}

/** The part of the time of a finding that another one must account for to explain it. */
const MIN_EXPLAINED = 0.5

/** Reports whether a finding that lost so much time is large enough to explain another one. */
function isAccountedFor({ lost, size = lost ?? undefined }: Affected, by: number | null): boolean {
  return size === undefined || (by !== null && by >= MIN_EXPLAINED * size)
}

/** Makes the findings of a rule: one for each cause, separately about ranks and about nodes. */
function findingsOf(
  rule: CheckedRule,
  affected: readonly Affected[],
  run: RunEvidence,
): RunFinding[] {
  const scopeOf = (rank: string) => (rule.isOfNode?.(run, rank) === true ? 'node' : 'rank')
  const groups = Map.groupBy(affected, ({ rank, cause }) => `${scopeOf(rank)} ${cause ?? ''}`)
  return [...groups.values()].map((own) => {
    const [{ rank }] = own as [Affected]
    return buildFinding(rule, own, scopeOf(rank), run)
  })
}

function buildFinding(
  rule: CheckedRule,
  affected: readonly Affected[],
  scope: RunFinding['scope'],
  run: RunEvidence,
): RunFinding {
  const { name, title, severity, threshold, advice, isRelative = false } = rule
  const ranks = [...affected].sort(compareLoss)
  const [worst] = ranks as [Affected]
  return {
    rule: name,
    title,
    severity,
    sentence: sentenceOf(rule, worst, ranks, scope),
    lost: worst.lost,
    scope,
    ranks,
    threshold,
    advice,
    plot: plotOf(rule, run, worst.rank),
    isRelative,
  }
}

function sentenceOf(
  { sentence, isWholeText = false }: FindingRule,
  worst: Affected,
  ranks: readonly Affected[],
  scope: RunFinding['scope'],
): string {
  if (isWholeText) return sentence(worst)
  const who = rankName(worst.rank)
  const subject = scope === 'node' ? `The node of ${who}` : capitalized(who)
  const isLoss = worst.lost !== null && worst.lost >= MIN_SECONDS
  const loss = isLoss ? ` It lost ${factText({ value: worst.lost, unit: 's' })}.` : ''
  const { also = [] } = worst
  const less =
    also.length === 0
      ? ''
      : ` The same is true to a lesser extent of ${thingsOf({ things: also })}.`
  const others = ranks.slice(1).map(({ rank }) => rank)
  const more = others.length === 0 ? '' : ` The same is true of ${rankNames(others)}.`
  const shared = scope === 'node' ? ' All pods of a node with hostNetwork share this number.' : ''
  return `${subject} ${sentence(worst)}.${loss}${less}${more}${shared}`
}

function plotOf(
  { plots }: FindingRule,
  { ranks }: RunEvidence,
  name: string,
): PlottedColumn | null {
  const rank = ranks.find((one) => one.rank === name)
  const isRead = ({ column, ...place }: PlottedColumn) =>
    rank !== undefined && unreadColumns(rank, { ...place, columns: [column] }).length === 0
  const found = plots.find(isRead)
  return found === undefined || rank === undefined ? null : { ...found, ...rank.placeOf(found) }
}

const SEVERITIES: readonly Severity[] = ['failure', 'slowdown', 'risk']

/** Sorts failures before slowdowns before risks, and each of these by the time lost. */
function compareFindings(a: RunFinding, b: RunFinding): number {
  const bySeverity = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)
  return bySeverity || (b.lost ?? -1) - (a.lost ?? -1)
}

/** Returns the reasons why a rule was not checked, each with the ranks that it applies to. */
function uncheckedFor(
  rule: CheckedRule,
  run: RunEvidence,
  { known, found }: { readonly known: readonly string[]; readonly found: FoundRanks },
): readonly UncheckedRule[] {
  const { name, title } = rule
  if (isLeftOut(rule, run)) return []
  const rows = new Map(run.ranks.map((rank) => [rank.rank, rank]))
  const others = rule.uncheckedIn?.(run, found)
  const byReason = new Map<string, string[]>()
  for (const label of known) {
    const reason = whyUnchecked(rows.get(label), rule) ?? others?.get(label)
    if (reason === undefined) continue
    const own = byReason.get(reason)
    if (own === undefined) byReason.set(reason, [label])
    else own.push(label)
  }
  return [...byReason].map(([reason, own]) => {
    return { rule: name, title, reason, ranks: own.length === known.length ? null : own }
  })
}

/** Returns which columns were missing of a rank, or of some of its things. */
function whyUnchecked(rank: RankEvidence | undefined, rule: FindingRule): string | undefined {
  const met = rank === undefined ? undefined : metNeed(rank, rule)
  // A rule that needs no column is checked with the status of the pod.
  if (rule.needs.some((columns) => columns.length === 0)) return undefined
  if (rank === undefined || met === undefined) return reasonFor(rank, rule.needs)
  const reasons = met.flatMap((need) => unreadThings(rank, need))
  return reasons.length === 0 ? undefined : reasons.join(' and ')
}

/** Says which columns were read of some things of a rank, but not of all. */
function unreadThings(rank: RankEvidence, need: Need): readonly string[] {
  const { columns, things } = partlyRead(rank, need)
  if (things.length === 0) return []
  const names = [...new Set(things.map((thing) => thing.program ?? nameOf(thing)))].sort()
  const of = `${columns.join(', ')} of ${rank.placeOf(need).metric}`
  return [`${of} could not be read for ${thingsOf({ things: names })}`]
}

/** Returns why a rank has the columns of none of the alternatives that a rule needs. */
function reasonFor(rank: RankEvidence | undefined, needs: FindingRule['needs']): string {
  const alternatives = needs.map((need) => ({ need, absent: absentMetrics(rank, need) }))
  // Skip an alternative if another alternative lacks only a part of the same metrics.
  const nearest = alternatives.filter(({ absent }) => {
    return !alternatives.some((other) => isPart(other.absent, absent))
  })
  const reasons = nearest.map(({ need, absent }) => missingIn(rank, need, absent))
  return [...new Set(reasons)].join(', and ')
}

/** Reports whether the first list is not empty, and has some but not all items of the second. */
function isPart(some: readonly string[], all: readonly string[]): boolean {
  const isSmaller = some.length > 0 && some.length < all.length
  return isSmaller && some.every((one) => all.includes(one))
}

/** Reports whether a rule is optional, and no metric that it reads was collected. */
function isLeftOut({ isOptional = false, needs }: FindingRule, { ranks }: RunEvidence): boolean {
  const metrics = needs.flat().map(({ metric }) => metric)
  return isOptional && !ranks.some((rank) => metrics.some((metric) => rank.metrics.has(metric)))
}

function absentMetrics(rank: RankEvidence | undefined, needs: readonly Need[]): readonly string[] {
  const metrics = [...new Set(needs.map(({ metric }) => metric))]
  return metrics.filter((metric) => rank?.metrics.has(metric) !== true)
}

function missingIn(
  rank: RankEvidence | undefined,
  needs: readonly Need[],
  absent: readonly string[],
): string {
  const all = absent.join(' and ')
  if (absent.length > 1) return `metrics ${all} were not collected`
  if (absent.length === 1) return `metric ${all} was not collected`
  return needs.flatMap((need) => unreadIn(rank, need)).join(' and ')
}

/** Returns which columns of a section were never read, and which too seldom. */
function unreadIn(rank: RankEvidence | undefined, need: Need): readonly string[] {
  const unread = rank === undefined ? need.columns : unreadColumns(rank, need)
  const once = rank === undefined ? [] : columnsReadOnce(rank, need)
  const never = unread.filter((column) => !once.includes(column))
  const { metric } = rank?.placeOf(need) ?? need
  return [
    ...(never.length === 0 ? [] : [`${never.join(', ')} of ${metric} could not be read`]),
    ...(once.length === 0 ? [] : [`${once.join(', ')} of ${metric} had only one sample`]),
  ]
}
