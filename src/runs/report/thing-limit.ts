import type { RowSection } from '../../core/catalog.ts'
import type { MetricStore } from '../evidence/stores.ts'
import type { Sample } from '../log/columns.ts'

/**
 * The most things of a section of a log that a report has, such as processes or sockets. It is
 * about the number of rows of network in 8 MiB, the default of the option `max-log`.
 */
const MAX_THINGS = 25_000

/** The things of each section and log, and the rows that are left out. */
export interface ThingLimit {
  /** The most things of a section of a log. */
  readonly most: number
  readonly sections: Map<RowSection, SectionThings>
}

interface SectionThings {
  /** The names of the columns that identify a thing in a log. */
  readonly keys: readonly string[]
  readonly logs: Map<string, LogThings>
}

/** The things of a section of a log. */
interface LogThings {
  readonly ids: Set<string>
  leftOut: number
}

/** The rows of a section of a log that are left out, because the log has too many things. */
export interface LeftOutRows {
  readonly log: string
  readonly section: RowSection
  readonly rows: number
}

export function newThingLimit(most = MAX_THINGS): ThingLimit {
  return { most, sections: new Map() }
}

/**
 * Reports whether a report has the thing that a row describes: the first ones of its section and
 * log. Counts the rows of the others. Without this limit, a pod could fill the memory of everybody
 * who makes a report of its log.
 *
 * @param numbered the section of the metric of which the last rows are kept
 */
export function hasRoom(
  limit: ThingLimit,
  section: RowSection,
  sample: Sample,
  numbered?: MetricStore['numbered'],
): boolean {
  const { keys, logs } = sectionOf(limit, section, numbered)
  const log = sample.source ?? ''
  const things = logs.get(log) ?? { ids: new Set(), leftOut: 0 }
  logs.set(log, things)
  const id = keys.map((name) => sample[name] ?? '').join('\n')
  if (things.ids.has(id) || things.ids.size < limit.most) {
    things.ids.add(id)
    return true
  }
  things.leftOut += 1
  return false
}

function sectionOf(
  { sections }: ThingLimit,
  section: RowSection,
  numbered: MetricStore['numbered'],
): SectionThings {
  const known = sections.get(section)
  if (known !== undefined) return known
  // If the last rows are kept, as of the calls of a process group, all of them are one thing.
  const number = numbered?.section === section.name ? numbered.key : undefined
  const made = { keys: keysOf(section).filter((key) => key !== number), logs: new Map() }
  sections.set(section, made)
  return made
}

/** Returns the names of the columns that identify a thing of a section. */
function keysOf({ columns }: RowSection): readonly string[] {
  return columns.filter(({ key }) => key === true).map(({ name }) => name)
}

/** Returns the rows that are left out, by section and log. */
export function listLeftOut({ sections }: ThingLimit): readonly LeftOutRows[] {
  return [...sections].flatMap(([section, { logs }]) =>
    [...logs].flatMap(([log, { leftOut: rows }]) => (rows === 0 ? [] : { log, section, rows })),
  )
}
