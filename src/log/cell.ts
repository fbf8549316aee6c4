import type { Cell, Column } from './columns.ts'

/**
 * A value as a cell of its column. Numbers that jc left as text are numbers again; what is no
 * number, and the negative ones by which pidstat says that it may not read a counter, are null.
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
