import type { Moment } from './columns.ts'

/** What a timepoint says of its time. */
export interface ReportedTime {
  /** The time of day, HHMMSS as a number. */
  readonly clock: number | null
  /** Date and time, ISO 8601. */
  readonly timestamp: string | undefined
}

const DAY = 86_400

/** What is known of a log's time before its first timepoint. */
export interface SampleInterval {
  /** Seconds between timepoints, where they say no time. */
  readonly rate: number
  /** When the observer began, ISO 8601: a time of day is then of a date. */
  readonly started: string | null
  readonly isAverage: boolean
}

/**
 * Makes moments of what the timepoints of one log say. The seconds count from the first one, over
 * midnight too; where a log says no time at all they are counted by its rate.
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

/** The time with its date, as far as both are known. */
function dated({ at, time, isDated }: Time, { rate, started }: SampleInterval): string | null {
  if (isDated || started === null) return time
  return toDate(started, time === null ? at + rate : at, time)
}

/**
 * The first moment with this time of day that is not before the observer began, but for a second; or
 * so many seconds after it began, where the timepoints say no time.
 */
function toDate(started: string, seconds: number, time: string | null): string | null {
  const began = Date.parse(started) / 1000
  if (!Number.isFinite(began)) return time
  const same = time === null ? began + seconds : Math.floor(began / DAY) * DAY + seconds
  return new Date((same < began - 1 ? same + DAY : same) * 1000).toISOString()
}

/** A time of day goes back at midnight alone. */
function overMidnight(passed: number): number {
  return passed < -DAY / 2 ? passed + DAY : passed
}

interface Time {
  /** Seconds, since whenever. */
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
