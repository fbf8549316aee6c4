// The values of lines in the buckets of the grid.

import type { GridValue } from '../grid.ts'

export function isValue(value: GridValue | undefined): value is number {
  return typeof value === 'number'
}

/**
 * Returns the values of a line in a bucket: none, one value, or the minimum and the maximum.
 */
export function valuesIn(values: readonly GridValue[], bucket: number, buckets: number) {
  const own =
    values.length > buckets ? [values[bucket * 2], values[bucket * 2 + 1]] : [values[bucket]]
  return own.filter(isValue)
}

export function meanOf(values: readonly number[]) {
  return values.length === 0
    ? undefined
    : values.reduce((sum, value) => sum + value, 0) / values.length
}
