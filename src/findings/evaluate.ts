import type { Evidence, Need } from './evidence.ts'
import type {
  Affected,
  FindingRule,
  FoundRanks,
  PlottedColumn,
  RuleName,
  Severity,
  Threshold,
} from './rule.ts'
import { EXPLANATIONS, RULES } from './rules.ts'
import {
  columnsReadOnce,
  groupByRank,
  type RankEvidence,
  type RunEvidence,
  unreadColumns,
} from './run-evidence.ts'
import { factText, rankList, rankName } from './sentence.ts'

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
 * @param rankOf returns the rank of a log
 * @param known the names of all ranks, including ranks without rows that a rule reads
 */
export function findFindings(
  evidence: Evidence,
  rankOf: (source: string) => string,
  known: readonly string[],
): Findings {
  const run = groupByRank(evidence, rankOf)
  const found = new Map<RuleName, Set<string>>()
  const findings: RunFinding[] = []
  const explained: ExplainedFinding[] = []
  for (const rule of RULES) {
    const candidates = rule.find(checkedRanks(run, rule), found)
    const { own, explained: others } = separate(rule.name, candidates, found)
    explained.push(...others)
    if (own.length === 0) continue
    found.set(rule.name, new Set(own.map(({ rank }) => rank)))
    findings.push(...findingsOf(rule, own, run))
  }
  const notChecked = RULES.flatMap((rule) => uncheckedFor(rule, run, known))
  return { findings: findings.sort(compareFindings), explained, notChecked }
}

/** Keeps only the ranks whose rows have the columns that a rule needs. */
function checkedRanks({ ranks }: RunEvidence, { needs }: FindingRule): RunEvidence {
  return { ranks: ranks.filter((rank) => needs.some((need) => isMet(rank, need))) }
}

function isMet(rank: RankEvidence, need: readonly Need[]): boolean {
  return need.every((one) => unreadColumns(rank, one).length === 0)
}

/** Separates the ranks whose finding is made from the ranks whose finding another one explains. */
function separate(name: RuleName, candidates: readonly Affected[], found: FoundRanks) {
  const own = candidates.filter(({ rank }) => causeOf(name, rank, found) === undefined)
  const others = new Map<string, { by: RuleName; because: string; ranks: string[] }>()
  for (const { rank } of candidates) {
    const cause = causeOf(name, rank, found)
    if (cause === undefined) continue
    const group = others.get(cause.by) ?? { ...cause, ranks: [] }
    others.set(cause.by, group)
    group.ranks.push(rank)
  }
  const explained = [...others.values()].map(({ ranks, by, because }) => {
    return { rule: name, ranks, by, because }
  })
  return { own, explained }
}

/** Returns the rule whose finding explains a finding about a rank, and why; or undefined. */
function causeOf(name: RuleName, rank: string, found: FoundRanks) {
  for (const { by, explains, of, because } of EXPLANATIONS) {
    if (!explains.includes(name)) continue
    const cause = by.find((one) => {
      const ranks = found.get(one)
      return of === 'any rank' ? ranks !== undefined : ranks?.has(rank)
    })
    if (cause !== undefined) return { by: cause, because }
  }
  return undefined
}

/** Makes the findings of a rule: one about ranks, one about nodes, or both. */
function findingsOf(
  rule: FindingRule,
  affected: readonly Affected[],
  run: RunEvidence,
): RunFinding[] {
  const ofNodes = affected.filter(({ rank }) => rule.isOfNode?.(run, rank) === true)
  const ofRanks = affected.filter((one) => !ofNodes.includes(one))
  return [
    ...(ofRanks.length === 0 ? [] : [buildFinding(rule, ofRanks, 'rank', run)]),
    ...(ofNodes.length === 0 ? [] : [buildFinding(rule, ofNodes, 'node', run)]),
  ]
}

function buildFinding(
  rule: FindingRule,
  affected: readonly Affected[],
  scope: RunFinding['scope'],
  run: RunEvidence,
): RunFinding {
  const { name, title, severity, threshold, advice, isRelative = false } = rule
  const ranks = [...affected].sort(compareRanks)
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
  { sentence }: FindingRule,
  worst: Affected,
  ranks: readonly Affected[],
  scope: RunFinding['scope'],
): string {
  const who = rankName(worst.rank)
  const subject = scope === 'node' ? `The node of ${who}` : who[0]?.toUpperCase() + who.slice(1)
  const loss = worst.lost === null ? '' : ` It lost ${factText({ value: worst.lost, unit: 's' })}.`
  const others = ranks.slice(1).map(({ rank }) => rank)
  const more = others.length === 0 ? '' : ` The same is true of ranks ${rankList(others)}.`
  const shared = scope === 'node' ? ' All pods of a node with hostNetwork share this number.' : ''
  return `${subject} ${sentence(worst)}.${loss}${more}${shared}`
}

function plotOf(
  { plots }: FindingRule,
  { ranks }: RunEvidence,
  name: string,
): PlottedColumn | null {
  const rank = ranks.find((one) => one.rank === name)
  const isRead = ({ column, ...place }: PlottedColumn) =>
    rank !== undefined && unreadColumns(rank, { ...place, columns: [column] }).length === 0
  return plots.find(isRead) ?? null
}

const SEVERITIES: readonly Severity[] = ['failure', 'slowdown', 'risk']

/** Sorts failures before slowdowns before risks, and each of these by the time lost. */
function compareFindings(a: RunFinding, b: RunFinding): number {
  const bySeverity = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)
  return bySeverity || (b.lost ?? -1) - (a.lost ?? -1)
}

/** Sorts by the time lost, and then by the value of the first fact, the greatest value first. */
function compareRanks(a: Affected, b: Affected): number {
  return (b.lost ?? -1) - (a.lost ?? -1) || (b.facts[0]?.value ?? 0) - (a.facts[0]?.value ?? 0)
}

/** Returns the reasons why a rule was not checked, each with the ranks that it applies to. */
function uncheckedFor(
  rule: FindingRule,
  { ranks }: RunEvidence,
  known: readonly string[],
): readonly UncheckedRule[] {
  const { name, title, needs } = rule
  const rows = new Map(ranks.map((rank) => [rank.rank, rank]))
  const byReason = new Map<string, string[]>()
  for (const label of known) {
    const rank = rows.get(label)
    if (rank !== undefined && needs.some((need) => isMet(rank, need))) continue
    const reason = reasonFor(rank, needs)
    const own = byReason.get(reason)
    if (own === undefined) byReason.set(reason, [label])
    else own.push(label)
  }
  return [...byReason].map(([reason, own]) => {
    return { rule: name, title, reason, ranks: own.length === known.length ? null : own }
  })
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
  const reasons = needs.flatMap((need) => {
    const unread = rank === undefined ? need.columns : unreadColumns(rank, need)
    const once = rank === undefined ? [] : columnsReadOnce(rank, need)
    const never = unread.filter((column) => !once.includes(column))
    return [
      ...(never.length === 0 ? [] : [`${never.join(', ')} of ${need.metric} could not be read`]),
      ...(once.length === 0 ? [] : [`${once.join(', ')} of ${need.metric} had only one sample`]),
    ]
  })
  return reasons.join(' and ')
}
