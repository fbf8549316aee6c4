import type { RowColumn, RowSection, RowsDescription } from '../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { addValue, type ColumnReading, newReading } from './column-reading.ts'

/** Columns of one section of a metric. */
export interface Need {
  readonly metric: string
  readonly section: string
  /** The columns that a rule reads. */
  readonly columns: readonly string[]
}

/** The rows of a run, as far as rules need them. */
export interface Evidence {
  /** The needed columns, by metric and section. */
  readonly needed: ReadonlyMap<string, ReadonlySet<string>>
  /** The things that rows describe, by metric and section, and then by log and key columns. */
  readonly sections: Map<string, SectionEvidence>
  /** The evidence of each section by its description; undefined if no rule needs it. */
  readonly described: Map<RowSection, SectionEvidence | undefined>
}

interface SectionEvidence {
  readonly isJsonl: boolean
  /** The columns that identify a thing. */
  readonly keys: readonly string[]
  /** The needed columns. */
  readonly columns: readonly RowColumn[]
  readonly things: Map<string, Thing>
  /** The first second of the section in each log. */
  readonly began: Map<string, number>
}

/** A thing that rows describe, such as a process or a container, with its values over time. */
export interface Thing {
  readonly source: string
  readonly node: string | null
  readonly container: string | null
  readonly program: string | null
  readonly pid: number | null
  /** The other key columns, such as the peer of a socket. */
  readonly name: string
  /**
   * The seconds from the first timepoint of the log to the first row, less what it covers. What the
   * first rows in JSON Lines cover is not known.
   */
  readonly from: number
  /** The seconds from the first timepoint of the log to the last row. */
  to: number
  /** When the first row was taken, in seconds since 1970; null if its date is not known. */
  readonly startedAt: number | null
  /** The values of the needed columns, by their names. */
  readonly readings: ReadonlyMap<string, ColumnReading>
  /** The same in the order of the section's needed columns. */
  readonly values: readonly ColumnReading[]
}

/** Returns the key of a section of a metric. */
export function sectionKey(metric: string, section: string): string {
  return `${metric} ${section}`
}

/** @param needs the columns to keep of the rows that will be added */
export function newEvidence(needs: readonly Need[]): Evidence {
  const needed = new Map<string, Set<string>>()
  for (const { metric, section, columns } of needs) {
    const key = sectionKey(metric, section)
    const own = needed.get(key) ?? new Set()
    for (const column of columns) own.add(column)
    needed.set(key, own)
  }
  return { needed, sections: new Map(), described: new Map() }
}

/**
 * Adds a row. Rows of threads are skipped, because the values of a process include those of its
 * threads, and so are averages since the node started.
 */
export function addToEvidence(
  evidence: Evidence,
  sample: Sample,
  description: RowsDescription | undefined,
): void {
  const section = findSection(sample, description)
  if (section === undefined || section.of !== sample.kind) return
  if (description?.format !== 'jsonl' && sample.interval === null) return
  const own = sectionOf(evidence, sample.metric ?? '', section, description?.format === 'jsonl')
  if (own !== undefined) addRow(own, sample)
}

/** Returns the evidence of a section. Descriptions of one section in several logs share it. */
function sectionOf(
  { needed, sections, described }: Evidence,
  metric: string,
  section: RowSection,
  isJsonl: boolean,
): SectionEvidence | undefined {
  if (described.has(section)) return described.get(section)
  const key = sectionKey(metric, section.name)
  const columns = needed.get(key)
  const own = sections.get(key) ?? (columns && newSection(section, columns, isJsonl))
  if (own !== undefined) sections.set(key, own)
  described.set(section, own)
  return own
}

function newSection(
  { columns }: RowSection,
  needed: ReadonlySet<string>,
  isJsonl: boolean,
): SectionEvidence {
  return {
    isJsonl,
    keys: columns.flatMap(({ name, key }) => (key === true ? name : [])),
    columns: columns.filter(({ name }) => needed.has(name)),
    things: new Map(),
    began: new Map(),
  }
}

/** Output of earlier versions of `collect` names no section; its metrics have only one. */
function findSection(
  { section }: Sample,
  description: RowsDescription | undefined,
): RowSection | undefined {
  if (section === null) return description?.sections[0]
  return description?.sections.find(({ name }) => name === section)
}

function addRow(section: SectionEvidence, sample: Sample): void {
  const { things, began, keys } = section
  const source = sample.source ?? ''
  if (!began.has(source)) began.set(source, sample.seconds)
  const id = idOf(keys, sample)
  const known = things.get(id)
  const thing = known ?? newThing(section, sample)
  if (known === undefined) things.set(id, thing)
  const isNew = known === undefined && sample.seconds > (began.get(source) ?? 0)
  addCells(thing, section, sample, isNew ? thing.from : null)
  thing.to = sample.seconds
}

function idOf(keys: readonly string[], sample: Sample): string {
  let id = sample.source ?? ''
  for (const name of keys) id += `\n${sample[name] ?? ''}`
  return id
}

function addCells(
  { values }: Thing,
  { columns }: SectionEvidence,
  sample: Sample,
  started: number | null,
): void {
  const { seconds, interval } = sample
  const when = { seconds, interval, started }
  for (let index = 0; index < values.length; index++) {
    const [column, reading] = [columns[index], values[index]]
    if (column === undefined || reading === undefined) continue
    addValue(reading, column, sample[column.name] ?? null, when)
  }
}

const NAMED = ['container', 'program', 'pid', 'tid']

function newThing({ isJsonl, keys, columns }: SectionEvidence, sample: Sample): Thing {
  const { source, node, container, program, pid, seconds, interval } = sample
  const others = keys.filter((name) => !NAMED.includes(name))
  const values = columns.map(newReading)
  return {
    source: source ?? '',
    node,
    container: textOrNull(container),
    program: textOrNull(program),
    pid: typeof pid === 'number' ? pid : null,
    name: others.flatMap((name) => sample[name] ?? []).join(' '),
    from: Math.max(seconds - (interval ?? 0), isJsonl ? 0 : Number.NEGATIVE_INFINITY),
    to: seconds,
    startedAt: sample.time?.includes('T') ? Date.parse(sample.time) / 1000 : null,
    readings: new Map(columns.map(({ name }, index) => [name, values[index] ?? newReading()])),
    values,
  }
}

function textOrNull(cell: unknown): string | null {
  return typeof cell === 'string' ? cell : null
}
