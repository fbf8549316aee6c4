import type { RowColumn } from '../../core/catalog.ts'
import type { Cell } from '../log/columns.ts'
import { Series } from './series.ts'

/** The values of one column of one thing, summed up as they are read. */
export interface ColumnReading {
  /** The first value; null if none was read. */
  first: number | null
  /** The last value; null if none was read. */
  last: number | null
  /** The greatest value; null if none was read. */
  most: number | null
  /** Whether the column is a counter. */
  readonly isCounter: boolean
  /**
   * By how much a counter grew; null if it was read only once, and not from its start. A counter
   * that falls has started again from zero.
   */
  growth: number | null
  /** The part of the growth that came before the first value. */
  early: number
  /** The seconds in which the counter grew by `growth`. */
  seconds: number
  /** When a counter was last read, in seconds since the first timepoint of the log. */
  at: number
  /**
   * The sum of a gauge's values, each multiplied by the seconds that the value covers, or by 1 if
   * these are not known.
   */
  sum: number
  /** The sum of a gauge's values, for a gauge whose values are amounts, such as clock ticks. */
  total: number
  /** The seconds covered by all values of a gauge. */
  covered: number
  /** The seconds covered by the values of a gauge that are above zero. */
  busy: number
  /**
   * The growth of a counter, of each interval no more than its seconds; the same of a gauge in
   * percent. Of CPU time, this is the longest time in which any thread can have computed.
   */
  capped: number
  /** The last text; null if none was read. */
  text: string | null
  /** The values of a gauge over time; undefined if no rule reads them. */
  readonly series: Series | undefined
}

/**
 * @param behavior that of the column
 * @param hasSeries whether the values over time are kept
 */
export function newReading(
  { behavior }: Pick<RowColumn, 'behavior'> = {},
  hasSeries = false,
): ColumnReading {
  return {
    isCounter: behavior === 'counter',
    first: null,
    last: null,
    most: null,
    growth: null,
    early: 0,
    seconds: 0,
    at: 0,
    sum: 0,
    total: 0,
    covered: 0,
    busy: 0,
    capped: 0,
    text: null,
    series: hasSeries ? new Series() : undefined,
  }
}

/** When a value was read. */
export interface ReadAt {
  /** Seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The length of time that the value covers, in seconds; null if it is not known. */
  readonly interval: number | null
  /**
   * When the process or other thing started, in seconds since the first timepoint of the log. Its
   * counters were zero then. Null if this is not known.
   */
  readonly started: number | null
}

/** Adds a value of a column. A value that could not be read changes nothing. */
export function addValue(reading: ColumnReading, value: Cell, when: ReadAt): void {
  if (value === null) return
  if (typeof value === 'string') {
    reading.text = value
    return
  }
  if (reading.isCounter) addCount(reading, value, when)
  else addGauge(reading, value, when.interval ?? 1)
  reading.series?.add({ seconds: when.seconds, value })
  reading.first ??= value
  reading.last = value
  reading.most = Math.max(reading.most ?? value, value)
}

/**
 * Continues a counter with the values that were read of the same process while it ran another
 * program: its counters go on when it executes a new one.
 */
export function continueReading(reading: ColumnReading, before: ColumnReading): void {
  if (!reading.isCounter || before.last === null) return
  reading.last = before.last
  reading.at = before.at
}

function addCount(reading: ColumnReading, value: number, { seconds, started }: ReadAt): void {
  const { last } = reading
  const since = last === null ? started : reading.at
  reading.at = seconds
  if (since === null) return
  const before = last ?? 0
  const growth = value < before ? value : value - before
  if (last === null) reading.early = growth
  reading.growth = (reading.growth ?? 0) + growth
  reading.seconds += seconds - since
  reading.capped += Math.min(growth, seconds - since)
}

function addGauge(reading: ColumnReading, value: number, seconds: number): void {
  reading.sum += value * seconds
  reading.total += value
  reading.covered += seconds
  reading.capped += Math.min(value / 100, 1) * seconds
  if (value > 0) reading.busy += seconds
}
