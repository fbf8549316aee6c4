/** The time by which Runs and rows are too old. */
export interface SweepClock {
  /** Notes the time in a response of the apiserver, in milliseconds since 1970; NaN if none. */
  note(date: number): void
  /**
   * Returns the time in milliseconds since 1970; undefined if nothing may be deleted for its age,
   * because the time is not known or has jumped within the last hour.
   */
  now(): number | undefined
}

/** The sources of time: the clock of the system, and one that never jumps. In milliseconds. */
export interface TimeSources {
  system(): number
  steady(): number
}

const SOURCES: TimeSources = { system: Date.now, steady: () => performance.now() }

/** The most by which the time may jump, and the time without a deletion after a larger jump. */
const MAX_JUMP_MS = 300_000
const PAUSE_MS = 3_600_000

/**
 * A clock that is ahead would let an archive delete all ended Runs and their rows. So the earlier
 * of the times of the system and of the apiserver counts, and a jump is awaited.
 */
export function createSweepClock({ system, steady }: TimeSources = SOURCES): SweepClock {
  let ofServer: { readonly date: number; readonly at: number } | undefined
  let last: { readonly time: number; readonly at: number } | undefined
  let pausedUntil = Number.NEGATIVE_INFINITY
  return {
    note(date) {
      if (!Number.isNaN(date)) ofServer = { date, at: steady() }
    },
    now() {
      if (ofServer === undefined) return undefined
      const at = steady()
      const time = Math.min(system(), ofServer.date + at - ofServer.at)
      const jump = last === undefined ? 0 : time - last.time - (at - last.at)
      last = { time, at }
      if (jump > MAX_JUMP_MS) pausedUntil = at + PAUSE_MS
      return at < pausedUntil ? undefined : time
    },
  }
}
