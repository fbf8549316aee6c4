import { type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import type { Block } from './blocks.ts'
import { type ReportedTime, startClock } from './clock.ts'
import type { Moment, Sample } from './columns.ts'
import type { LogEntry } from './entry.ts'
import {
  type KnownOrigin,
  readMetadata,
  readPlace,
  readRate,
  readStart,
  readSummary,
} from './metadata.ts'
import { type Row, readTimepoint } from './timepoint.ts'

/** One run of an observer, from its metadata to its closing marker. */
export interface ObserverLog {
  readonly isBegun: () => boolean
  readonly take: (block: Block) => readonly Sample[]
  readonly end: () => LogEntry
}

interface ReadingState {
  readonly known: KnownOrigin
  metadata: Fields | undefined
  command: string | null
  summary: readonly Fields[]
  /** The number of timepoints that were read. */
  seen: number
  /** The number of timepoints that have rows. */
  filled: number
  hasEnd: boolean
  /** The metric that the first rows show; used if the metadata do not name one. */
  metric: string | null
  isAverage: boolean
  clock: ((index: number, said: ReportedTime) => Moment) | undefined
  readonly cuts: string[]
}

export function startRun(known: KnownOrigin): ObserverLog {
  const state: ReadingState = {
    known,
    metadata: undefined,
    command: null,
    summary: [],
    seen: 0,
    filled: 0,
    hasEnd: false,
    metric: null,
    isAverage: false,
    clock: undefined,
    cuts: [],
  }
  return {
    isBegun: () => state.metadata !== undefined || state.seen > 0,
    take: (block) => takeBlock(state, block),
    end: () => logEntry(state),
  }
}

function takeBlock(state: ReadingState, { kind, lines, isWhole }: Block): readonly Sample[] {
  if (kind === 'timepoint') return takeTimepoint(state, lines, isWhole)
  if (kind === 'metadata') {
    state.metadata = readMetadata(lines)
    if (state.metadata === undefined) state.cuts.push('the metadata are cut')
  }
  if (kind === 'command') state.command = lines.join('\n').trim()
  if (kind === 'end') {
    state.hasEnd = true
    state.summary = readSummary(lines)
  }
  return []
}

function takeTimepoint(state: ReadingState, lines: readonly string[], isWhole: boolean): Sample[] {
  const index = state.seen
  state.seen += 1
  const { rows, said, isOurs, cut } = readTimepoint(lines, isWhole, isOther(state))
  if (cut !== undefined) state.cuts.push(`timepoint ${index} ${cut}`)
  if (rows.length === 0) return []
  if (state.filled === 0) lookAt(state, rows, isOurs)
  state.filled += 1
  state.clock ??= startClock({
    rate: readRate(state.metadata),
    started: readStart(state.metadata),
    isAverage: state.isAverage,
  })
  const place = readPlace(state.known, state.metadata, state.metric)
  const moment = state.clock(index, said)
  return rows.map(({ kind, ...cells }) => ({ kind, ...place, ...moment, ...cells }) as Sample)
}

/** The metrics whose rows are read. */
const READ: ReadonlySet<string> = new Set(['perf-sysstat', 'io-sysstat'])

function isOther({ known, metadata, metric }: ReadingState): boolean {
  const name = readPlace(known, metadata, metric).metric
  return name !== null && !READ.has(name)
}

/** Sets the properties of the log that the first rows show. */
function lookAt(state: ReadingState, [row]: readonly Row[], isOurs: boolean): void {
  state.metric = row?.kind === 'device' ? 'io-sysstat' : 'perf-sysstat'
  state.isAverage = state.metadata === undefined ? !isOurs : readStart(state.metadata) === null
}

function logEntry(state: ReadingState): LogEntry {
  const { metadata, command, summary, filled, seen, hasEnd } = state
  const isEmpty = filled === 0 && seen > 0
  const cuts = [
    ...(metadata === undefined ? ['its head is missing'] : []),
    ...state.cuts,
    ...(hasEnd ? [] : ['its end is missing: the observer still ran, or was cut off']),
    ...(isEmpty && !isOther(state) ? ['no timepoint has a row'] : []),
  ]
  const unread = `its rows are not read: only rows of ${[...READ].join(' and ')} are read`
  return {
    kind: 'log',
    ...readPlace(state.known, metadata, state.metric),
    metadata: fieldsOrNone(metadata),
    command,
    summary,
    isAverage: state.isAverage,
    timepoints: filled,
    cuts,
    notices: [...(state.known.notices ?? []), ...(isEmpty && isOther(state) ? [unread] : [])],
  }
}
