import { type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { Block } from './blocks.ts'
import { type ReportedTime, startClock } from './clock.ts'
import type { Moment, Sample } from './columns.ts'
import { type Descriptions, METRIC_OF_FORMAT, sysstatSection } from './descriptions.ts'
import type { Entry, LogEntry } from './entry.ts'
import { type JsonlLog, startJsonl } from './jsonl.ts'
import {
  type KnownOrigin,
  readMetadata,
  readPlace,
  readRate,
  readRateOption,
  readStart,
  readSummary,
} from './metadata.ts'
import { readTimepoint, type Timepoint } from './timepoint.ts'

/** The sentence about a log that lacks its closing marker. */
export const END_MISSING = 'its end is missing: the observer still ran, or the log was cut off'

/** One run of an observer, from its metadata to its closing marker. */
export interface ObserverLog {
  readonly isBegun: () => boolean
  readonly take: (block: Block) => readonly Entry[]
  /** @param further the number of runs after this one that are left out */
  readonly end: (further?: number) => readonly Entry[]
}

interface ReadingState {
  readonly known: KnownOrigin
  readonly descriptions: Descriptions
  metadata: Fields | undefined
  command: string | null
  summary: readonly Fields[]
  /** The number of timepoints that were read. */
  seen: number
  /** The number of timepoints that have rows. */
  filled: number
  hasStart: boolean
  hasEnd: boolean
  /** The metric of the format of the first rows; used if the metadata do not name a metric. */
  metric: string | null
  isAverage: boolean
  clock: ((timepoint: number, reported: ReportedTime) => Moment) | undefined
  /** The rows of a metric whose log is in JSON Lines. */
  jsonl: JsonlLog | undefined
  /** Whether JSON objects outside of timepoints were skipped: no description applies to them. */
  hasUnreadLines: boolean
  readonly cuts: string[]
}

export function startRun(known: KnownOrigin, descriptions: Descriptions): ObserverLog {
  const state: ReadingState = {
    known,
    descriptions,
    metadata: undefined,
    command: null,
    summary: [],
    seen: 0,
    filled: 0,
    hasStart: false,
    hasEnd: false,
    metric: null,
    isAverage: false,
    clock: undefined,
    jsonl: undefined,
    hasUnreadLines: false,
    cuts: [],
  }
  return {
    isBegun: () => state.metadata !== undefined || state.seen > 0 || state.jsonl !== undefined,
    take: (block) => takeBlock(state, block),
    end: (further = 0) => endRun(state, further),
  }
}

function takeBlock(state: ReadingState, { kind, lines, isWhole }: Block): readonly Entry[] {
  switch (kind) {
    case 'metadata':
      state.metadata = readMetadata(lines)
      if (state.metadata === undefined) state.cuts.push('the metadata are cut')
      return []
    case 'command':
      state.command = lines.join('\n').trim()
      return []
    case 'start':
      state.hasStart = true
      return []
    case 'line':
      return takeLine(state, lines[0] ?? '')
    case 'timepoint':
      return takeTimepoint(state, lines, isWhole)
    case 'end':
      state.hasEnd = true
      state.summary = readSummary(lines)
      return []
  }
}

/**
 * Reads a line outside of timepoints. In a log in JSON Lines, each line after the marker of the
 * collection's start is a row. Before this marker, only JSON objects are rows: if the head of a log
 * is missing, the marker is missing too.
 */
function takeLine(state: ReadingState, line: string): readonly Entry[] {
  const isObject = line.startsWith('{')
  if (!state.hasStart && !isObject) return []
  const jsonl = jsonlOf(state)
  if (jsonl !== undefined) return jsonl.push(line)
  state.hasUnreadLines ||= isObject
  return []
}

/** Returns the reader of JSON Lines if the metric's log has this format. */
function jsonlOf(state: ReadingState): JsonlLog | undefined {
  if (state.jsonl !== undefined) return state.jsonl
  const place = placeOf(state)
  const description = state.descriptions.get(place.metric ?? '')
  if (description?.format !== 'jsonl') return undefined
  state.jsonl = startJsonl({ description, place, rate: readRateOption(state.metadata) })
  return state.jsonl
}

function takeTimepoint(
  state: ReadingState,
  lines: readonly string[],
  isWhole: boolean,
): readonly Entry[] {
  const jsonl = jsonlOf(state)
  if (jsonl !== undefined) return lines.flatMap((line) => jsonl.push(line))
  const index = state.seen
  state.seen += 1
  const timepoint = readTimepoint(lines, isWhole, {
    sectionOf: (format) => sysstatSection(state.descriptions, format, placeOf(state).metric),
    isUndescribed: isUndescribed(state),
  })
  const { rows, reported, cut } = timepoint
  if (cut !== undefined) state.cuts.push(`timepoint ${index} ${cut}`)
  if (rows.length === 0) return []
  if (state.filled === 0) lookAt(state, timepoint)
  state.filled += 1
  state.clock ??= startClock({
    rate: readRate(state.metadata),
    started: readStart(state.metadata),
    isAverage: state.isAverage,
  })
  const place = placeOf(state)
  const moment = state.clock(index, reported)
  return rows.map(({ kind, section, cells, interval = moment.interval }) => {
    return { kind, ...place, ...moment, section, ...cells, interval } as Sample
  })
}

function placeOf({ known, metadata, metric }: ReadingState) {
  return readPlace(known, metadata, metric)
}

/** Reports whether the metric is known, but the description of its rows is not. */
function isUndescribed(state: ReadingState): boolean {
  const { metric } = placeOf(state)
  return metric !== null && !state.descriptions.has(metric)
}

/** Sets the properties of the log that the first rows show. */
function lookAt(state: ReadingState, { format, isOurs }: Timepoint): void {
  state.metric = format === undefined ? null : METRIC_OF_FORMAT[format]
  state.isAverage = state.metadata === undefined ? !isOurs : readStart(state.metadata) === null
}

function endRun(state: ReadingState, further: number): readonly Entry[] {
  const { rows, isCut } = state.jsonl?.end(state.hasEnd) ?? { rows: [], isCut: false }
  if (isCut) state.cuts.push('its last row is cut')
  if (further > 0) state.cuts.push(`${further} later runs of the observer are left out`)
  return [...rows, logEntry(state)]
}

function logEntry(state: ReadingState): LogEntry {
  const { metadata, command, summary, jsonl, hasEnd } = state
  const { notices = [], ended = null, podLimits = null, observedPods = null } = state.known
  const { attempt = null } = state.known
  const place = placeOf(state)
  const cuts = [
    ...(hasHead(state) ? [] : ['its head is missing']),
    ...state.cuts,
    ...(hasEnd ? [] : [END_MISSING]),
    ...(isEmpty(state) && !isUndescribed(state) ? ['no timepoint has a row'] : []),
  ]
  return {
    kind: 'log',
    ...place,
    metadata: fieldsOrNone(metadata),
    rows: state.descriptions.get(place.metric ?? '') ?? null,
    command,
    summary,
    isAverage: state.isAverage,
    timepoints: jsonl?.timepoints() ?? state.filled,
    cuts,
    notices: [...notices, ...noticesIn(state)],
    ended,
    podLimits,
    observedPods,
    time: null,
    attempt,
  }
}

/** Reports whether the log has its beginning. Metadata are optional in a log in JSON Lines. */
function hasHead({ metadata, jsonl, hasStart }: ReadingState): boolean {
  return metadata !== undefined || (jsonl !== undefined && hasStart)
}

function isEmpty({ seen, filled }: ReadingState): boolean {
  return seen > 0 && filled === 0
}

function noticesIn(state: ReadingState): readonly string[] {
  const isUnread = isUndescribed(state) && (isEmpty(state) || state.hasUnreadLines)
  const { metric } = placeOf(state)
  const missing = `the catalog does not describe the rows of ${metric} (spec.rows)`
  const unread = `its rows are not read: ${missing}`
  return [...(state.jsonl?.notices() ?? []), ...(isUnread ? [unread] : [])]
}
