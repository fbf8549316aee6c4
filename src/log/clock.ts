import type { Moment } from './columns.ts'

/** The time that a timepoint reports. */
export interface ReportedTime {
  /** The time of day, as the number HHMMSS. */
  readonly clock: number | null
  /** The date and time, in ISO 8601. */
  readonly timestamp: string | undefined
}

const DAY = 86_400

/** The facts about the time of a log that are known before its first timepoint. */
export interface SampleInterval {
  /** Seconds between timepoints; used if the timepoints report no time. */
  readonly rate: number
  /**
   * The start time of the observer, in ISO 8601. This time supplies the date for timepoints that
   * report only a time of day.
   */
  readonly started: string | null
  readonly isAverage: boolean
}

/**
 * Returns a function that converts the reported times of one log to moments. Seconds are counted
 * from the first timepoint, also across midnight. If a timepoint reports no time, its seconds are
 * calculated from the rate.
 */
export function startClock(pace: SampleInterval): (index: number, said: ReportedTime) => Moment {
  const { rate, isAverage } = pace
  let previous: { readonly at: number; readonly seconds: number } | undefined
  return (timepoint, said) => {
    const read = readTime(said, timepoint * rate)
    const isFirst = previous === undefined
    const passed = overMidnight(read.at - (previous?.at ?? read.at))
    const seconds = (previous?.seconds ?? 0) + passed
    previous = { at: read.at, seconds }
    const interval = isFirst ? rate : passed
    return { timepoint, time: dated(read, pace), seconds, interval: isAverage ? null : interval }
  }
}

/** Returns the time with its date if the date is known, otherwise only the time of day. */
function dated({ at, time, isDated }: Time, { rate, started }: SampleInterval): string | null {
  if (isDated || started === null) return time
  return toDate(started, time === null ? at + rate : at, time)
}

/**
 * Returns the first moment with this time of day that is no earlier than one second before the
 * observer started. If the timepoints report no time, returns the start plus the seconds.
 */
function toDate(started: string, seconds: number, time: string | null): string | null {
  const began = Date.parse(started) / 1000
  if (!Number.isFinite(began)) return time
  const same = time === null ? began + seconds : Math.floor(began / DAY) * DAY + seconds
  return new Date((same < began - 1 ? same + DAY : same) * 1000).toISOString()
}

/**
 * Corrects a difference between two times of day for midnight. Only at midnight does a time of day
 * go backwards.
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

function readTime({ clock, timestamp }: ReportedTime, counted: number): Time {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp) / 1000
  if (Number.isFinite(at)) return { at, time: new Date(at * 1000).toISOString(), isDated: true }
  if (clock === null) return { at: counted, time: null, isDated: false }
  const parts = [clock / 10_000, (clock / 100) % 100, clock % 100].map(Math.floor)
  const [hours = 0, minutes = 0, seconds = 0] = parts
  const time = parts.map((part) => String(part).padStart(2, '0')).join(':')
  return { at: hours * 3600 + minutes * 60 + seconds, time, isDated: false }
}
