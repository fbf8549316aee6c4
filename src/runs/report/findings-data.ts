import type { PlottedColumn } from '../evidence/evidence.ts'
import type { ExplainedFinding, Findings, RunFinding, UncheckedRule } from '../findings/evaluate.ts'
import { RULES } from '../findings/rules.ts'
import { factText, rankNames } from '../rules/sentence.ts'
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
  /** The titles of the columns of `cells`. The columns rank and time lost precede them. */
  readonly columns: readonly string[]
  readonly rows: readonly EvidenceRow[]
  /** The number of ranks of the finding that have no row. */
  readonly more: number
  readonly plot: FindingPlot | null
}

/** The numbers of one rank, with their units. */
export interface EvidenceRow {
  readonly rank: string
  readonly lost: string
  readonly cells: readonly string[]
}

/** The plot that shows a finding over time. */
export interface FindingPlot {
  /** The index in `PageData.sections`; null for the plots of the processes. */
  readonly section: number | null
  readonly measure: number
  /** The ranks whose lines are drawn; null for all ranks. */
  readonly ranks: readonly string[] | null
}

/** The most ranks whose numbers the page shows. */
const MAX_ROWS = 10
/** The most ranks whose lines the plot of a finding shows. */
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
  const { rule, severity, title, sentence, threshold, advice, ranks } = finding
  const names = [...new Set(ranks.slice(0, MAX_ROWS).flatMap(({ facts }) => facts.map(nameIn)))]
  return {
    rule,
    severity,
    title,
    sentence,
    threshold: threshold.condition,
    source: threshold.source,
    advice,
    columns: names,
    rows: ranks.slice(0, MAX_ROWS).map(({ rank, lost, facts }) => ({
      rank,
      lost: lost === null ? '' : factText({ value: lost, unit: 's' }),
      cells: names.map((name) => {
        const fact = facts.find((one) => one.name === name)
        return fact === undefined ? '' : factText(fact)
      }),
    })),
    more: Math.max(ranks.length - MAX_ROWS, 0),
    plot: findPlot(finding, measures, sections),
  }
}

function nameIn({ name }: { readonly name: string }): string {
  return name
}

function findPlot(
  { plot, ranks, isRelative }: RunFinding,
  measures: readonly Measure[],
  sections: readonly SectionData[],
): FindingPlot | null {
  if (plot === null) return null
  const plotted = isRelative ? null : ranks.slice(0, MAX_LINES).map(({ rank }) => rank)
  const section = sections.findIndex((one) => isSectionOf(one, plot))
  const measure =
    section < 0
      ? measures.findIndex(({ column }) => column === plot.column)
      : (sections[section]?.plots.measures.findIndex(({ key }) => key === plot.column) ?? -1)
  return measure < 0 ? null : { section: section < 0 ? null : section, measure, ranks: plotted }
}

function isSectionOf(one: SectionData, { metric, section }: PlottedColumn): boolean {
  return one.metric === metric && one.section === section
}

/** Returns a sentence about a finding that was not made, because another one explains it. */
function explanationOf({ rule, ranks, by, because }: ExplainedFinding): string {
  const [title, cause] = [rule, by].map((one) => RULES.find(({ name }) => name === one)?.title)
  return `${title} for ${rankNames(ranks)}: explained by ${cause}: ${because}.`
}

/** Returns one sentence for each reason, with the titles of the rules and with the ranks. */
function notesOf(rules: readonly UncheckedRule[]): readonly string[] {
  const byReason = Map.groupBy(rules, ({ reason, ranks }) => JSON.stringify([reason, ranks]))
  return [...byReason.values()].map((own) => {
    const [{ reason, ranks }] = own as [UncheckedRule]
    const titles = own.map(({ title }) => title).join(', ')
    const where = ranks === null ? '' : ` for ${rankNames(ranks)}`
    return `Not checked${where}: ${titles}: ${reason}.`
  })
}
