import type { RowColumn, RowSection } from '../../core/catalog.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import type { Cell, Column, RowCells } from './columns.ts'

/**
 * Converts a value of pidstat or iostat to a cell of its column. Numbers that jc (the converter to
 * JSON that the Metrics Operator uses) left as text become numbers. In a number column, other text
 * becomes null. Negative numbers also become null, because pidstat prints them for counters that it
 * is not permitted to read.
 */
export function readCell({ type }: Pick<Column, 'type'>, value: unknown): Cell {
  if (type === 'number') return asNumber(value)
  if (typeof value === 'string') return value === '' || value === '-' ? null : value
  return typeof value === 'number' ? String(value) : null
}

function asNumber(value: unknown): number | null {
  const isText = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim())
  const number = isText ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null
}

/** Converts the values of a row of pidstat or iostat to the cells of its section. */
export function readCells(columns: readonly RowColumn[], row: Fields): RowCells {
  const cells: Record<string, Cell> = {}
  for (const column of columns) cells[column.name] = readCell(column, row[column.name])
  return cells
}

/** Reports whether a value in JSON Lines is valid in this column; null is valid in any column. */
export function isCell({ type }: Pick<Column, 'type'>, value: unknown): value is Cell {
  if (value === null) return true
  return type === 'number' ? Number.isFinite(value) : typeof value === 'string'
}

/** Returns the cells of a row of a section. A missing or invalid value becomes null. */
export function plainCells({ columns }: RowSection, row: Fields): RowCells {
  const cells: Record<string, Cell> = {}
  for (const column of columns) {
    const value = Object.hasOwn(row, column.name) ? row[column.name] : null
    cells[column.name] = isCell(column, value) ? value : null
  }
  return cells
}
