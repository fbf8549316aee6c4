import type { Cell, Sample } from './columns.ts'

/** Returns when a row was taken; null if its date is not known. */
export function secondsSince1970({ time }: Pick<Sample, 'time'>): number | null {
  const milliseconds = time?.includes('T') === true ? Date.parse(time) : Number.NaN
  return Number.isNaN(milliseconds) ? null : milliseconds / 1000
}

export function textIn(cell: Cell | undefined): string | null {
  return typeof cell === 'string' ? cell : null
}

/** Returns a number that may be missing. */
export function numberIn(cell: Cell | undefined): number | null {
  return typeof cell === 'number' && cell >= 0 ? cell : null
}

export function countIn(cell: Cell | undefined): number {
  return typeof cell === 'number' && cell >= 0 ? cell : 0
}
