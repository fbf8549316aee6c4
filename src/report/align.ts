/**
 * Returns the start of each log, in seconds after the start of the earliest log. A log without a
 * date, such as those of the Metrics Operator, starts at 0.
 *
 * @param starts by log: the time of a sample, ISO 8601, and its seconds since the first timepoint
 * of the log; or null
 */
export function computeOffsets(starts: ReadonlyMap<string, Start | null>): Map<string, number> {
  const began = [...starts].map(([source, start]) => [source, beganAt(start)] as const)
  const known = began.flatMap(([, at]) => at ?? [])
  const first = known.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
  return new Map(began.map(([source, at]) => [source, at === undefined ? 0 : at - first]))
}

export interface Start {
  readonly time: string
  readonly seconds: number
}

function beganAt(start: Start | null): number | undefined {
  const at = start?.time.includes('T') ? Date.parse(start.time) / 1000 - start.seconds : Number.NaN
  return Number.isFinite(at) ? at : undefined
}
