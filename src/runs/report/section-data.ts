import type { RowColumn } from '../../core/catalog.ts'
import { computeMean, keepOutliers, maximum } from '../../lib/statistics.ts'
import { floorOf, plotTitle, symbol, titleOfColumn } from './column-titles.ts'
import { ordered } from './groups.ts'
import { buildPlots, type PlotContext, type Plots, type Titled } from './plots.ts'
import { mergeTracks, type SectionRun, type SectionTrack } from './section.ts'
import { markRows, type SummaryRow } from './summary.ts'

/** The table and the plots of one section of a metric. */
export interface SectionData {
  readonly metric: string
  readonly section: string
  /** The metric, and the section if the metric has several. */
  readonly title: string
  /** The topic of the page to which the section belongs, in words. */
  readonly topic: string
  readonly description: string
  readonly columns: readonly Titled[]
  readonly rows: readonly SummaryRow[]
  /** The number of rows that are left out. */
  readonly omittedRows: number
  readonly plots: Plots
  /** Whether a line stands for several things with the same name, because there are too many. */
  readonly isMerged: boolean
}

/**
 * The maximum number of lines times measures. If there are more, the plots have one line for all
 * things of a log with the same name.
 */
const MAX_SERIES = 25_000
/** The most rows of the table. */
const MAX_ROWS = 10_000

/** Builds the table and the plots of a section from the description of its columns. */
export function sectionData(run: SectionRun, title: string, context: PlotContext): SectionData {
  const { section, measures } = run
  const tracks = [...run.tracks.values()]
  const isMerged = tracks.length * measures.length > MAX_SERIES
  const lines = isMerged
    ? [...Map.groupBy(tracks, nameOf).values()].map((own) => mergeTracks(own, measures))
    : tracks
  const columns = measures.flatMap(tableColumns)
  const titled = measures.map(plotTitle)
  const floors = measures.map(floorOf)
  const rows = tableRows(tracks, columns, context)
  const kept = keepOutliers(rows, MAX_ROWS)
  return {
    metric: run.metric,
    section: section.name,
    title,
    topic: section.title ?? title,
    description: section.description,
    columns: columns.map(({ title }) => title),
    rows: kept,
    omittedRows: rows.length - kept.length,
    plots: buildPlots(ordered(lines, context.podOf), titled, context, floors),
    isMerged,
  }
}

function nameOf({ source, program }: SectionTrack): string {
  return JSON.stringify([source, program])
}

/** A column of the table, and its value for the tracks of a row. */
interface TableColumn {
  readonly title: Titled
  readonly of: (tracks: readonly SectionTrack[]) => number | null
  readonly floor: number
}

/** Returns the columns for a measure: the growth of a counter, the mean and peak of a gauge. */
function tableColumns(column: RowColumn, index: number): readonly TableColumn[] {
  const { name, meaning, unit = '', behavior } = column
  const named = titleOfColumn(column)
  const made = (words: string, of: TableColumn['of']) => {
    const title = {
      key: `${name} ${words}`,
      title: behavior === 'counter' && column.title !== undefined ? named : `${named}, ${words}`,
      unit: symbol(unit),
      meaning,
    }
    return { title, of, floor: floorOf(column) }
  }
  if (behavior === 'counter') return [made('growth', (tracks) => growthIn(tracks, index))]
  const valuesOf = (tracks: readonly SectionTrack[]) =>
    tracks.flatMap(({ values }) => values[index] ?? [])
  return [
    made('mean', (tracks) =>
      computeMean(
        valuesOf(tracks),
        tracks.flatMap(({ intervals }) => intervals),
      ),
    ),
    made('peak', (tracks) => maximum(valuesOf(tracks))),
  ]
}

function growthIn(tracks: readonly SectionTrack[], index: number): number | null {
  const known = tracks.flatMap(({ growth }) => growth[index] ?? [])
  return known.length === 0 ? null : known.reduce((sum, own) => sum + own, 0)
}

function tableRows(
  tracks: readonly SectionTrack[],
  columns: readonly TableColumn[],
  { podOf }: PlotContext,
): readonly SummaryRow[] {
  const groups = Map.groupBy(tracks, ({ source, program }) =>
    JSON.stringify([podOf(source), program]),
  )
  const rows = [...groups].map(([key, own]) => {
    const [pod = '', program = '']: readonly string[] = JSON.parse(key)
    const values = columns.map((column) => column.of(own))
    const process = own[0]?.name ?? null
    return { pod, program, ...(process !== null && { process }), values }
  })
  return markRows(
    rows,
    ({ program }) => program,
    columns.map(({ floor }) => floor),
  )
}
