import type { RowSection } from '../../core/catalog.ts'
import type { RowCells } from '../log/columns.ts'

/** A row, and when it was taken, in milliseconds since 1970. */
export interface LiveRow {
  readonly at: number
  readonly cells: RowCells
}

/** The rows of a section by the values of their key columns. */
export type LiveRows = ReadonlyMap<string, LiveRow>

/** The current rows of a section. */
export interface LiveSection {
  readonly now: LiveRows
  /** The rows of the timepoint before; undefined if they are not known, or some may be missing. */
  readonly before: LiveRows | undefined
  /** The rows of each program; undefined before they are needed. */
  programs: ReadonlyMap<string, LiveRows> | undefined
}

/** @param before the rows of the timepoint before; undefined if they are not known */
export function buildSection(now: LiveRows, before: LiveRows | undefined): LiveSection {
  return { now, before, programs: undefined }
}

/** The rows that a section has at one time, which arrive one after another. */
interface Reading {
  readonly at: number
  readonly rows: Map<string, LiveRow>
  /** The number of characters of the rows. */
  size: number
  /** Whether rows may be missing. */
  isPartial: boolean
}

/** A timepoint of a log. */
export interface LiveTimepoint {
  /** When the rows were taken, in milliseconds since 1970. */
  readonly at: number
  /** Whether rows may be missing. */
  readonly isPartial: boolean
  readonly readings: Map<string, Reading>
}

/** A row to add to a timepoint. */
export interface NewRow {
  readonly section: string
  /** The values of the key columns. */
  readonly key: string
  readonly cells: RowCells
  /** The number of characters of the row. */
  readonly size: number
}

/** The sections of a log. At most the last two timepoints are kept. */
export interface LiveSections {
  /**
   * The sections of the last timepoint, by their names. A section is missing if the last timepoint
   * has no row of it, or if some of its rows may be missing: its values would be old or wrong.
   */
  readonly current: ReadonlyMap<string, LiveSection>
  /**
   * Adds a row to a timepoint.
   *
   * @returns whether the timepoint has changed; a row that is older than the last one of its
   * section is dropped
   */
  readonly add: (timepoint: LiveTimepoint, row: NewRow) => boolean
  /** Shows a timepoint. Call this function again when more rows were added to the timepoint. */
  readonly show: (timepoint: LiveTimepoint) => void
  /** Milliseconds between the last two timepoints; undefined if they are not known. */
  readonly interval: () => number | undefined
}

/**
 * The most rows and characters that a section has in a timepoint. More are not from an observer,
 * and are dropped. The section then has no values, because they would be wrong.
 */
const MAX_ROWS = 20_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/**
 * The section whose rows come rarely, and only for a few processes at a time. The last row of each
 * process is kept until the process has no more rows in the other section.
 */
export const RARE = 'placement'
const LIVING = 'process'

/** The most characters of a row that is kept. */
const MAX_RARE_CHARACTERS = 4096

/** The last two timepoints with rows of a section. */
interface SectionHistory {
  readonly now: Reading
  readonly before: Reading | undefined
}

interface SectionsState {
  readonly hasRare: boolean
  readonly histories: Map<string, SectionHistory>
  readonly current: Map<string, LiveSection>
  /** The last two rows of each process in the rare section. */
  readonly rareNow: Map<string, LiveRow>
  readonly rareBefore: Map<string, LiveRow>
  lastAt: number
  interval: number | undefined
}

/** @param sections the description of the sections */
export function startLiveSections(sections: readonly RowSection[]): LiveSections {
  const state: SectionsState = {
    hasRare: hasRareSection(sections),
    histories: new Map(),
    current: new Map(),
    rareNow: new Map(),
    rareBefore: new Map(),
    lastAt: 0,
    interval: undefined,
  }
  return {
    current: state.current,
    add: (timepoint, row) => addRow(state, timepoint, row),
    show: (timepoint) => show(state, timepoint),
    interval: () => state.interval,
  }
}

