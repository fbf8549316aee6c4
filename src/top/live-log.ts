import type { RowSection, RowsDescription } from '../core/catalog.ts'
import { type Block, type BlockReader, readBlocks } from '../log/blocks.ts'
import type { RowCells } from '../log/columns.ts'
import { type MatchedLine, matchRow } from '../log/match-row.ts'
import { readTimepoint } from '../log/timepoint.ts'

/** The rows of a section at one time, by the values of their key columns. */
export interface LiveReading {
  /** When the rows were taken, in milliseconds since 1970. */
  readonly at: number
  readonly rows: Map<string, RowCells>
}

/** The last two timepoints of a section. */
export interface LiveSection {
  before: LiveReading | undefined
  now: LiveReading | undefined
  /** Whether rows of `now` may be missing, because the log was not read from its beginning. */
  isPartial: boolean
}

/** The log of an observer while it grows. At most two timepoints of each section are kept. */
export interface LiveLog {
  /**
   * Reads a complete line.
   *
   * @param at when the line was written, in milliseconds since 1970
   */
  readonly push: (line: string, at: number) => void
  /**
   * Reads the timepoint whose end has not arrived yet. Call this function when no line has arrived
   * for a moment, so that the rows are shown before the next timepoint begins.
   */
  readonly settle: () => void
  readonly sections: ReadonlyMap<string, LiveSection>
  /** A number that grows when the rows change, or when the log ends or starts again. */
  readonly version: () => number
  /** When the last row was taken, in milliseconds since 1970; undefined if there is no row. */
  readonly lastAt: () => number | undefined
  /** Milliseconds between the last two timepoints; undefined if they are not known. */
  readonly interval: () => number | undefined
  /** Whether the closing marker was read. */
  readonly hasEnded: () => boolean
  /**
   * The number of lines after the first row that look like rows in JSON Lines, but do not match the
   * description, and why the first of them does not.
   */
  readonly unmatched: () => { readonly lines: number; readonly reason: string }
}

/** The most lines and rows of a timepoint. An observer does not write more; the rest is dropped. */
const MOST_LINES = 100_000
const MOST_ROWS = 20_000

interface LiveState {
  readonly description: RowsDescription
  readonly sections: Map<string, LiveSection>
  blocks: BlockReader
  /** When the last line was written. */
  lineAt: number
  version: number
  lastAt: number | undefined
  interval: number | undefined
  hasStart: boolean
  hasEnded: boolean
  /** The time of the first rows, some of which may be missing because only the tail is read. */
  partialAt: number | undefined
  /** The number of lines of the open timepoint that were read. */
  settled: number
  unmatched: number
  reason: string
}

/**
 * Starts to read a log, whose first lines may be missing. If the marker of the collection's start
 * is missing, the first timepoint in JSON Lines is marked as partial, and its values are not shown.
 *
 * @param description the description of the metric's rows
 */
export function startLiveLog(description: RowsDescription): LiveLog {
  const state: LiveState = {
    description,
    sections: new Map(),
    blocks: readBlocks(),
    lineAt: 0,
    version: 0,
    lastAt: undefined,
    interval: undefined,
    hasStart: false,
    hasEnded: false,
    partialAt: undefined,
    settled: 0,
    unmatched: 0,
    reason: '',
  }
  return {
    push: (line, at) => pushLine(state, line, at),
    settle: () => settle(state),
    sections: state.sections,
    version: () => state.version,
    lastAt: () => state.lastAt,
    interval: () => state.interval,
    hasEnded: () => state.hasEnded,
    unmatched: () => ({ lines: state.unmatched, reason: state.reason }),
  }
}

function pushLine(state: LiveState, line: string, at: number): void {
  const closed = state.blocks.push(line)
  for (const block of closed) takeBlock(state, block)
  state.lineAt = at
  const open = state.blocks.open()
  if (open === undefined) return
  if (open.kind === 'end') noteEnd(state)
  const isRow = open.kind === 'timepoint' && closed.length === 0 && open.lines.length > 0
  if (isRow && state.description.format === 'jsonl') takeRow(state, line)
  if (open.lines.length > MOST_LINES) state.blocks = readBlocks()
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
      if (state.description.format === 'jsonl') takeRow(state, lines[0] ?? '')
      return
    case 'timepoint':
      if (state.description.format !== 'jsonl') takeTimepoint(state, lines)
      state.settled = 0
      return
    default:
      return
  }
}

/** Forgets the rows of an earlier run of the container. */
function restart(state: LiveState): void {
  state.sections.clear()
  state.hasStart = false
  state.hasEnded = false
  state.partialAt = undefined
  state.lastAt = undefined
  state.interval = undefined
  state.version += 1
}

