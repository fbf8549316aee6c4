import type { Moment } from './columns.ts'

/** What a timepoint says of its time. */
export interface Said {
  /** The time of day, HHMMSS as a number. */
  readonly clock: number | null
  /** Date and time, ISO 8601. */
  readonly timestamp: string | undefined
}

const DAY = 86_400

/**
 * Makes moments of what the timepoints of one log say. The seconds count from the first one, over
 * midnight too; where a log says no time at all they are counted by its rate.
 */
export function startClock(
  rate: number,
  isAverage: boolean,
): (index: number, said: Said) => Moment {
  let previous: { readonly at: number; readonly seconds: number } | undefined
  return (timepoint, said) => {
    const { at, time } = readTime(said, timepoint * rate)
    const passed = previous === undefined ? 0 : overMidnight(at - previous.at)
    const seconds = (previous?.seconds ?? 0) + passed
    const interval = previous === undefined ? rate : passed
    previous = { at, seconds }
    return { timepoint, time, seconds, interval: isAverage ? null : interval }
  }
}

/** A time of day goes back at midnight alone. */
function overMidnight(passed: number): number {
  return passed < -DAY / 2 ? passed + DAY : passed
}

/** The time in seconds since whenever, and as a person reads it. */
function readTime(
  { clock, timestamp }: Said,
  counted: number,
): { at: number; time: string | null } {
  const milliseconds = timestamp === undefined ? Number.NaN : Date.parse(timestamp)
  if (Number.isFinite(milliseconds))
    return { at: milliseconds / 1000, time: new Date(milliseconds).toISOString() }
  if (clock === null) return { at: counted, time: null }
  const parts = [clock / 10_000, (clock / 100) % 100, clock % 100].map(Math.floor)
  const [hours = 0, minutes = 0, seconds = 0] = parts
  const time = parts.map((part) => String(part).padStart(2, '0')).join(':')
  return { at: hours * 3600 + minutes * 60 + seconds, time }
}
