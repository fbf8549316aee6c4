import type { GridValue } from '../grid.ts'
import type { Plots, Titled } from '../plots.ts'
import type { SectionData } from '../section-data.ts'
import type { SummaryRow } from '../summary.ts'
import type { FlameData } from '../tools/flame-data.ts'

/** Returns plots for programs: the values of each line over time. */
export function plotsDocument({ grid, measures, lines, omitted }: Plots) {
  return {
    seconds_per_interval: grid.width,
    intervals: grid.buckets,
    is_downsampled: grid.isDownsampled,
    measures: measures.map(columnDocument),
    lines: lines.map(({ pod, program, pid, values, marks }) => ({
      podIndex: pod,
      program,
      pid,
      values: byKey(
        measures,
        values.map((list) => list.map(valueOrNull)),
      ),
      outliers: markedKeys(measures, marks),
    })),
    omitted_lines: omitted,
  }
}

/** The page draws a line across an interval without a sample, which is no value for programs. */
function valueOrNull(value: GridValue): number | null {
  return typeof value === 'number' ? value : null
}

/** Returns a section of a metric for programs: its table, and its values over time. */
export function sectionDocument(data: SectionData) {
  const {
    metric,
    section,
    title,
    topic,
    description,
    columns,
    rows,
    omittedRows,
    isMerged,
    plots,
  } = data
  return {
    metric,
    section,
    title,
    topic,
    description,
    columns: columns.map(columnDocument),
    rows: rows.map((row) => ({ ...rowDocument(columns, row), name: row.program })),
    omitted_rows: omittedRows,
    is_merged: isMerged,
    over_time: plotsDocument(plots),
  }
}

function rowDocument(columns: readonly Titled[], { pod, values, marks }: SummaryRow) {
  return { podIndex: pod, values: byKey(columns, values), outliers: markedKeys(columns, marks) }
}

/** Returns a column, or a measure, for programs. */
export function columnDocument({ key, title, unit, meaning }: Titled) {
  return { key, title, unit, meaning: meaning ?? null }
}

/** Returns the values by the keys of their columns. */
export function byKey<Value>(columns: readonly Titled[], values: readonly Value[]) {
  const entries = columns.map(({ key }, index) => [key, values[index]] as const)
  return Object.fromEntries(entries) as Record<string, Value>
}

/** Returns the keys of the columns whose value is an outlier. */
export function markedKeys(columns: readonly Titled[], marks: readonly boolean[]) {
  return columns.flatMap(({ key }, index) => (marks[index] === true ? key : []))
}

/** Returns the frames of the stacks of a program. Frame 0 is the root, which is no function. */
export function framesDocument({ names, parents, functions, seconds, single }: FlameData) {
  return {
    frames: {
      functions: functions.map((index) => names[index] ?? null),
      parents,
      selfSeconds: seconds,
    },
    framesByPod: single.map(({ pod, frames, seconds: own }) => {
      return { podIndex: pod, frames, selfSeconds: own }
    }),
  }
}