function settle(state: LiveState): void {
  const open = state.blocks.open()
  if (open?.kind !== 'timepoint' || state.description.format === 'jsonl') return
  takeTimepoint(state, open.lines)
}

function noteEnd(state: LiveState): void {
  if (!state.hasEnded) state.version += 1
  state.hasEnded = true
}

/** Reads the rows of a timepoint of pidstat or iostat, unless they were already read. */
function takeTimepoint(state: LiveState, lines: readonly string[]): void {
  if (lines.length === state.settled) return
  const [section] = state.description.sections
  if (section === undefined) return
  const expected = { sectionOf: () => section, isUndescribed: false }
  const { rows } = readTimepoint(neededLines(lines, section), true, expected)
  if (rows.length === 0) return
  const isAgain = state.settled > 0
  state.settled = lines.length
  // Rows of threads are left out, because the row of a process contains the sums of its threads.
  const own = rows.filter(({ kind }) => kind === section.of)
  const { keys } = namesIn(section)
  const reading: LiveReading = {
    at: state.lineAt,
    rows: new Map(own.map(({ cells }) => [keyOf(keys, cells), cells])),
  }
  const known = sectionIn(state, section.name)
  if (!isAgain) known.before = known.now
  known.now = reading
  noteRows(state, known)
}

type MatchedRow = Extract<MatchedLine, { kind: 'row' }>

/**
 * Leaves out the lists of pidstat that have none of the measured columns of a section, because
 * parsing them takes most of the time. All lists below the same header have the same columns.
 */
function neededLines(lines: readonly string[], section: RowSection): readonly string[] {
  let header = ''
  return lines.filter((line) => {
    if (line.startsWith('[')) return isNeeded(header, line, namesIn(section))
    header = line
    return true
  })
}

/** The most headers that are remembered. pidstat has eleven. */
const MOST_HEADERS = 64

/** Reports whether a list has a measured column. Old versions of jc wrote `-` instead of `_`. */
function isNeeded(header: string, list: string, { measured, headers }: SectionNames): boolean {
  const known = headers.get(header)
  if (known !== undefined) return known
  const isFound = measured.some((name) => list.includes(name))
  if (list.startsWith('[{') && headers.size < MOST_HEADERS) headers.set(header, isFound)
  return isFound
}

/** Reads a row in JSON Lines. A row that is older than the last of its section is dropped. */
function takeRow(state: LiveState, line: string): void {
  if (!line.startsWith('{')) return
  const matched = matchRow(line, state.description)
  if (matched.kind === 'unmatched') keepReason(state, matched.reason)
  if (matched.kind === 'row') keepRow(state, matched)
}

function keepRow(state: LiveState, { section, at, cells }: MatchedRow): void {
  if (!state.hasStart) state.partialAt ??= at
  const known = sectionIn(state, section.name)
  if (known.now !== undefined && at < known.now.at) return
  if (known.now?.at !== at) {
    known.before = known.now
    known.now = { at, rows: new Map() }
    known.isPartial = at === state.partialAt
  }
  if (known.now.rows.size < MOST_ROWS)
    known.now.rows.set(keyOf(namesIn(section).keys, cells), cells)
  noteRows(state, known)
}

function keepReason(state: LiveState, reason: string): void {
  if (state.hasEnded || state.lastAt === undefined) return
  if (state.unmatched === 0) state.reason = reason
  state.unmatched += 1
}

function noteRows(state: LiveState, { before, now }: LiveSection): void {
  if (now === undefined) return
  state.version += 1
  state.lastAt = Math.max(state.lastAt ?? 0, now.at)
  if (before !== undefined && now.at > before.at) state.interval = now.at - before.at
}

function sectionIn(state: LiveState, name: string): LiveSection {
  const known = state.sections.get(name) ?? { before: undefined, now: undefined, isPartial: false }
  state.sections.set(name, known)
  return known
}

interface SectionNames {
  /** The names of the key columns. */
  readonly keys: readonly string[]
  /** The names of the measured columns in quotes, as JSON has them. */
  readonly measured: readonly string[]
  /** For each header, whether the list below it has a measured column. */
  readonly headers: Map<string, boolean>
}

const NAMES = new WeakMap<RowSection, SectionNames>()

function namesIn(section: RowSection): SectionNames {
  const known = NAMES.get(section)
  if (known !== undefined) return known
  const measured = section.columns.filter(({ behavior }) => behavior !== undefined)
  const names = {
    keys: section.columns.filter(({ key }) => key === true).map(({ name }) => name),
    measured: measured.flatMap(({ name }) => [`"${name}"`, `"${name.replaceAll('_', '-')}"`]),
    headers: new Map<string, boolean>(),
  }
  NAMES.set(section, names)
  return names
}

function keyOf(keys: readonly string[], cells: RowCells): string {
  return keys.map((name) => cells[name] ?? '').join('\n')
}