/** Reports whether the rows of both sections belong to processes, and have the same keys. */
function hasRareSection(sections: readonly RowSection[]): boolean {
  const keysOf = (wanted: string) =>
    sections
      .find(({ name, of }) => name === wanted && of === 'process')
      ?.columns.filter(({ key }) => key === true)
      .map(({ name }) => name)
      .join(' ')
  const keys = keysOf(RARE)
  return keys !== undefined && keys === keysOf(LIVING)
}

function addRow(state: SectionsState, timepoint: LiveTimepoint, row: NewRow): boolean {
  const { at } = timepoint
  const { section, key, cells, size } = row
  const last = state.histories.get(section)?.now
  if (last !== undefined && at < last.at) return false
  const reading = timepoint.readings.get(section) ?? beginReading(timepoint, last)
  timepoint.readings.set(section, reading)
  reading.size += size
  const isFull = reading.rows.size >= MAX_ROWS || reading.size > MAX_CHARACTERS
  const isTooLong = state.hasRare && section === RARE && size > MAX_RARE_CHARACTERS
  reading.isPartial ||= isFull || isTooLong
  if (!isFull && !isTooLong) reading.rows.set(key, { at, cells })
  return true
}

/** Rows that have the time of the last ones of their section belong to the same reading. */
function beginReading({ at, isPartial }: LiveTimepoint, last: Reading | undefined): Reading {
  return last?.at === at ? last : { at, rows: new Map(), size: 0, isPartial }
}

function show(state: SectionsState, { at, readings }: LiveTimepoint): void {
  const { histories, current } = state
  state.lastAt = Math.max(state.lastAt, at)
  state.interval = noteReadings(histories, readings) ?? state.interval
  for (const [name, history] of histories) {
    const section = currentSection(state, history)
    if (section === undefined) current.delete(name)
    else current.set(name, section)
  }
  if (state.hasRare) keepRare(state, readings.get(RARE)?.rows)
}

/** Returns the shortest time since the rows before, because rows of a section may be missing. */
function noteReadings(
  histories: SectionsState['histories'],
  readings: LiveTimepoint['readings'],
): number | undefined {
  let shortest: number | undefined
  for (const [name, now] of readings) {
    const known = histories.get(name)
    const history = known?.now === now ? known : { now, before: known?.now }
    histories.set(name, history)
    const gap = gapOf(history)
    if (gap !== undefined) shortest = Math.min(gap, shortest ?? gap)
  }
  return shortest
}

function gapOf({ now, before }: SectionHistory): number | undefined {
  if (before === undefined) return undefined
  const gap = now.at - before.at
  return gap > 0 ? gap : undefined
}

/**
 * Returns the rows of a section if they are current. The rows of a timepoint should have the same
 * time, but half an interval is tolerated. The rows before must be those of the timepoint before,
 * because the growth would otherwise be the average over a longer time.
 */
function currentSection(
  { lastAt, interval = 0 }: SectionsState,
  history: SectionHistory,
): LiveSection | undefined {
  const { now, before } = history
  if (now.isPartial || lastAt - now.at > interval / 2) return undefined
  const isNext = (gapOf(history) ?? Number.POSITIVE_INFINITY) <= interval * 1.5
  const isWhole = before !== undefined && !before.isPartial
  return buildSection(now.rows, isNext && isWhole ? before.rows : undefined)
}

/**
 * Keeps the last two rows of each process in the rare section. The section is current if it has a
 * row of each process that has rows now.
 */
function keepRare(state: SectionsState, rows: LiveRows | undefined): void {
  const { rareNow, rareBefore, current, histories } = state
  rows?.forEach((row, key) => {
    const last = rareNow.get(key)
    if (last !== undefined && last.at < row.at) rareBefore.set(key, last)
    rareNow.set(key, row)
  })
  const living: LiveRows = histories.get(LIVING)?.now.rows ?? new Map()
  forgetEnded(state, living)
  const isComplete = current.has(LIVING) && rareNow.size === living.size
  if (isComplete) current.set(RARE, buildSection(rareNow, rareBefore))
  else current.delete(RARE)
}

function forgetEnded({ rareNow, rareBefore }: SectionsState, living: LiveRows): void {
  for (const key of rareNow.keys()) {
    if (living.has(key)) continue
    rareNow.delete(key)
    rareBefore.delete(key)
  }
}
