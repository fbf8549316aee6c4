import type { RowSection, RowsDescription } from '../../core/catalog.ts'
import { type Block, type BlockReader, readBlocks } from '../log/blocks.ts'
import type { RowCells } from '../log/columns.ts'
import { type MatchedLine, matchRow } from '../log/match-row.ts'
import { isRowPerLine, readOpenTimepoint, type TimepointRow } from '../log/open-timepoint.ts'
import {
  type LiveSection,
  type LiveSections,
  type LiveTimepoint,
  RARE,
  startLiveSections,
} from './live-sections.ts'

/** The log of an observer while it grows. At most two timepoints of each section are kept. */
export interface LiveLog {
  /**
   * Reads a complete line.
   *
   * @param at when the line was written, in milliseconds since 1970
   */
  readonly push: (line: string, at: number) => void
  /** Reads a row of a recorded log, of which no row is missing. */
  readonly pushRow: (row: RecordedRow) => void
  /** Notes that the log has no more rows. */
  readonly end: () => void
  /** Forgets all rows, because the container has started again. */
  readonly restart: () => void
  /**
   * Shows the timepoint whose end has not arrived yet. Call this function when no line has arrived
   * for a moment, so that the rows are shown before the next timepoint begins.
   */
  readonly settle: () => void
  /** The sections whose values are current, by their names. */
  readonly sections: () => ReadonlyMap<string, LiveSection>
  /** A number that grows when the rows change, or when the log ends or starts again. */
  readonly version: () => number
  /** When the last row was taken, in milliseconds since 1970; undefined if there is no row. */
  readonly lastAt: () => number | undefined
  /** Milliseconds between the last two timepoints; undefined if they are not known. */
  readonly interval: () => number | undefined
  /** Whether the marker of the collection's start was read, so that no row is missing. */
  readonly hasStart: () => boolean
  /** Whether the closing marker was read. */
  readonly hasEnded: () => boolean
  /**
   * Whether enough of the log was read to show these sections: two whole timepoints and their rarer
   * rows, or all timepoints.
   */
  readonly hasEnough: (sections: ReadonlySet<string>) => boolean
  /** The number of timepoints after which another one has begun. */
  readonly closedTimepoints: () => number
  /**
   * The number of lines after the first row that look like rows in JSON Lines, but do not match the
   * description, and why the first of them does not.
   */
  readonly unmatched: () => { readonly lines: number; readonly reason: string }
}

/** A row of a section, and when it was taken, in milliseconds since 1970. */
export interface RecordedRow extends Pick<MatchedRow, 'section' | 'at' | 'cells'> {
  /** The seconds that the row covers; undefined if they are those since the timepoint before. */
  readonly interval?: number | null | undefined
}

/** Takes the rows of a log, to keep more of them than two timepoints. */
export interface RowTaker {
  /** @param at when the row was taken, in milliseconds since 1970 */
  readonly take: (section: string, at: number, cells: RowCells, facts: RowFacts) => void
  /** Is called when the rows that were taken are shown, or their timepoint is complete. */
  readonly settle: () => void
  /** Is called when the log starts again. */
  readonly clear: () => void
}

export interface RowFacts {
  /** Whether other rows of the timepoint may be missing. */
  readonly isPartial: boolean
  /** The number of characters of the row; 0 if it is not a line of its own. */
  readonly size: number
  /** The seconds that the row covers; undefined if they are those since the timepoint before. */
  readonly interval?: number | null | undefined
}

/** The most lines and characters of a timepoint that is parsed as a whole. More are dropped. */
const MAX_LINES = 100_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** The rows of one run of the container. */
interface LiveRows {
  sections: LiveSections
  lastAt: number | undefined
  hasStart: boolean
  hasEnded: boolean
  /** The time of the first rows, some of which may be missing because only the tail is read. */
  partialAt: number | undefined
  /** The timepoint whose end has not arrived, and whether it has rows that are not shown. */
  open: LiveTimepoint | undefined
  isUnshown: boolean
  /** The number of lines of the open timepoint that were read, and the rows in them. */
  settled: number
  rows: readonly TimepointRow[]
  /** The number of timepoints that have their first rows. */
  wholeTimepoints: number
}

