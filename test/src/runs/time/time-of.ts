import { mapParts, type TimeOfRun, type TimePart } from '../../../../src/runs/time/parts.ts'

const NOON = Date.UTC(2026, 10, 30, 12)

/** Returns the time of a run with two restarts. @param known seconds, added over all places */
export function timeOf(known: Partial<Record<TimePart, number>>, places = 1): TimeOfRun {
  const seconds = mapParts((part) => known[part] ?? 0)
  const whole = Object.values(seconds).reduce((sum, one) => sum + one, 0)
  const to = NOON + (whole / places) * 1000
  return {
    from: NOON,
    to,
    places,
    seconds,
    restarts: 2,
    running: null,
    reasons: ['a time is missing'],
  }
}
