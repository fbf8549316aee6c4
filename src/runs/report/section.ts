import type { RowColumn, RowSection } from '../../core/catalog.ts'
import { asText } from '../../core/kubernetes/json.ts'
import type { Sample } from '../log/columns.ts'
import { hasMeasures } from './measures.ts'
import { addPoint, longer, newTrack, type Track } from './track.ts'

/** The rows of one section of a metric, from all logs. */
export interface SectionRun {
  readonly metric: string
  readonly section: RowSection
  /** The columns that identify a thing in a log. */
  readonly keys: readonly RowColumn[]
  /** The measured columns. The other columns identify or describe the thing of a row. */
  readonly measures: readonly RowColumn[]
  /** Whether the rows are also those of the processes that the page always plots. */
  readonly isOfProcesses: boolean
  readonly tracks: Map<string, SectionTrack>
}

/**
 * The values of one thing over time, such as a container or a socket. The value of a counter is its
 * growth per second since the previous sample, and null at the first sample.
 */
export interface SectionTrack extends Track {
  /** The name of the program of a process; `program` has the other keys too. */
  readonly name: string | null
  /** The first known value of each counter. */
  readonly first: (number | null)[]
  /**
   * For each measure, the growth of a counter between its first and its last sample. Null for a
   * gauge, and for a counter with fewer than two known values.
   */
  readonly growth: (number | null)[]
  /** The last known value of each counter, and the seconds at which it was read. */
  readonly last: (Reading | undefined)[]
}

interface Reading {
  readonly value: number
  readonly seconds: number
}

export function newSectionRun(metric: string, section: RowSection): SectionRun {
  const measures = section.columns.filter(({ behavior }) => behavior !== undefined)
  const keys = section.columns.filter(({ key }) => key === true)
  return { metric, section, keys, measures, isOfProcesses: hasMeasures(section), tracks: new Map() }
}

/** Adds a row to the values of the thing that its key columns identify. */
export function addRow({ keys, measures, tracks }: SectionRun, sample: Sample): void {
  const id = JSON.stringify([sample.source, ...keys.map(({ name }) => sample[name] ?? null)])
  const track = tracks.get(id) ?? newSectionTrack(keys, measures.length, sample)
  tracks.set(id, track)
  const values = measures.map((column, index) => {
    const value = asNumber(sample[column.name])
    return column.behavior === 'counter' ? rate(track, index, value, sample.seconds) : value
  })
  addPoint(track, sample, values)
}

function newSectionTrack(
  keys: readonly RowColumn[],
  measures: number,
  sample: Sample,
): SectionTrack {
  const words = keys
    .filter(({ name }) => name !== 'pid')
    .flatMap((column) => wordOf(column, sample))
  const place = {
    source: sample.source ?? '',
    program: words.join(' '),
    pid: keys.some(({ name }) => name === 'pid') ? asNumber(sample.pid) : null,
  }
  return {
    ...newTrack(place, measures, asText(sample.container) ?? null),
    name: asText(sample.program) ?? null,
    first: Array(measures).fill(null),
    growth: Array(measures).fill(null),
    last: [],
  }
}

/** Returns the text of a key cell; for a number, with the name of the column before it. */
function wordOf({ name }: RowColumn, sample: Sample): readonly string[] {
  const cell = sample[name] ?? null
  if (cell === null || cell === '') return []
  return [typeof cell === 'number' ? `${name} ${cell}` : cell]
}

function asNumber(cell: unknown): number | null {
  return typeof cell === 'number' ? cell : null
}

/**
 * Returns the growth of a counter per second since its last known value, and adds the growth to the
 * track. If the value is less than before, the counter has started again from zero.
 */
function rate(
  { first, growth, last }: SectionTrack,
  index: number,
  value: number | null,
  seconds: number,
): number | null {
  const before = last[index]
  if (value === null) return null
  last[index] = { value, seconds }
  first[index] ??= value
  if (before === undefined) return null
  const grown = value < before.value ? value : value - before.value
  growth[index] = (growth[index] ?? 0) + grown
  const passed = seconds - before.seconds
  return passed > 0 ? grown / passed : null
}

/**
 * Merges tracks of one log with the same name. At each timepoint, the result is the sum of the
 * growth of each counter per second, and the greatest value of each gauge.
 */
export function mergeTracks(tracks: readonly Track[], measures: readonly RowColumn[]): Track {
  const [first] = tracks
  const place = { source: first?.source ?? '', program: first?.program ?? '', pid: null }
  const points = new Map<number, { interval: number | null; values: (number | null)[] }>()
  for (const { seconds, intervals, values } of tracks) {
    for (const [at, second] of seconds.entries()) {
      const before = points.get(second)
      const joined = measures.map(({ behavior }, index) =>
        merged(behavior, before?.values[index] ?? null, values[index]?.[at] ?? null),
      )
      const interval = longer(before?.interval ?? null, intervals[at] ?? null)
      points.set(second, { interval, values: joined })
    }
  }
  const whole = newTrack(place, measures.length)
  for (const [seconds, { interval, values }] of [...points].sort(([a], [b]) => a - b))
    addPoint(whole, { seconds, interval }, values)
  return whole
}

function merged(
  behavior: RowColumn['behavior'],
  a: number | null,
  b: number | null,
): number | null {
  if (a === null || b === null) return a ?? b
  return behavior === 'counter' ? a + b : Math.max(a, b)
}
