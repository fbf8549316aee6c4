/**
 * Returns the start of each log, in seconds after the start of the earliest log. A log without a
 * date, such as a log of the Metrics Operator, starts at 0.
 *
 * @param starts the times of one sample of each log, by log; null if no sample has a time
 */
export function computeOffsets(starts: ReadonlyMap<string, Start | null>): Map<string, number> {
  const began = [...starts].map(([source, start]) => [source, beganAt(start)] as const)
  const known = began.flatMap(([, at]) => at ?? [])
  const first = known.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
  return new Map(began.map(([source, at]) => [source, at === undefined ? 0 : at - first]))
}

/** Two times of a sample. The start of the log is computed from their difference. */
export interface Start {
  /** The time of the sample, ISO 8601; without a date in a log of the Metrics Operator. */
  readonly time: string
  /** The seconds from the first timepoint of the log to the sample. */
  readonly seconds: number
}

function beganAt(start: Start | null): number | undefined {
  const at = start?.time.includes('T') ? Date.parse(start.time) / 1000 - start.seconds : Number.NaN
  return Number.isFinite(at) ? at : undefined
}
