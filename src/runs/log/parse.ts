import { readDescription } from '../../catalog/description.ts'
import {
  asFields,
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
  parseFields,
} from '../../core/kubernetes/json.ts'
import { plainCells, readCell } from './cell.ts'
import { PLACE_COLUMNS, ROW_KINDS, type RowCells, type Sample } from './columns.ts'
import type { Descriptions } from './descriptions.ts'
import type {
  EndedContainer,
  Entry,
  LogEntry,
  ObservedPods,
  PodLimits,
  UnmatchedRow,
} from './entry.ts'

const MOMENT_AND_PLACE = Object.entries(PLACE_COLUMNS)
const MOMENT = ['timepoint', 'time', 'seconds', 'interval']
const PLACE = MOMENT_AND_PLACE.filter(([name]) => !MOMENT.includes(name))

/**
 * Parses a line of collected JSON Lines. Any program can write such lines, so cells of an
 * unexpected type become null. If no description of the row is known, the row keeps all its numbers
 * and texts.
 *
 * @returns undefined if the line is not an entry
 */
export function parseEntry(line: string, descriptions: Descriptions): Entry | undefined {
  const row = parseFields(line)
  if (row === undefined || asText(row.source) === undefined) return undefined
  if (row.kind === 'log') return parseLog(row)
  if (row.kind === 'unmatched') return parseUnmatched(row)
  const section = asText(row.section)
  const isRow = section !== undefined && ROW_KINDS.some((kind) => kind === row.kind)
  return isRow ? parseSample(row, section, descriptions) : undefined
}

function parseLog(row: Fields): LogEntry {
  return { ...readColumns(PLACE, row), ...readDescriptions(row) } as LogEntry
}

function parseUnmatched(row: Fields): UnmatchedRow {
  const [text, reason] = [asText(row.text) ?? '', asText(row.reason) ?? '']
  return { ...readColumns(PLACE, row), text, reason } as UnmatchedRow
}

function parseSample(row: Fields, section: string, descriptions: Descriptions): Sample {
  const place = readColumns(MOMENT_AND_PLACE, row)
  return { ...place, section, ...sampleCells(row, section, descriptions) } as Sample
}

function readColumns(columns: typeof MOMENT_AND_PLACE, row: Fields): RowCells {
  return Object.fromEntries(columns.map(([name, column]) => [name, readCell(column, row[name])]))
}

function sampleCells(row: Fields, name: string, descriptions: Descriptions): RowCells {
  const description = descriptions.get(asText(row.metric) ?? '')
  const section = description?.sections.find((each) => each.name === name)
  return section === undefined ? scalarsIn(row) : plainCells(section, row)
}

/** Returns the numbers, texts and nulls of a row, without the columns of every sample. */
function scalarsIn(row: Fields): RowCells {
  const cells = Object.entries(row).filter(([name, value]) => {
    if (Object.hasOwn(PLACE_COLUMNS, name) || name === 'section') return false
    return value === null || typeof value === 'string' || Number.isFinite(value)
  })
  return Object.fromEntries(cells) as RowCells
}

function readDescriptions(row: Fields) {
  return {
    metadata: fieldsOrNone(row.metadata),
    rows: readDescription(row.rows) ?? null,
    command: asText(row.command) ?? null,
    summary: asObjects(row.summary),
    isAverage: row.isAverage === true,
    timepoints: typeof row.timepoints === 'number' ? row.timepoints : 0,
    cuts: textsOf(row.cuts),
    notices: textsOf(row.notices),
    ended: Array.isArray(row.ended) ? endedOf(row.ended) : null,
    podLimits: podLimitsOf(row.podLimits),
    observedPods: observedPodsIn(row.observedPods),
    time: asFields(row.time) ?? null,
    attempt: typeof row.attempt === 'number' ? row.attempt : null,
  }
}

function endedOf(list: unknown): readonly EndedContainer[] {
  return asObjects(list).map(({ container, reason, exitCode, signal, finishedAt, ...others }) => ({
    container: asText(container) ?? '',
    reason: asText(reason) ?? null,
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    signal: typeof signal === 'number' ? signal : null,
    finishedAt: asText(finishedAt) ?? null,
    restarted: others.restarted === true,
    deleted: others.deleted === true,
  }))
}

function podLimitsOf(value: unknown): PodLimits | null {
  const limits = asFields(value)
  if (limits === undefined) return null
  const numberOf = (limit: unknown) => (typeof limit === 'number' ? limit : null)
  return { cpu: numberOf(limits.cpu), memory: numberOf(limits.memory) }
}

/** @returns null if a number is missing */
function observedPodsIn(value: unknown): ObservedPods | null {
  const { workload, total, observed, metrics } = fieldsOrNone(value)
  if (typeof total !== 'number' || typeof observed !== 'number') return null
  const counts = Object.entries(fieldsOrNone(metrics)).filter(([, pods]) => Number.isFinite(pods))
  const byMetric = Object.fromEntries(counts) as Record<string, number>
  return { workload: asText(workload) ?? '', total, observed, metrics: byMetric }
}

function textsOf(list: unknown): readonly string[] {
  return listOrNone(list).filter((text) => typeof text === 'string')
}
