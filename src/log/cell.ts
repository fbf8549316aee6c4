import type { Cell, Column } from './columns.ts'

/**
 * Converts a value to a cell of its column. Numbers that jc (the converter to JSON that the Metrics
 * Operator uses) left as text become numbers. In a number column, other text becomes null. Negative
 * numbers also become null, because pidstat prints them for counters that it is not permitted to
 * read.
 */
export function readCell({ type }: Column, value: unknown): Cell {
  if (type === 'number') return asNumber(value)
  if (typeof value === 'string') return value === '' || value === '-' ? null : value
  return typeof value === 'number' ? String(value) : null
}

function asNumber(value: unknown): number | null {
  const isText = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim())
  const number = isText ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null
}
