import type { RowSection, RowsDescription } from '../../core/catalog.ts'
import { findSection } from '../evidence/evidence.ts'
import type { Sample } from '../log/columns.ts'
import type { Descriptions } from '../log/descriptions.ts'
import { type Entry, isSample, type LogEntry } from '../log/entry.ts'
import { keepUndescribed, takeDescribed, type Undescribed } from '../log/undescribed.ts'
import { type ParquetFile, startParquetFile } from './parquet-file.ts'

/** The next bytes of a file. */
export interface FilePart {
  /** The name of the file, which has no folder. */
  readonly file: string
  readonly bytes: Uint8Array
}

/** The rows of a run as Parquet, with a file for each section of a metric. */
export interface ParquetRun {
  /** Adds an entry of the collected data, and returns the parts of files that are complete. */
  readonly push: (entry: Entry) => readonly FilePart[]
  /** Returns the last parts of all files, and a sentence for each metric without a file. */
  readonly end: () => { readonly parts: readonly FilePart[]; readonly notices: readonly string[] }
}

/** The names of metrics and sections, as the catalog requires them. Others name no file. */
const NAME = /^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$/
/** The most files. The built-in catalog has less than 30 sections. */
const MAX_FILES = 256

interface RunState {
  readonly program: string
  readonly descriptions: Descriptions
  readonly files: Map<string, ParquetFile>
  readonly undescribed: Undescribed
  /** The number of rows that are left out, by metric. */
  readonly leftOut: Map<string, number>
}

/**
 * Starts to write the rows of a run. All rows of the collected data are written; the column
 * `source` names the log.
 *
 * @param descriptions the descriptions of the rows of the metrics in a catalog
 * @param program the name and the version of the program that writes the files
 */
export function startParquet(descriptions: Descriptions, program: string): ParquetRun {
  const nothing = { files: new Map(), undescribed: new Map(), leftOut: new Map() }
  const state: RunState = { program, descriptions, ...nothing }
  return {
    push: (entry) => {
      if (entry.kind === 'log') return addDescribed(state, entry)
      return isSample(entry) ? addSample(state, entry) : []
    },
    end: () => {
      for (const rows of state.undescribed.values())
        for (const row of rows) countLeftOut(state, JSON.parse(row))
      const parts = [...state.files].map(([file, { end }]) => ({ file, bytes: end() }))
      return { parts, notices: [...state.leftOut].map(([metric, rows]) => notice(metric, rows)) }
    },
  }
}

function addSample(state: RunState, sample: Sample): readonly FilePart[] {
  const { descriptions, undescribed } = state
  const description = descriptions.get(sample.metric ?? '')
  if (description !== undefined) return addRow(state, sample, description)
  keepUndescribed(undescribed, sample)
  return []
}

/** Adds the rows that were kept until the entry at the end of their log described them. */
function addDescribed(state: RunState, entry: LogEntry): readonly FilePart[] {
  const parts: FilePart[] = []
  for (const { sample, rows } of takeDescribed(state.undescribed, entry))
    parts.push(...addRow(state, sample, rows))
  return parts
}

function addRow(
  state: RunState,
  sample: Sample,
  description: RowsDescription,
): readonly FilePart[] {
  const section = findSection(sample, description)
  const file = section && nameOf(sample.metric ?? '', section)
  if (section === undefined || file === undefined || !hasRoom(state, file)) {
    countLeftOut(state, sample)
    return []
  }
  const open = state.files.get(file) ?? startParquetFile(section, state.program)
  state.files.set(file, open)
  const bytes = open.push(sample)
  return bytes === undefined ? [] : [{ file, bytes }]
}

/** Returns the name of the file of a section; undefined if a name is not a valid one. */
function nameOf(metric: string, { name }: RowSection): string | undefined {
  return NAME.test(metric) && NAME.test(name) ? `${metric}.${name}.parquet` : undefined
}

function hasRoom({ files }: RunState, file: string): boolean {
  return files.has(file) || files.size < MAX_FILES
}

function countLeftOut({ leftOut }: RunState, { metric }: Sample): void {
  leftOut.set(metric ?? '?', (leftOut.get(metric ?? '?') ?? 0) + 1)
}

function notice(metric: string, rows: number): string {
  const are = rows === 1 ? '1 row of' : `${rows.toLocaleString('en')} rows of`
  const reason = 'the catalog does not describe it; use --catalog with the folder of its document'
  return `${are} ${metric} ${rows === 1 ? 'is' : 'are'} left out: ${reason}`
}
