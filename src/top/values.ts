import type { RowColumn } from '../core/catalog.ts'
import type { RowCells } from '../log/columns.ts'
import type { TopColumn } from './columns.ts'
import type { LiveReading, LiveSection } from './live-log.ts'

/** The value of a column; null, and not zero, if the value is not known. */
export type TopValue = number | null

/**
 * Returns the value of a column for the rows of a section: the value of a gauge at the last
 * timepoint, or the growth of a counter per second between the last two timepoints. Values that are
 * not known are left out of the sum or maximum; if no value is known, the result is null.
 *
 * @param isOwn selects the rows, for example of one program
 */
export function computeValue(
  { column, total }: TopColumn,
  { before, now, isPartial }: LiveSection,
  isOwn: (cells: RowCells) => boolean,
): TopValue {
  if (now === undefined || isPartial) return null
  const seconds = secondsBetween(before, now)
  let result: TopValue = null
  for (const [key, cells] of now.rows) {
    if (!isOwn(cells)) continue
    const earlier = before?.rows.get(key)
    result = combine(total, result, valueIn(column, cells, earlier, seconds))
  }
  return result
}

function valueIn(
  { name, behavior }: RowColumn,
  cells: RowCells,
  earlier: RowCells | undefined,
  seconds: number,
): TopValue {
  if (behavior === 'counter') return growth(name, cells, earlier, seconds)
  return numberIn(cells, name)
}

function combine(total: TopColumn['total'], result: TopValue, value: TopValue): TopValue {
  if (result === null || value === null) return result ?? value
  return total === 'sum' ? result + value : Math.max(result, value)
}

/** Returns the growth per second; a counter that is less than before has started from zero. */
function growth(
  name: string,
  cells: RowCells,
  earlier: RowCells | undefined,
  seconds: number,
): TopValue {
  const value = numberIn(cells, name)
  const last = earlier === undefined ? null : numberIn(earlier, name)
  if (value === null || last === null || seconds <= 0) return null
  return (value < last ? value : value - last) / seconds
}

function secondsBetween(before: LiveReading | undefined, now: LiveReading): number {
  return before === undefined ? 0 : (now.at - before.at) / 1000
}

function numberIn(cells: RowCells, name: string): TopValue {
  const value = cells[name]
  return typeof value === 'number' ? value : null
}
