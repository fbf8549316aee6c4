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
import { groupByRank, type RankEvidence, type RunEvidence, unreadColumns } from './run-evidence.ts'
import { factText, rankList, rankName } from './sentence.ts'

/** A finding: what held a run up, which ranks, by what evidence, and what to do. */
export interface RunFinding {
  readonly rule: RuleName
  readonly title: string
  readonly severity: Severity
  /** One sentence for people. */
  readonly sentence: string
  /** The seconds that the worst rank lost; null if the rows do not say it. */
  readonly lost: number | null
  /** Whether it is about the ranks themselves, or about the nodes that they share with others. */
  readonly scope: 'rank' | 'node'
  /** The ranks with their numbers, the worst first. */
  readonly ranks: readonly Affected[]
  readonly threshold: Threshold
  readonly advice: string
  /** The column that carries the finding; null if it was not read. */
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
  /** The ranks; null if it is all of them. */
  readonly ranks: readonly string[] | null
}

/** The result of all rules. */
export interface Findings {
  /** The worst first. */
  readonly findings: readonly RunFinding[]
  readonly explained: readonly ExplainedFinding[]
  readonly notChecked: readonly UncheckedRule[]
}

/**
 * Checks all rules.
 *
 * @param rankOf returns the rank of a log
 * @param known the labels of all ranks, also of those without any row that a rule reads
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

/** Keeps the ranks whose rows a rule can be checked with. */
function checkedRanks({ ranks }: RunEvidence, { needs }: FindingRule): RunEvidence {
  return { ranks: ranks.filter((rank) => needs.some((need) => isMet(rank, need))) }
}

function isMet(rank: RankEvidence, need: readonly Need[]): boolean {
  return need.every((one) => unreadColumns(rank, one).length === 0)
}

/** Separates the ranks of a finding from those that an earlier finding explains. */
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

/** Returns the finding that explains what a rule found about a rank; undefined if none does. */
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

/** Makes the finding of a rule; one for the ranks, and one for those of nodes. */
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

/** Sorts failures before slowdowns before risks, and then by the time lost. */
function compareFindings(a: RunFinding, b: RunFinding): number {
  const bySeverity = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)
  return bySeverity || (b.lost ?? -1) - (a.lost ?? -1)
}

/** Sorts by the time lost, and then by the distance from the threshold. */
function compareRanks(a: Affected, b: Affected): number {
  return (b.lost ?? -1) - (a.lost ?? -1) || (b.facts[0]?.value ?? 0) - (a.facts[0]?.value ?? 0)
}

/** Returns why a rule was not checked, for each reason that differs between ranks. */
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

/** Returns why none of the alternatives was there. */
function reasonFor(rank: RankEvidence | undefined, needs: FindingRule['needs']): string {
  const alternatives = needs.map((need) => ({ need, absent: absentMetrics(rank, need) }))
  // An alternative that lacks more than another one would only make the reason longer.
  const nearest = alternatives.filter(({ absent }) => {
    return !alternatives.some((other) => isPart(other.absent, absent))
  })
  const reasons = nearest.map(({ need, absent }) => missingIn(rank, need, absent))
  return [...new Set(reasons)].join(', and ')
}

/** Reports whether the first list is not empty, and is a part of the second. */
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
  const unread = needs.flatMap((need) => {
    const columns = rank === undefined ? need.columns : unreadColumns(rank, need)
    return columns.length === 0 ? [] : [`${columns.join(', ')} of ${need.metric}`]
  })
  return `${unread.join(' and ')} could not be read`
}
