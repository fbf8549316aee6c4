/**
 * The values of one process, device or other thing over time, stored as arrays of numbers because
 * there may be a million samples.
 */
export interface Track {
  readonly source: string
  readonly program: string
  readonly pid: number | null
  /** The container of a process; null if it is not known, or the track is not of a process. */
  readonly container: string | null
  /** Seconds since the first timepoint of the log. */
  seconds: number[]
  /**
   * The seconds that each sample covers; null if they are not known, and for averages since the
   * node started.
   */
  intervals: (number | null)[]
  /** The values of each measure, by the index of the measure. */
  readonly values: (number | null)[][]
}

export function newTrack(
  place: Pick<Track, 'source' | 'program' | 'pid'>,
  measures: number,
  container: string | null = null,
): Track {
  const values = Array.from({ length: measures }, (): (number | null)[] => [])
  return { ...place, container, seconds: [], intervals: [], values }
}

/** Adds a sample with one value for each measure. */
export function addPoint(
  track: Track,
  { seconds, interval }: { readonly seconds: number | null; readonly interval: number | null },
  values: readonly (number | null)[],
): void {
  track.seconds = append(track.seconds, seconds ?? track.seconds.length)
  track.intervals = append(track.intervals, interval)
  for (const [index, value] of values.entries())
    track.values[index] = append(track.values[index] ?? [], value)
}

/** The length from which a list of values grows in place. */
const LONG = 16

/**
 * Appends a value to a list. A run can have many thousand processes with few samples, and V8 gives
 * a list that grows in place room for 17 values.
 */
function append<Value>(list: Value[], value: Value): Value[] {
  if (list.length < LONG) return list.concat([value])
  list.push(value)
  return list
}

/**
 * Returns the sum of tracks of one log, timepoint by timepoint. If a value could not be read, the
 * sum at its timepoint is null.
 */
export function sumTracks(
  tracks: readonly Track[],
  place: Pick<Track, 'source' | 'program'>,
): Track {
  const sums = new Map<number, Sum>()
  for (const track of tracks) addTo(sums, track)
  const sum = newTrack({ ...place, pid: null }, tracks[0]?.values.length ?? 0)
  const ordered = [...sums].sort(([a], [b]) => a - b)
  for (const [seconds, { interval, values }] of ordered)
    addPoint(sum, { seconds, interval }, values)
  return sum
}

/** Returns the longer interval: a process that has just started has a shorter one than others. */
export function longer(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

interface Sum {
  readonly interval: number | null
  readonly values: (number | null)[]
}

function addTo(sums: Map<number, Sum>, track: Track): void {
  for (const [at, seconds] of track.seconds.entries()) {
    const values = track.values.map((list) => list[at] ?? null)
    const before = sums.get(seconds)
    const interval = longer(before?.interval ?? null, track.intervals[at] ?? null)
    sums.set(seconds, { interval, values: before ? added(before.values, values) : values })
  }
}

function added(a: readonly (number | null)[], b: readonly (number | null)[]): (number | null)[] {
  return a.map((value, index) => {
    const other = b[index] ?? null
    return value === null || other === null ? null : value + other
  })
}
