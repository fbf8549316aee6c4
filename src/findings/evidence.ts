import type { RowColumn, RowSection, RowsDescription } from '../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { addValue, type ColumnReading, newReading } from './column-reading.ts'

/** Columns of one section of a metric. */
export interface Need {
  readonly metric: string
  readonly section: string
  /** The names of the columns. */
  readonly columns: readonly string[]
}

/** The values of the columns that rules need, from all rows of a run. */
export interface Evidence {
  /** The names of the needed columns, by metric and section. */
  readonly needed: ReadonlyMap<string, ReadonlySet<string>>
  /** The things that rows describe, by metric and section, and then by log and key columns. */
  readonly sections: Map<string, SectionEvidence>
  /** The evidence of each section by its description; undefined if no rule needs the section. */
  readonly described: Map<RowSection, SectionEvidence | undefined>
}

interface SectionEvidence {
  readonly isJsonl: boolean
  /** The names of the columns that identify a thing in a log. */
  readonly keys: readonly string[]
  /** The columns of the section that rules need. */
  readonly columns: readonly RowColumn[]
  readonly things: Map<string, Thing>
  /** For each log, the `seconds` of its first row of the section. */
  readonly began: Map<string, number>
}

/** A thing that rows describe, such as a process or a container, with a summary of its values. */
export interface Thing {
  readonly source: string
  readonly node: string | null
  readonly container: string | null
  readonly program: string | null
  readonly pid: number | null
  /** The values of the other key columns, such as the peer of a socket, separated by spaces. */
  readonly name: string
  /**
   * When the interval of the first row began, in seconds since the first timepoint of the log. For
   * logs in JSON Lines, at least 0, because the interval of their first timepoint is not measured.
   */
  readonly from: number
  /** The seconds from the first timepoint of the log to the last row. */
  to: number
  /** When the first row was taken, in seconds since 1970; null if its date is not known. */
  readonly startedAt: number | null
  /** The values of the needed columns, by their names. */
  readonly readings: ReadonlyMap<string, ColumnReading>
  /** The values of `readings`, in the order of the columns of `SectionEvidence`. */
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
 * Adds a row. Skips the rows of threads, because the values of a process include the values of its
 * threads. Also skips averages since the node started, which have no interval.
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

/** Returns the evidence of a section, to which the rows of all logs are added. */
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

/**
 * Returns the section of a row. Rows that earlier versions of `collect` wrote name no section; the
 * metrics of these versions have only one section.
 */
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
