import { durationText } from '../../lib/duration.ts'
import { roundTo } from '../../lib/round.ts'
import { symbol } from '../report/column-titles.ts'
import type { TopColumn } from './columns.ts'
import type { LineState } from './pods.ts'
import type { TopValue } from './values.ts'

/** The units whose values are shown in bytes with a binary prefix, and their sizes in bytes. */
const BYTES: Readonly<Record<string, number>> = {
  bytes: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

const PREFIXES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Formats a value for a cell of the table; a value that is not known is a hyphen. */
export function formatValue({ unit, factor }: TopColumn, value: TopValue): string {
  if (value === null) return '-'
  const shown = value * factor
  const { size, isRate } = sizeIn(unit)
  if (size === undefined) return formatNumber(shown)
  return `${formatBytes(shown * size)}${isRate ? '/s' : ''}`
}

/** Returns the title of a column, with the unit if the cells do not contain the unit. */
export function titleWithUnit({ title, unit }: TopColumn): string {
  if (sizeIn(unit).size !== undefined) return title
  const words = unit.endsWith('/s') ? `${symbol(unit.slice(0, -2))}/s` : symbol(unit)
  return words === '' ? title : `${title} ${words}`
}

function sizeIn(unit: string): { readonly size: number | undefined; readonly isRate: boolean } {
  const isRate = unit.endsWith('/s')
  return { size: BYTES[isRate ? unit.slice(0, -2) : unit], isRate }
}

function formatBytes(bytes: number): string {
  let value = bytes
  let prefix = 0
  while (Math.abs(value) >= 1023.5 && prefix < PREFIXES.length - 1) {
    value /= 1024
    prefix += 1
  }
  const digits = prefix === 0 || Math.abs(value) >= 99.95 ? 0 : 1
  return `${value.toFixed(digits)} ${PREFIXES[prefix]}`
}

/**
 * Formats a number: from 1 with one digit after the point, below 1 with three significant digits,
 * and very small and very large numbers with an exponent.
 */
function formatNumber(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e9 || size < 0.001) return value.toExponential(2)
  if (size >= 1) return value.toFixed(1)
  return String(roundTo(value, 3))
}

/** Describes the state of a line in words. */
export function formatState(state: LineState): string {
  switch (state.is) {
    case 'silent':
      return `no rows for ${durationText(Math.floor(state.ms / 1000))}`
    case 'waiting':
      return 'no rows yet'
    case 'unread':
      return 'not followed'
    default:
      return state.is
  }
}
