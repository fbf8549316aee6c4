const DAY = 86_400

/**
 * When each log began, in seconds after the first of them. Logs that say a date are compared by it, those
 * that say a time of day by that (a run over midnight included); one that says neither begins with the first.
 *
 * @param starts - by log: the time of a sample, a blank, and the seconds of it in its log, negated
 */
export function offsetsOf(starts: ReadonlyMap<string, string | null>): Map<string, number> {
  const began = new Map([...starts].map(([source, start]) => [source, beganAt(start)]))
  const known = [...began.values()].filter((at) => at !== undefined)
  const [first, last] = [Math.min(...known), Math.max(...known)]
  // Times of day half a day apart and more are of two days.
  const isOverMidnight = last < DAY && last - first > DAY / 2
  const offset = (at: number) => (isOverMidnight && at < DAY / 2 ? at + DAY : at)
  const base = Math.min(...known.map(offset))
  return new Map(
    [...began].map(([source, at]) => [source, at === undefined ? 0 : offset(at) - base]),
  )
}

function beganAt(start: string | null): number | undefined {
  if (start === null) return undefined
  const [time = '', seconds = ''] = start.split(' ')
  const [hours = 0, minutes = 0, rest = 0] = time.split(':').map(Number)
  const at = time.includes('T') ? Date.parse(time) / 1000 : hours * 3600 + minutes * 60 + rest
  return Number.isFinite(at) ? at + Number(seconds) : undefined
}