interface LiveState extends LiveRows {
  readonly description: RowsDescription
  /** Whether each line is a row; otherwise, a timepoint is parsed as a whole. */
  readonly isByLine: boolean
  readonly takers: readonly RowTaker[]
  blocks: BlockReader
  /** The number of characters of the open block. */
  blockSize: number
  /** When the last line was written. */
  lineAt: number
  version: number
  closedTimepoints: number
  unmatched: number
  reason: string
}

function noRows(description: RowsDescription): LiveRows {
  return {
    sections: startLiveSections(description.sections),
    lastAt: undefined,
    hasStart: false,
    hasEnded: false,
    partialAt: undefined,
    open: undefined,
    isUnshown: false,
    settled: 0,
    rows: [],
    wholeTimepoints: 0,
  }
}

/**
 * Starts to read a log, whose first lines may be missing. If the marker of the collection's start
 * is missing, the first timepoint in JSON Lines is marked as partial, and its values are not shown.
 *
 * @param description the description of the metric's rows
 */
export function startLiveLog(
  description: RowsDescription,
  ...takers: readonly (RowTaker | undefined)[]
): LiveLog {
  const state: LiveState = {
    ...noRows(description),
    description,
    isByLine: isRowPerLine(description),
    takers: takers.filter((taker) => taker !== undefined),
    blocks: readBlocks(),
    blockSize: 0,
    lineAt: 0,
    version: 0,
    closedTimepoints: 0,
    unmatched: 0,
    reason: '',
  }
  return {
    push: (line, at) => pushLine(state, line, at),
    pushRow: (row) => {
      state.hasStart = true
      keepRow(state, row, 0)
    },
    end: () => noteEnd(state),
    restart: () => restart(state),
    settle: () => settle(state),
    sections: () => state.sections.current,
    version: () => state.version,
    lastAt: () => state.lastAt,
    interval: () => state.sections.interval(),
    hasStart: () => state.hasStart,
    hasEnded: () => state.hasEnded,
    hasEnough: (sections) => hasEnough(state, sections),
    closedTimepoints: () => state.closedTimepoints,
    unmatched: () => ({ lines: state.unmatched, reason: state.reason }),
  }
}

function pushLine(state: LiveState, line: string, at: number): void {
  const closed = state.blocks.push(line)
  for (const block of closed) takeBlock(state, block)
  state.lineAt = at
  const open = state.blocks.open()
  state.blockSize = closed.length > 0 ? 0 : state.blockSize + line.length
  if (open === undefined) return
  if (open.kind === 'end') noteEnd(state)
  const isRow = open.kind === 'timepoint' && closed.length === 0 && open.lines.length > 0
  if (isRow && state.isByLine) takeRow(state, line)
  boundBlock(state, open.lines.length)
}

function boundBlock(state: LiveState, lines: number): void {
  if (lines <= MAX_LINES && state.blockSize <= MAX_CHARACTERS) return
  state.blocks = readBlocks()
  state.blockSize = 0
  state.settled = 0
  if (!state.isByLine) state.open = undefined
}

function takeBlock(state: LiveState, { kind, lines }: Block): void {
  switch (kind) {
    case 'metadata':
      restart(state)
      return
    case 'start':
      state.hasStart = true
      return
    case 'line':
      if (state.isByLine) takeRow(state, lines[0] ?? '')
      return
    case 'timepoint':
      if (state.isByLine) return
      takeTimepoint(state, lines)
      passTimepoint(state)
      state.closedTimepoints += 1
      state.open = undefined
      state.settled = 0
      return
    default:
      return
  }
}

/** Forgets the rows of an earlier run of the container. */
function restart(state: LiveState): void {
  Object.assign(state, noRows(state.description))
  for (const taker of state.takers) taker.clear()
  state.version += 1
}

function settle(state: LiveState): void {
  const block = state.blocks.open()
  if (block?.kind === 'timepoint' && !state.isByLine) takeTimepoint(state, block.lines)
  else showOpen(state)
}

function noteEnd(state: LiveState): void {
  if (!state.hasEnded) state.version += 1
  state.hasEnded = true
}

