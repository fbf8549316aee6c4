import { capitalized } from '../../lib/capitalized.ts'
import { maximum } from '../../lib/statistics.ts'
import type { Need, PlottedColumn } from '../evidence/evidence.ts'
import {
  columnsReadOnce,
  nameOf,
  type PodEvidence,
  partlyRead,
  podsByName,
  type RunEvidence,
  unreadColumns,
} from '../evidence/run-evidence.ts'
import { findMetric } from '../metrics/index.ts'
import { librariesByPod } from '../metrics/libraries.ts'
import { compareLoss } from '../rules/per-pod.ts'
import type { Affected, FindingRule, FoundPods, Severity, Threshold } from '../rules/rule.ts'
import { factText, podsText, podText, thingsOf } from '../rules/sentence.ts'
import { MIN_SECONDS } from '../rules/time-lost.ts'
import { type CheckedRule, EXPLANATIONS, RULES, type RuleName } from './rules.ts'

/** A finding: what held pods of a run up, with the evidence, and with advice. */
export interface RunFinding {
  readonly rule: RuleName
  readonly title: string
  readonly severity: Severity
  /** The finding as text for people, one sentence or more. */
  readonly sentence: string
  /** The seconds that the worst pod lost; null if this time is not known. */
  readonly lost: number | null
  /** Whether the numbers belong to the pods, or to their nodes, which other pods share. */
  readonly scope: 'pod' | 'node'
  /** The pods with their numbers, the worst first. */
  readonly pods: readonly Affected[]
  readonly threshold: Threshold
  readonly advice: string
  /** The column to plot; null if no column of the rule's `plots` was read. */
  readonly plot: PlottedColumn | null
  readonly isRelative: boolean
}

/** A finding that was not made, because another one explains it. */
export interface ExplainedFinding {
  readonly rule: RuleName
  readonly pods: readonly string[]
  readonly by: RuleName
  readonly because: string
}

