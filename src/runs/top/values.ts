import type { RowColumn } from '../../core/catalog.ts'
import type { TopColumn } from './columns.ts'
import type { LiveRow, LiveRows, LiveSection } from './live-sections.ts'

/** The value of a column; null, and not zero, if the value is not known. */
export type TopValue = number | null

/**
 * Returns the value of a column for the rows of a section: the value of a gauge at the last
 * timepoint, or the growth of a counter per second between the last two timepoints. Values that are
 * not known are left out of the sum or maximum; if no value is known, the result is null.
 *
 * @param program selects the rows of a program; null for all rows
 */
export function computeValue(
  column: TopColumn,
  section: LiveSection,
  program: string | null,
): TopValue {
  const rows = program === null ? section.now : programsIn(section).get(program)
  return combineRows(column, section, rows)
}

/**
 * Returns the rows of each program, which are grouped only once, because a pod may have thousands
 * of programs. A section whose rows belong to no program has none.
 */
export function programsIn(section: LiveSection): ReadonlyMap<string, LiveRows> {
  if (section.programs !== undefined) return section.programs
  const programs = new Map<string, Map<string, LiveRow>>()
  for (const [key, row] of section.now) {
    const { program } = row.cells
    if (typeof program !== 'string') continue
    const rows = programs.get(program) ?? new Map<string, LiveRow>()
    rows.set(key, row)
    programs.set(program, rows)
  }
  section.programs = programs
  return programs
}

function combineRows(
  { column, total }: TopColumn,
  { before }: LiveSection,
  rows: LiveRows | undefined,
): TopValue {
  let result: TopValue = null
  for (const [key, row] of rows ?? [])
    result = combine(total, result, valueIn(column, row, before?.get(key)))
  return result
}

function valueIn(
  { name, behavior }: RowColumn,
  row: LiveRow,
  earlier: LiveRow | undefined,
): TopValue {
  if (behavior === 'counter') return growth(name, row, earlier)
  return numberIn(row, name)
}

function combine(total: TopColumn['total'], result: TopValue, value: TopValue): TopValue {
  if (result === null || value === null) return result ?? value
  return total === 'sum' ? result + value : Math.max(result, value)
}

/** Returns the growth per second; a counter that is less than before has started from zero. */
function growth(name: string, row: LiveRow, earlier: LiveRow | undefined): TopValue {
  if (earlier === undefined) return null
  const [value, last] = [numberIn(row, name), numberIn(earlier, name)]
  const seconds = (row.at - earlier.at) / 1000
  if (value === null || last === null || seconds <= 0) return null
  return (value < last ? value : value - last) / seconds
}

function numberIn({ cells }: LiveRow, name: string): TopValue {
  const value = cells[name]
  return typeof value === 'number' ? value : null
}
