import type { Moment } from './columns.ts'

/** The time that a timepoint reports. */
export interface ReportedTime {
  /** The time of day, as the number HHMMSS. */
  readonly clock: number | null
  /** The date and time, in ISO 8601. */
  readonly timestamp: string | undefined
}

/** The facts about the time of a log that are known before its first timepoint. */
export interface SampleInterval {
  /**
   * Seconds between timepoints; used for the interval of the first timepoint, and for all
   * timepoints that report no time.
   */
  readonly rate: number
  /**
   * The start time of the observer, in ISO 8601. This time supplies the date for timepoints that
   * report only a time of day.
   */
  readonly started: string | null
  /** Whether the values are averages since the node started, so that no interval is known. */
  readonly isAverage: boolean
}

/**
 * Returns a function that converts the reported times of one log to moments. Seconds are counted
 * from the first timepoint, also across midnight. If a timepoint reports no time, its seconds are
 * calculated from the rate.
 */
export function startClock(
  sampling: SampleInterval,
): (timepoint: number, reported: ReportedTime) => Moment {
  const { rate, isAverage } = sampling
  let previous: { readonly at: number; readonly seconds: number } | undefined
  let first: number | undefined
  return (timepoint, reported) => {
    const read = readTime(reported, timepoint * rate)
    const isFirst = previous === undefined
    const passed = overMidnight(read.at - (previous?.at ?? read.at))
    const seconds = (previous?.seconds ?? 0) + passed
    previous = { at: read.at, seconds }
    first ??= firstMoment(read, sampling)
    const interval = isFirst ? rate : passed
    const time = dated(read, first, seconds)
    return { timepoint, time, seconds, interval: isAverage ? null : interval }
  }
}

/** Returns the time with its date if the date is known, otherwise only the time of day. */
function dated({ time, isDated }: Time, first: number | undefined, seconds: number): string | null {
  if (isDated || first === undefined) return time
  return new Date((first + seconds) * 1000).toISOString()
}

/** The seconds of a day. */
const DAY = 86_400

/**
 * Returns when the first timepoint was taken, in seconds since 1970, or undefined if the start of
 * the observer is not known. The result is the first moment with the reported time of day, counted
 * from one second before the start. If the timepoint reports no time, the result is one interval
 * after the start.
 */
function firstMoment({ at, time }: Time, { rate, started }: SampleInterval): number | undefined {
  const began = Date.parse(started ?? '') / 1000
  if (!Number.isFinite(began)) return undefined
  if (time === null) return began + at + rate
  const same = Math.floor(began / DAY) * DAY + at
  return same < began - 1 ? same + DAY : same
}

/**
 * Adds a day to a difference between two times of day if midnight was between them. A decrease of
 * half a day or less does not count as midnight, because a corrected clock can also go backwards.
 */
function overMidnight(passed: number): number {
  return passed < -DAY / 2 ? passed + DAY : passed
}

interface Time {
  /** Seconds since an arbitrary origin that is the same for all timepoints of a log. */
  readonly at: number
  readonly time: string | null
  readonly isDated: boolean
}

/** @param counted the seconds from the start by the rate, for a timepoint that reports no time */
function readTime({ clock, timestamp }: ReportedTime, counted: number): Time {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp) / 1000
  if (Number.isFinite(at)) return { at, time: new Date(at * 1000).toISOString(), isDated: true }
  if (clock === null) return { at: counted, time: null, isDated: false }
  const parts = [clock / 10_000, (clock / 100) % 100, clock % 100].map(Math.floor)
  const [hours = 0, minutes = 0, seconds = 0] = parts
  const time = parts.map((part) => String(part).padStart(2, '0')).join(':')
  return { at: hours * 3600 + minutes * 60 + seconds, time, isDated: false }
}

/**
 * Reports whether a time is at least two intervals before another one. The clocks of nodes and the
 * timepoints of observers differ by up to an interval.
 */
export function wasBefore(at: number | null, interval: number | null, latest: number): boolean {
  return at !== null && latest - at > 2 * (interval ?? 0) + 1
}
