import type { RowColumn, RowSection, RowsDescription } from '../../core/catalog.ts'
import { conversionOf } from '../../core/rules/quantity.ts'
import { nameFirst } from '../../core/text/name-first.ts'
import { quote } from '../../core/text/quote.ts'
import { isSplit, MAX_LINE_LENGTH } from '../../lib/split-lines.ts'
import type { Moment, RowOrigin, Sample } from './columns.ts'
import type { Entry, UnmatchedRow } from './entry.ts'
import { type MatchedLine, matchRow } from './match-row.ts'

/** A log in JSON Lines, which is read line by line. */
export interface JsonlLog {
  /** Reads a line that is not a marker, and returns the entries that are now complete. */
  readonly push: (line: string) => readonly Entry[]
  /**
   * Handles the end of the log. Returns the remaining entries, and whether the last row is cut.
   *
   * @param isWhole whether the closing marker of the log was found
   */
  readonly end: (isWhole: boolean) => { readonly rows: readonly Entry[]; readonly isCut: boolean }
  /** The number of timepoints with at least one row. */
  readonly timepoints: () => number
  /** The notices about the log, one sentence each. */
  readonly notices: () => readonly string[]
}

export interface JsonlOptions {
  readonly description: RowsDescription
  readonly place: RowOrigin
  /** The seconds between samples that the options set; null if they set none. */
  readonly rate: number | null
}

/**
 * The maximum number of lines of a log that are kept although they do not match the description.
 * Further lines are only counted.
 */
const MAX_UNMATCHED = 1000
/** The number of characters to which a line that does not match, or a notice, is cut. */
const MAX_TEXT = 1000
/** The maximum number of different notices of an observer, and of ignored fields, that are kept. */
const MAX_NOTICES = 16

const TOO_LONG = `it is part of a line of more than ${MAX_LINE_LENGTH} characters`

/** The observers of Ridealong print sentences for people with this prefix. */
const SENTENCE = /^ridealong: /

interface JsonlState {
  readonly options: JsonlOptions
  readonly clock: RowClock
  readonly notices: Set<string>
  /** The fields that the description lacks. */
  readonly undescribed: Set<string>
  unmatched: number
  firstReason: string
  /**
   * The previous line if it is not a JSON object. If it is the last line of a truncated log, the
   * row is cut; otherwise the line is unmatched.
   */
  broken: string | undefined
}

/** Starts to read a log in JSON Lines. Blank lines are ignored. */
export function startJsonl(options: JsonlOptions): JsonlLog {
  const state: JsonlState = {
    options,
    clock: startRowClock(options.rate),
    notices: new Set(),
    undescribed: new Set(),
    unmatched: 0,
    firstReason: '',
    broken: undefined,
  }
  return {
    push: (line) => (line.trim() === '' ? [] : [...takeBroken(state), ...takeLine(state, line)]),
    end: (isWhole) => {
      if (isWhole) return { rows: takeBroken(state), isCut: false }
      return { rows: [], isCut: state.broken !== undefined }
    },
    timepoints: () => state.clock.count(),
    notices: () => [...unmatchedNotices(state), ...undescribedNotices(state), ...state.notices],
  }
}

function takeLine(state: JsonlState, line: string): readonly Entry[] {
  const read = readLine(line, state.options.description)
  switch (read.kind) {
    case 'notice':
      if (state.notices.size < MAX_NOTICES) state.notices.add(read.notice.slice(0, MAX_TEXT))
      return []
    case 'artifact':
      return []
    case 'unmatched':
      if (!read.isBroken) return keepUnmatched(state, line, read.reason)
      state.broken = line
      return []
    case 'row': {
      const { of: kind, name: section } = read.section
      for (const field of read.undescribed) noteUndescribed(state, section, field)
      const moment = state.clock.read(read.at, read.section)
      const { interval = moment.interval } = read
      return [
        { kind, ...state.options.place, ...moment, section, ...read.cells, interval } as Sample,
      ]
    }
  }
}

function readLine(line: string, description: RowsDescription): MatchedLine {
  if (isSplit(line)) return { kind: 'unmatched', reason: TOO_LONG, isBroken: false }
  if (SENTENCE.test(line)) return { kind: 'notice', notice: line.replace(SENTENCE, '') }
  return matchRow(line, description)
}

function takeBroken(state: JsonlState): readonly Entry[] {
  const { broken } = state
  state.broken = undefined
  return broken === undefined ? [] : keepUnmatched(state, broken, 'it is not a JSON object')
}

function keepUnmatched(state: JsonlState, line: string, reason: string): readonly UnmatchedRow[] {
  if (state.unmatched === 0) state.firstReason = reason
  state.unmatched += 1
  if (state.unmatched > MAX_UNMATCHED) return []
  const text = line.slice(0, MAX_TEXT)
  return [{ kind: 'unmatched', ...state.options.place, text, reason }]
}

function unmatchedNotices({ unmatched, firstReason }: JsonlState): readonly string[] {
  if (unmatched === 0) return []
  const lines = unmatched === 1 ? '1 line does' : `${unmatched} lines do`
  const rest = unmatched > MAX_UNMATCHED ? ` (only the first ${MAX_UNMATCHED} are kept)` : ''
  const sentence = `${lines} not match the description of the metric's rows${rest}`
  return [`${sentence}; the first: ${firstReason}`]
}

function noteUndescribed({ undescribed }: JsonlState, section: string, field: string): void {
  if (undescribed.size < MAX_NOTICES) undescribed.add(`${quote(field)} of ${section}`)
}

function undescribedNotices({ undescribed }: JsonlState): readonly string[] {
  if (undescribed.size === 0) return []
  const fields = nameFirst([...undescribed])
  return [
    `the description of the rows has no column for these fields, which are ignored: ${fields}`,
  ]
}

interface RowClock {
  readonly read: (at: number, section: RowSection) => Moment
  readonly count: () => number
}

/**
 * Returns a clock for the rows of a log. Consecutive rows with the same time are one timepoint. The
 * interval of a row is the time since the previous rows of its section. For the first rows of a
 * section, the interval is the option `rate`. It is null if the option is not set, and if the rows
 * have rates: only the rows themselves can say for how long these were measured. If the time of a
 * row is earlier than the time of the previous rows, the interval is null.
 */
function startRowClock(rate: number | null): RowClock {
  let began: number | undefined
  let now: number | undefined
  let time = ''
  let timepoint = -1
  const sections = new Map<string, SectionTime>()
  const firstInterval = (columns: readonly RowColumn[]) =>
    columns.some((column) => conversionOf(column)?.isRate === true) ? null : rate
  return {
    read: (at, { name, columns }) => {
      began ??= at
      if (at !== now) {
        timepoint += 1
        time = new Date(at).toISOString()
      }
      now = at
      const section = nextTime(sections.get(name), at) ?? { at, interval: firstInterval(columns) }
      sections.set(name, section)
      const seconds = Math.max(at - began, 0) / 1000
      return { timepoint, time, seconds, interval: section.interval }
    },
    count: () => timepoint + 1,
  }
}

/** The last rows of a section: their time in milliseconds since 1970, and their interval. */
interface SectionTime {
  readonly at: number
  readonly interval: number | null
}

/** Returns the time of the next rows of a section; undefined if there were none before. */
function nextTime(before: SectionTime | undefined, at: number): SectionTime | undefined {
  if (before === undefined || before.at === at) return before
  const passed = (at - before.at) / 1000
  return { at, interval: passed > 0 ? passed : null }
}