/** A rule that could not be checked, for all pods or some of them. */
export interface UncheckedRule {
  readonly rule: RuleName
  readonly title: string
  /** Why not, for example "metric pressure was not collected". */
  readonly reason: string
  /** The pods for which the rule was not checked; null if it was checked for none. */
  readonly pods: readonly string[] | null
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
 * @param known the names of all pods, including pods without rows that a rule reads
 */
export function findFindings(run: RunEvidence, known: readonly string[]): Findings {
  const { findings, explained, found } = applyRules(run)
  return { findings, explained, notChecked: listUnchecked(run, known, found) }
}

/** Returns the rules that were not checked, after all rules were applied. */
export function listUnchecked(
  run: RunEvidence,
  known: readonly string[],
  found: FoundPods,
): readonly UncheckedRule[] {
  return RULES.flatMap((rule) => uncheckedFor(rule, run, { known, found }))
}

/** Applies all rules, without the reasons why some were not checked. */
export function applyRules(
  run: RunEvidence,
): Pick<Findings, 'findings' | 'explained'> & { readonly found: FoundPods } {
  const found = new Map<FindingRule, ReadonlyMap<string, number | null>>()
  const findings: RunFinding[] = []
  const explained: ExplainedFinding[] = []
  for (const rule of RULES) {
    const pods = readPods(run, rule)
    const read = new Set(pods.map(({ pod }) => pod))
    // The stores of metrics also have processes of pods without the columns that the rule needs.
    const candidates = rule.find({ ...run, pods }, found).filter(({ pod }) => read.has(pod))
    const { own, explained: others } = separate(rule.name, candidates, found)
    explained.push(...others)
    if (own.length === 0) continue
    found.set(rule, new Map(own.map(({ pod, lost }) => [pod, lost])))
    findings.push(...findingsOf(rule, own, run))
  }
  return { findings: findings.sort(compareFindings), explained, found }
}

/** Returns the pods whose rows have the columns that a rule needs, or enough without them. */
function readPods({ pods }: RunEvidence, rule: FindingRule): readonly PodEvidence[] {
  const { canFind = () => false } = rule
  return pods.filter((pod) => metNeed(pod, rule) !== undefined || canFind(pod))
}

/** Returns the first alternative whose columns were all read. */
function metNeed(pod: PodEvidence, { needs }: FindingRule): readonly Need[] | undefined {
  return needs.find((need) => isMet(pod, need))
}

function isMet(pod: PodEvidence, need: readonly Need[]): boolean {
  return need.every((one) => unreadColumns(pod, one).length === 0)
}

/** Separates the pods whose finding is made from the pods whose finding another one explains. */
function separate(name: RuleName, candidates: readonly Affected[], found: FoundPods) {
  const own: Affected[] = []
  const greatest = new Map(
    [...found].map(([rule, pods]) => [rule, maximum([...pods.values()])] as const),
  )
  const others = new Map<string, { by: RuleName; because: string; pods: string[] }>()
  for (const one of candidates) {
    const cause = causeOf(name, one, { found, greatest })
    if (cause === undefined) {
      own.push(one)
      continue
    }
    const group = others.get(cause.by) ?? { ...cause, pods: [] }
    others.set(cause.by, group)
    group.pods.push(one.pod)
  }
  const explained = [...others.values()].map(({ pods, by, because }) => {
    return { rule: name, pods, by, because }
  })
  return { own, explained }
}

/** The seconds lost in the findings so far: of each pod, and the most of any pod. */
interface Losses {
  readonly found: FoundPods
  readonly greatest: ReadonlyMap<FindingRule, number | null>
}

/** Returns the rule whose finding explains a finding about a pod, and why; or undefined. */
function causeOf(name: RuleName, one: Affected, { found, greatest }: Losses) {
  for (const { by, rules, of, because } of EXPLANATIONS) {
    if (!rules.includes(name)) continue
    const lost = of === 'any pod' ? greatest.get(by) : found.get(by)?.get(one.pod)
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

/**
 * Makes the findings of a rule: one for each cause and each group of processes without progress,
 * separately about pods and about nodes.
 */
function findingsOf(
  rule: CheckedRule,
  affected: readonly Affected[],
  run: RunEvidence,
): RunFinding[] {
  const scopeOf = (pod: string) => (rule.isOfNode?.(run, pod) === true ? 'node' : 'pod')
  const groups = [...Map.groupBy(affected, ({ stuck }) => stuck).values()].flatMap((own) => {
    const keyOf = ({ pod, cause }: Affected) => `${scopeOf(pod)} ${cause ?? ''}`
    return [...Map.groupBy(own, keyOf).values()]
  })
  return groups.map((own) => {
    const [{ pod }] = own as [Affected]
    return buildFinding(rule, own, scopeOf(pod), run)
  })
}

function buildFinding(
  rule: CheckedRule,
  affected: readonly Affected[],
  scope: RunFinding['scope'],
  run: RunEvidence,
): RunFinding {
  const { name, title, severity, threshold, isRelative = false } = rule
  const pods = [...affected].sort(compareLoss)
  const [worst] = pods as [Affected]
  return {
    rule: name,
    title,
    severity,
    sentence: sentenceOf(rule, worst, pods, scope),
    lost: worst.lost,
    scope,
    pods,
    threshold,
    advice: rule.adviceByCause?.[worst.cause ?? ''] ?? rule.advice,
    plot: plotOf(rule, run, worst.pod),
    isRelative,
  }
}

function sentenceOf(
  { sentence, isWholeText = false }: FindingRule,
  worst: Affected,
  pods: readonly Affected[],
  scope: RunFinding['scope'],
): string {
  if (isWholeText) return sentence(worst, pods)
  const who = podText(worst.pod)
  const subject = scope === 'node' ? `The node of ${who}` : capitalized(who)
  const isLoss = worst.lost !== null && worst.lost >= MIN_SECONDS
  const loss = isLoss ? ` It lost ${factText({ value: worst.lost, unit: 's' })}.` : ''
  const { also = [] } = worst
  const less =
    also.length === 0
      ? ''
      : ` The same is true to a lesser extent of ${thingsOf({ things: also })}.`
  const others = pods.slice(1).map(({ pod }) => pod)
  const more = others.length === 0 ? '' : ` The same is true of ${podsText(others)}.`
  const shared = scope === 'node' ? ' All pods of a node with hostNetwork share this number.' : ''
  return `${subject} ${sentence(worst, pods)}.${loss}${less}${more}${shared}`
}

function plotOf({ plots }: FindingRule, run: RunEvidence, name: string): PlottedColumn | null {
  const pod = run.view(podsByName).get(name)
  const isRead = ({ column, ...place }: PlottedColumn) =>
    pod !== undefined && unreadColumns(pod, { ...place, columns: [column] }).length === 0
  const found = plots.find(isRead)
  return found === undefined || pod === undefined ? null : { ...found, ...pod.placeOf(found) }
}

const SEVERITIES: readonly Severity[] = ['failure', 'slowdown', 'risk']

/** Sorts failures before slowdowns before risks, and each of these by the time lost. */
function compareFindings(a: RunFinding, b: RunFinding): number {
  const bySeverity = SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)
  return bySeverity || (b.lost ?? -1) - (a.lost ?? -1)
}

/** Returns the reasons why a rule was not checked, each with the pods that it applies to. */
function uncheckedFor(
  rule: CheckedRule,
  run: RunEvidence,
  { known, found }: { readonly known: readonly string[]; readonly found: FoundPods },
): readonly UncheckedRule[] {
  const { name, title } = rule
  const [rows, collected] = [run.view(podsByName), run.view(collectedMetrics)]
  const libraries = run.view(librariesByPod)
  const others = rule.uncheckedIn?.(run, found)
  const reasons = known.flatMap((pod) => {
    const needs = relevantNeeds(rule, collected, libraries.get(pod) ?? null)
    if (needs.length === 0) return []
    const reason = whyUnchecked(rows.get(pod), { ...rule, needs }) ?? others?.get(pod)
    return reason === undefined ? [] : [{ pod, reason }]
  })
  return [...Map.groupBy(reasons, ({ reason }) => reason)].map(([reason, own]) => {
    const pods = own.length === known.length ? null : own.map(({ pod }) => pod)
    return { rule: name, title, reason, pods }
  })
}

/** Returns the metrics that were collected for any pod. */
function collectedMetrics({ pods }: RunEvidence): ReadonlySet<string> {
  return new Set(pods.flatMap(({ metrics }) => [...metrics]))
}

/** Returns which columns were missing of a pod, or of some of its things. */
function whyUnchecked(pod: PodEvidence | undefined, rule: FindingRule): string | undefined {
  const met = pod === undefined ? undefined : metNeed(pod, rule)
  // A rule that needs no column is checked with the status of the pod.
  if (rule.needs.some((columns) => columns.length === 0)) return undefined
  if (pod === undefined || met === undefined) return reasonFor(pod, rule.needs)
  const reasons = met.flatMap((need) => unreadThings(pod, need))
  return reasons.length === 0 ? undefined : reasons.join(' and ')
}

/** Says which columns were read of some things of a pod, but not of all. */
function unreadThings(pod: PodEvidence, need: Need): readonly string[] {
  const { columns, things } = partlyRead(pod, need)
  if (things.length === 0) return []
  const names = [...new Set(things.map((thing) => thing.program ?? nameOf(thing)))].sort()
  const of = `${columns.join(', ')} of ${pod.placeOf(need).metric}`
  return [`${of} could not be read for ${thingsOf({ things: names })}`]
}

/** Returns why a pod has the columns of none of the alternatives that a rule needs. */
function reasonFor(pod: PodEvidence | undefined, needs: FindingRule['needs']): string {
  const alternatives = needs.map((need) => ({ need, absent: absentMetrics(pod, need) }))
  // Skip an alternative if another alternative lacks only a part of the same metrics.
  const nearest = alternatives.filter(({ absent }) => {
    return !alternatives.some((other) => isPart(other.absent, absent))
  })
  const reasons = nearest.map(({ need, absent }) => missingIn(pod, need, absent))
  return [...new Set(reasons)].join(', and ')
}

/** Reports whether the first list is not empty, and has some but not all items of the second. */
function isPart(some: readonly string[], all: readonly string[]): boolean {
  const isSmaller = some.length > 0 && some.length < all.length
  return isSmaller && some.every((one) => all.includes(one))
}

/**
 * Returns the alternatives of an optional rule whose metrics were collected for any pod, or would
 * say more about a pod; all alternatives of another rule. Without any, the rule is not listed.
 *
 * @param collected the metrics that were collected for any pod
 * @param libraries those that processes of the pod have mapped; null if they are not known
 */
function relevantNeeds(
  { isOptional = false, needs }: FindingRule,
  collected: ReadonlySet<string>,
  libraries: ReadonlySet<string> | null,
): FindingRule['needs'] {
  if (!isOptional) return needs
  return needs.filter((need) =>
    need.some(({ metric }) => {
      const library = findMetric(metric)?.shows?.library
      const isUseful = library !== undefined && libraries?.has(library) === true
      return isUseful || collected.has(metric)
    }),
  )
}

function absentMetrics(pod: PodEvidence | undefined, needs: readonly Need[]): readonly string[] {
  const metrics = [...new Set(needs.map(({ metric }) => metric))]
  return metrics.filter((metric) => pod?.metrics.has(metric) !== true)
}

function missingIn(
  pod: PodEvidence | undefined,
  needs: readonly Need[],
  absent: readonly string[],
): string {
  const all = absent.join(' and ')
  if (absent.length > 1) return `metrics ${all} were not collected`
  if (absent.length === 1) return `metric ${all} was not collected`
  return needs.flatMap((need) => unreadIn(pod, need)).join(' and ')
}

/** Returns which columns of a section were never read, and which too seldom. */
function unreadIn(pod: PodEvidence | undefined, need: Need): readonly string[] {
  const unread = pod === undefined ? need.columns : unreadColumns(pod, need)
  const once = pod === undefined ? [] : columnsReadOnce(pod, need)
  const never = unread.filter((column) => !once.includes(column))
  const { metric } = pod?.placeOf(need) ?? need
  return [
    ...(never.length === 0 ? [] : [`${never.join(', ')} of ${metric} could not be read`]),
    ...(once.length === 0 ? [] : [`${once.join(', ')} of ${metric} had only one sample`]),
  ]
}