function hasEnough(state: LiveState, wanted: ReadonlySet<string>): boolean {
  if (state.hasStart) return true
  const { sections } = state
  return state.wholeTimepoints >= 2 && (!wanted.has(RARE) || sections.current.has(RARE))
}

/** Reads the rows of a timepoint, unless they were already read. */
function takeTimepoint(state: LiveState, lines: readonly string[]): void {
  if (lines.length === state.settled) return
  const rows = readOpenTimepoint(lines, state.description)
  if (rows.length === 0) return
  state.settled = lines.length
  const timepoint = state.open ?? beginTimepoint(state, nextAt(state))
  state.rows = rows
  for (const { section, cells } of rows)
    state.sections.add(timepoint, {
      section: section.name,
      key: keyOf(section, cells),
      cells,
      size: 0,
    })
  state.isUnshown = true
  showOpen(state)
}

/**
 * Passes the rows of a complete timepoint to the takers. The rows of a timepoint that has not ended
 * are parsed again when more of its lines arrive, so they are not passed.
 */
function passTimepoint({ rows, open, takers }: LiveState): void {
  if (open === undefined) return
  const facts = { isPartial: open.isPartial, size: 0 }
  for (const taker of takers) {
    for (const { section, cells } of rows) taker.take(section.name, open.at, cells, facts)
    taker.settle()
  }
}

/**
 * Returns the time of a timepoint that is parsed as a whole: when its last line was written. It is
 * later than that of the timepoint before, also if the clock was set back.
 */
function nextAt({ lineAt, lastAt = 0, sections }: LiveState): number {
  return lineAt > lastAt ? lineAt : lastAt + (sections.interval() ?? 1)
}

function beginTimepoint(state: LiveState, at: number): LiveTimepoint {
  const isPartial = at === state.partialAt
  const timepoint = { at, isPartial, readings: new Map() }
  if (!isPartial) state.wholeTimepoints += 1
  state.open = timepoint
  return timepoint
}

/** Shows the rows of the open timepoint, to which more rows may be added. */
function showOpen(state: LiveState): void {
  if (state.open === undefined || !state.isUnshown) return
  state.isUnshown = false
  state.sections.show(state.open)
  for (const taker of state.takers) taker.settle()
  state.version += 1
  state.lastAt = Math.max(state.lastAt ?? 0, state.open.at)
}

type MatchedRow = Extract<MatchedLine, { kind: 'row' }>

/** Reads a line that is a row. */
function takeRow(state: LiveState, line: string): void {
  if (!line.startsWith('{')) return
  const matched = matchRow(line, state.description)
  if (matched.kind === 'unmatched') keepReason(state, matched.reason)
  if (matched.kind === 'row') keepRow(state, matched, line.length)
}

/**
 * Adds a row to the timepoint of its time. The timepoint is shown when the next one begins or no
 * more lines arrive, because a sum of only some of its rows would be wrong.
 */
function keepRow(state: LiveState, row: RecordedRow, size: number): void {
  const { section, at, cells, interval } = row
  if (!state.hasStart) state.partialAt ??= at
  if (state.open !== undefined && state.open.at !== at) {
    showOpen(state)
    state.closedTimepoints += 1
    state.open = undefined
  }
  const timepoint = state.open ?? beginTimepoint(state, at)
  const key = keyOf(section, cells)
  const isNew = state.sections.add(timepoint, { section: section.name, key, cells, size })
  const facts = { isPartial: timepoint.isPartial, size, interval }
  if (isNew) for (const taker of state.takers) taker.take(section.name, at, cells, facts)
  state.isUnshown ||= isNew
}

function keepReason(state: LiveState, reason: string): void {
  if (state.hasEnded || state.lastAt === undefined) return
  if (state.unmatched === 0) state.reason = reason
  state.unmatched += 1
}

const KEYS = new WeakMap<RowSection, readonly string[]>()

/** Returns the values of the key columns of a section. */
function keyOf(section: RowSection, cells: RowCells): string {
  const known = KEYS.get(section)
  const keys = known ?? section.columns.flatMap(({ key, name }) => (key === true ? name : []))
  if (known === undefined) KEYS.set(section, keys)
  return keys.map((name) => cells[name] ?? '').join('\n')
}
