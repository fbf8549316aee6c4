import type { PlottedColumn } from '../evidence/evidence.ts'
import type { ExplainedFinding, Findings, RunFinding, UncheckedRule } from '../findings/evaluate.ts'
import { RULES } from '../findings/rules.ts'
import { factText, podsText } from '../rules/sentence.ts'
import type { Measure } from './measures.ts'
import type { SectionData } from './section-data.ts'

/** The findings as the page shows them. */
export interface FindingsData {
  readonly findings: readonly ShownFinding[]
  /** Sentences about findings that others explain, and about rules that were not checked. */
  readonly notes: readonly string[]
}

export interface ShownFinding {
  readonly rule: string
  readonly severity: string
  readonly title: string
  readonly sentence: string
  readonly threshold: string
  readonly source: string
  readonly advice: string
  /** The titles of the columns of `cells`. The columns pod and time lost precede them. */
  readonly columns: readonly string[]
  readonly rows: readonly EvidenceRow[]
  /** The number of pods of the finding that have no row. */
  readonly more: number
  readonly plot: FindingPlot | null
}

/** The numbers of one pod, with their units. */
export interface EvidenceRow {
  readonly pod: string
  readonly lost: string
  readonly cells: readonly string[]
}

/** The plot that shows a finding over time. */
export interface FindingPlot {
  /** The index in `PageData.sections`; null for the plots of the processes. */
  readonly section: number | null
  readonly measure: number
  /** The pods whose lines are drawn; null for all pods. */
  readonly pods: readonly string[] | null
}

/** The most pods whose numbers the page shows. */
const MAX_ROWS = 10
/** The most pods whose lines the plot of a finding shows. */
const MAX_LINES = 24

/**
 * Builds the findings of the page.
 *
 * @param measures the measures of the processes that the page plots, in their order
 */
export function findingsData(
  { findings, explained, notChecked }: Findings,
  measures: readonly Measure[],
  sections: readonly SectionData[],
): FindingsData {
  return {
    findings: findings.map((finding) => shownFinding(finding, measures, sections)),
    notes: [...explained.map(explanationOf), ...notesOf(notChecked)],
  }
}

function shownFinding(
  finding: RunFinding,
  measures: readonly Measure[],
  sections: readonly SectionData[],
): ShownFinding {
  const { rule, severity, title, sentence, threshold, advice, pods } = finding
  const names = [...new Set(pods.slice(0, MAX_ROWS).flatMap(({ facts }) => facts.map(nameIn)))]
  return {
    rule,
    severity,
    title,
    sentence,
    threshold: threshold.condition,
    source: threshold.source,
    advice,
    columns: names,
    rows: pods.slice(0, MAX_ROWS).map(({ pod, lost, facts }) => ({
      pod,
      lost: lost === null ? '' : factText({ value: lost, unit: 's' }),
      cells: names.map((name) => {
        const fact = facts.find((one) => one.name === name)
        return fact === undefined ? '' : factText(fact)
      }),
    })),
    more: Math.max(pods.length - MAX_ROWS, 0),
    plot: findPlot(finding, measures, sections),
  }
}

function nameIn({ name }: { readonly name: string }): string {
  return name
}

function findPlot(
  { plot, pods, isRelative }: RunFinding,
  measures: readonly Measure[],
  sections: readonly SectionData[],
): FindingPlot | null {
  if (plot === null) return null
  const plotted = isRelative ? null : pods.slice(0, MAX_LINES).map(({ pod }) => pod)
  const section = sections.findIndex((one) => isSectionOf(one, plot))
  const measure =
    section < 0
      ? measures.findIndex(({ column }) => column === plot.column)
      : (sections[section]?.plots.measures.findIndex(({ key }) => key === plot.column) ?? -1)
  return measure < 0 ? null : { section: section < 0 ? null : section, measure, pods: plotted }
}

function isSectionOf(one: SectionData, { metric, section }: PlottedColumn): boolean {
  return one.metric === metric && one.section === section
}

/** Returns a sentence about a finding that was not made, because another one explains it. */
function explanationOf({ rule, pods, by, because }: ExplainedFinding): string {
  const [title, cause] = [rule, by].map((one) => RULES.find(({ name }) => name === one)?.title)
  return `${title} for ${podsText(pods)}: explained by ${cause}: ${because}.`
}

/** Returns one sentence for each reason, with the titles of the rules and with the pods. */
function notesOf(rules: readonly UncheckedRule[]): readonly string[] {
  const byReason = Map.groupBy(rules, ({ reason, pods }) => JSON.stringify([reason, pods]))
  return [...byReason.values()].map((own) => {
    const [{ reason, pods }] = own as [UncheckedRule]
    const titles = own.map(({ title }) => title).join(', ')
    const where = pods === null ? '' : ` for ${podsText(pods)}`
    return `Not checked${where}: ${titles}: ${reason}.`
  })
}
