import type { RowColumn } from '../core/catalog.ts'
import type { Cell } from '../log/columns.ts'

/** The values of one column of one thing, summed up as they are read. */
export interface ColumnReading {
  /** The first value; null if none was read. */
  first: number | null
  /** The last value; null if none was read. */
  last: number | null
  /** The greatest value; null if none was read. */
  most: number | null
  /** By how much a counter grew. A counter that falls has started again from zero. */
  growth: number
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
  /** The last text; null if none was read. */
  text: string | null
}

export function newReading(): ColumnReading {
  return {
    first: null,
    last: null,
    most: null,
    growth: 0,
    seconds: 0,
    at: 0,
    sum: 0,
    total: 0,
    covered: 0,
    busy: 0,
    text: null,
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
export function addValue(
  reading: ColumnReading,
  { behavior }: Pick<RowColumn, 'behavior'>,
  value: Cell,
  when: ReadAt,
): void {
  if (value === null) return
  if (typeof value === 'string') {
    reading.text = value
    return
  }
  if (behavior === 'counter') addCount(reading, value, when)
  else addGauge(reading, value, when.interval ?? 1)
  reading.first ??= value
  reading.last = value
  reading.most = Math.max(reading.most ?? value, value)
}

function addCount(reading: ColumnReading, value: number, { seconds, started }: ReadAt): void {
  const isFirst = reading.last === null
  if (!isFirst || started !== null) {
    const before = reading.last ?? 0
    reading.growth += value < before ? value : value - before
    reading.seconds += seconds - (isFirst ? (started ?? seconds) : reading.at)
  }
  reading.at = seconds
}

function addGauge(reading: ColumnReading, value: number, seconds: number): void {
  reading.sum += value * seconds
  reading.total += value
  reading.covered += seconds
  if (value > 0) reading.busy += seconds
}
