import type { RowColumn } from '../../core/catalog.ts'
import type { Titled } from './plots.ts'

/** Returns the title of the plot of a column; a counter is plotted as its growth per second. */
export function plotTitle(column: RowColumn): Titled {
  const { name, meaning, unit = '', behavior } = column
  const symbols = behavior === 'counter' ? `${symbol(unit)}/s` : symbol(unit)
  return { key: name, title: titleOfColumn(column), unit: symbols, meaning }
}

/** Returns the words for a column, or its name if the catalog has none. */
export function titleOfColumn({ name, title }: RowColumn): string {
  return title ?? name
}

/** Returns the distance from the median that an outlier of a column exceeds. */
export function floorOf({ unit }: RowColumn): number {
  return unit === 'percent' || unit === '1/s' ? 1 : 0
}

const SYMBOLS: Readonly<Record<string, string>> = {
  percent: '%',
  ratio: '',
  count: '',
  '1/s': '/s',
  Cel: '°C',
}

/** Returns the text of a unit in the page. */
export function symbol(unit: string): string {
  return SYMBOLS[unit] ?? unit
}
