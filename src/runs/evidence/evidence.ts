import type { RowColumn, RowSection, RowsDescription } from '../../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { type ContainerUse, readContainerUses } from '../log/container-use.ts'
import { coversIntervals } from '../log/descriptions.ts'
import type { EndedContainer, LogEntry, PodLimits } from '../log/entry.ts'
import { addProfileRow, forgetLogInProfiles, type ProfileRun } from '../profiles/profile-run.ts'
import { type Attempts, attemptOf, compareAttempt, lastAttempt } from './attempts.ts'
import { addValue, type ColumnReading, continueReading, newReading } from './column-reading.ts'
import { type StandIn, standInFor } from './stand-in.ts'
import {
  addToStore,
  changeStores,
  type EvidenceMetric,
  joinStores,
  newStores,
  type Stored,
  type Stores,
  takeLogFromStores,
} from './stores.ts'

/** Columns of one section of a metric. */
export interface SectionColumns<Column extends string = string> {
  readonly metric: string
  readonly section: string
  /** The names of the columns. */
  readonly columns: readonly Column[]
  /** The columns, gauges, whose values over time the rule reads. */
  readonly series?: readonly Column[]
}

/** Columns without which a rule is not checked. */
export interface Need extends SectionColumns {
  /** Whether the rule reads totals since the start, so that one sample of a counter is enough. */
  readonly isTotal?: boolean
  /**
   * Whether the metric has no rows of this section if there is nothing to describe, such as no
   * sockets. Values that cannot be read are null in a row.
   */
  readonly canBeEmpty?: boolean
}

/** The values of the columns that rules need, from all rows of a run. */
export interface Evidence {
  /** The names of the needed columns, by metric and section. */
  readonly needed: ReadonlyMap<string, ReadonlySet<string>>
  /** The names of the columns whose values over time are needed, by metric and section. */
  readonly series: ReadonlyMap<string, ReadonlySet<string>>
  /** The things that rows describe, by metric and section, and then by log and key columns. */
  readonly sections: Map<string, SectionEvidence>
  /** The evidence of each section by its description; undefined if no rule needs the section. */
  readonly described: Map<RowSection, SectionEvidence | undefined>
  /** The last timepoint of each log whose rows are not about intervals. */
  readonly clocks: Map<string, LogClock>
  /** How the containers of the pod of each log ended, where that is known. */
  readonly ended: Map<string, readonly EndedContainer[]>
  /** The limits of the whole pod of each log, where they are known. */
  readonly podLimits: Map<string, PodLimits>
  /** The use of the containers until their end, by log and name, where a summary has it. */
  readonly uses: Map<string, ReadonlyMap<string, ContainerUse>>
  /** The functions and stacks of the processes that were profiled. */
  readonly profiles: ProfileRun
  readonly standIns: readonly StandIn[]
  /** The stores of the metrics whose rows have facts that are not values over time. */
  readonly stores: Map<string, Stored>
  /** The last attempts of the containers whose processes have rows. */
  readonly attempts: Attempts
  /** The stores of earlier attempts of these containers, by attempt and log. */
  readonly earlier: Map<string, AttemptStores>
  /** The evidence of the whole run, if this is the evidence of a part of it; see `newPart`. */
  readonly whole: Evidence | undefined
}

/** The facts from the rows of an attempt that is not the last one of its container. */
export interface AttemptStores {
  readonly attempt: number
  readonly source: string
  readonly stores: Map<string, Stored>
}

/** A timepoint of a log. */
interface LogClock {
  readonly timepoint: number
  /** Seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The seconds since the timepoint before; null if there is none. */
  readonly spacing: number | null
}

/** The evidence of a section. */
export interface SectionEvidence {
  readonly metric: string
  /** The names of the columns that identify a thing in a log. */
  readonly keys: readonly string[]
  /** The columns of the section that rules need. */
  readonly columns: readonly RowColumn[]
  /** The names of the columns whose values over time rules need. */
  readonly series: ReadonlySet<string>
  readonly things: Map<string, Thing>
  /** The thing of the last row of each process, which changes if it executes another program. */
  readonly running: Map<string, Thing>
  /** For each log, the `seconds` of its first row of the section. */
  readonly began: Map<string, number>
}

/** A thing that rows describe, such as a process or a container, with a summary of its values. */
export interface Thing<Column extends string = string> {
  readonly source: string
  readonly node: string | null
  readonly container: string | null
  readonly program: string | null
  readonly pid: number | null
  /** The values of the other key columns, such as the peer of a socket, separated by spaces. */
  readonly name: string
  /**
   * When the interval of the first row began, in seconds since the first timepoint of the log.
   */
  readonly from: number
  /** The seconds from the first timepoint of the log to the first row. */
  readonly firstSeen: number
  /** The seconds from the first timepoint of the log to the last row. */
  to: number
  /** The last timepoint with a row. */
  timepoint: number
  /** The number of rows. */
  rows: number
  /**
   * Whether several things have the same values in the key columns, for example the containers of a
   * pod whose names are not known. Their values cannot be told apart.
   */
  isAmbiguous: boolean
  /** When the first row was taken, in seconds since 1970; null if its date is not known. */
  readonly startedAt: number | null
  /** The needed columns of the section. */
  readonly columns: readonly RowColumn[]
  /** The values of the needed columns, by their names. */
  readonly readings: Pick<ReadonlyMap<Column, ColumnReading>, 'get'>
  /** The values of `readings`, in the order of the columns of `SectionEvidence`. */
  readonly values: readonly ColumnReading[]
}

/** A thing with the columns of a section that a rule reads. */
export type ThingOf<Section extends SectionColumns> = Thing<Section['columns'][number]>

/** Returns the key of a section of a metric. */
export function sectionKey(metric: string, section: string): string {
  return `${metric} ${section}`
}

/** A column that the report plots to show a finding over time. */
export interface PlottedColumn {
  readonly metric: string
  readonly section: string
  readonly column: string
}

/** Returns the need of some of the columns that a rule reads. */
export function need<Column extends string>(
  { metric, section }: SectionColumns<Column>,
  ...columns: readonly NoInfer<Column>[]
): Need {
  return { metric, section, columns }
}

/** Returns a column that a rule reads, to plot it. */
export function plot<Column extends string>(
  { metric, section }: SectionColumns<Column>,
  column: NoInfer<Column>,
): PlottedColumn {
  return { metric, section, column }
}

/**
 * @param needs the columns to keep of the rows that will be added
 * @param metrics the metrics whose rows are more than values over time, or stand in for others
 */
export function newEvidence(
  needs: readonly SectionColumns[],
  metrics: readonly EvidenceMetric[],
): Evidence {
  const standIns = metrics.flatMap(({ standsFor = [] }) => standsFor)
  const all = needs.flatMap((one) => [one, { ...one, ...standInFor(standIns, one) }])
  const groups = Map.groupBy(all, ({ metric, section }) => sectionKey(metric, section))
  const namesOf = (listOf: (need: SectionColumns) => readonly string[]) =>
    new Map([...groups].map(([key, own]) => [key, new Set(own.flatMap(listOf))] as const))
  return {
    needed: namesOf(({ columns }) => columns),
    series: namesOf(({ series = [] }) => series),
    sections: new Map(),
    described: new Map(),
    clocks: new Map(),
    ended: new Map(),
    podLimits: new Map(),
    uses: new Map(),
    profiles: new Map(),
    standIns,
    stores: newStores(metrics),
    attempts: new Map(),
    earlier: new Map(),
    whole: undefined,
  }
}

/**
 * Starts the evidence of a part of a run. The counters continue those of the whole run, so that
 * their growth is that of the part. Each row must be added to the part first, and then to the whole
 * run. A part has no profiles and no stores.
 */
export function newPart(whole: Evidence): Evidence {
  const empty = newEvidence([], [])
  const { needed, series, clocks, standIns } = whole
  return { ...empty, needed, series, clocks, standIns, whole }
}

/**
 * Adds a row. Skips the rows of threads, because the values of a process include the values of its
 * threads. Also skips averages since the node started, which have no interval.
 */
export function addToEvidence(
  evidence: Evidence,
  sample: Sample,
  description: RowsDescription,
): void {
  const clock = coversIntervals(description) ? null : readClock(evidence, sample)
  const section = findSection(sample, description)
  if (section === undefined || section.of !== sample.kind) return
  keepRow(evidence, section, sample)
  if (clock === null && sample.interval === null) return
  const of = { metric: sample.metric ?? '', section }
  const own = sectionOf(evidence, of)
  if (own === undefined) return
  const whole = evidence.whole && sectionOf(evidence.whole, of)
  addRow(own, sample, coveredBy(sample, clock), whole)
}

/**
 * Adds a row to the profiles and the store of its metric. A part of a run has neither. They have
 * only the last attempt of a container: its program has begun again, with the same ranks.
 */
function keepRow(evidence: Evidence, section: RowSection, sample: Sample): void {
  const { whole, profiles, stores, attempts } = evidence
  if (whole !== undefined) return
  const before = typeof sample.attempt === 'number' ? lastAttempt(attempts, sample) : 1
  const attempt = compareAttempt(attempts, sample)
  if (attempt === 'earlier') {
    addToStore(earlierStores(evidence, sample), section.name, sample)
    return
  }
  if (attempt === 'next') {
    setAside(evidence, before, sample)
    forgetLogInProfiles(profiles, sample.source ?? '')
  }
  addProfileRow(profiles, section, sample)
  addToStore(stores, section.name, sample)
}

/** Moves the facts of a log to the stores of the attempt that was the last one until now. */
function setAside({ stores, earlier }: Evidence, attempt: number, sample: Sample): void {
  const source = sample.source ?? ''
  const key = JSON.stringify([attempt, source])
  const [known, log] = [earlier.get(key), takeLogFromStores(stores, sample)]
  // Another container of the log may have been started again before.
  const all = known === undefined ? log : new Map(joinStores([known.stores, log]))
  earlier.set(key, { attempt, source, stores: all })
}

/** Returns the stores of the attempt of a row, which is an earlier one. */
function earlierStores({ stores, earlier }: Evidence, sample: Sample): Stores {
  const [attempt, source] = [attemptOf(sample), sample.source ?? '']
  const key = JSON.stringify([attempt, source])
  const known = earlier.get(key)
  if (known !== undefined) return known.stores
  const made = takeLogFromStores(new Map(changeStores(stores, (of) => of.create())), sample)
  earlier.set(key, { attempt, source, stores: made })
  return made
}

/** Adds the limits of the pod of a log, and how its containers ended and what they used. */
export function addPodToEvidence(
  evidence: Evidence,
  {
    source,
    ended,
    podLimits,
    summary: [whole = {}],
  }: Pick<LogEntry, 'source' | 'ended' | 'podLimits' | 'summary'>,
): void {
  evidence.uses.set(source ?? '', readContainerUses(whole))
  if (ended !== null) evidence.ended.set(source ?? '', ended)
  if (podLimits !== null) evidence.podLimits.set(source ?? '', podLimits)
}

/** Returns the timepoint of a row, and keeps it for the next row of the log. */
function readClock({ clocks }: Evidence, { source, timepoint, seconds }: Sample): LogClock {
  const last = clocks.get(source ?? '')
  if (last?.timepoint === timepoint) return last
  const spacing = last === undefined ? null : seconds - last.seconds
  const clock = { timepoint, seconds, spacing }
  clocks.set(source ?? '', clock)
  return clock
}

/**
 * Returns the seconds that a row covers: its interval, if it is about one. In others, `interval`
 * is the time since the last rows of the section, which may be long ago: a section such as socket
 * has rows only while there are things to describe. Such a row covers no more than the time since
 * the timepoint before, and nothing in the first one.
 *
 * @param clock the timepoint of the log; null if its rows are about intervals
 */
function coveredBy({ interval }: Sample, clock: LogClock | null): number | null {
  if (clock === null) return interval
  const spacing = Math.max(clock.spacing ?? 0, 0)
  return Math.min(interval ?? spacing, spacing)
}

interface SectionOfMetric {
  readonly metric: string
  readonly section: RowSection
}

/** Returns the evidence of a section, to which the rows of all logs are added. */
function sectionOf(
  { needed, series, sections, described }: Evidence,
  { metric, section }: SectionOfMetric,
): SectionEvidence | undefined {
  if (described.has(section)) return described.get(section)
  const key = sectionKey(metric, section.name)
  const columns = needed.get(key)
  const made = columns && { needed: columns, series: series.get(key) ?? new Set<string>() }
  const own = sections.get(key) ?? (made && newSection(metric, section, made))
  if (own !== undefined) sections.set(key, own)
  described.set(section, own)
  return own
}

function newSection(
  metric: string,
  { columns }: RowSection,
  {
    needed,
    series,
  }: { readonly needed: ReadonlySet<string>; readonly series: ReadonlySet<string> },
): SectionEvidence {
  return {
    metric,
    keys: columns.flatMap(({ name, key }) => (key === true ? name : [])),
    columns: columns.filter(({ name }) => needed.has(name)),
    series,
    things: new Map(),
    running: new Map(),
    began: new Map(),
  }
}

/** Returns the section of a row. */
export function findSection(
  { section }: Sample,
  description: RowsDescription | undefined,
): RowSection | undefined {
  return description?.sections.find(({ name }) => name === section)
}

/**
 * @param covers the seconds that the row covers; null if that is not known
 * @param whole the section of the whole run, if the row is added to a part of it
 */
function addRow(
  section: SectionEvidence,
  sample: Sample,
  covers: number | null,
  whole: SectionEvidence | undefined,
): void {
  const began = beganIn(whole ?? section, sample)
  const { thing, isNew } = findThing(section, sample, covers)
  if (thing.isAmbiguous) return
  const hasExecuted = continueProcess(section, thing, sample)
  const isKnown =
    hasExecuted || (isNew && whole !== undefined && continueThing(whole, thing, sample))
  const hasStarted = isNew && !isKnown && sample.seconds > began
  addCells(thing, sample, { covers, started: hasStarted ? thing.from : null })
  thing.to = sample.seconds
  thing.timepoint = sample.timepoint
  thing.rows += 1
}

/** Returns the first second of the section in the log of a row. */
function beganIn({ began }: SectionEvidence, { source, seconds }: Sample): number {
  const known = began.get(source ?? '')
  if (known === undefined) began.set(source ?? '', seconds)
  return known ?? seconds
}

/** Returns the thing that a row describes, and whether this is its first row. */
function findThing(section: SectionEvidence, sample: Sample, covers: number | null) {
  const { things, keys } = section
  const id = idOf(keys, sample)
  const known = things.get(id)
  if (known === undefined) {
    const thing = newThing(section, sample, covers)
    things.set(id, thing)
    return { thing, isNew: true }
  }
  if (known.timepoint === sample.timepoint) known.isAmbiguous = true
  return { thing: known, isNew: false }
}

/**
 * Continues the counters of a process that runs another program than in its last row. Returns
 * whether it does.
 */
function continueProcess({ running, keys }: SectionEvidence, thing: Thing, sample: Sample) {
  const id = processIdOf(keys, thing, sample)
  if (id === undefined) return false
  const before = running.get(id)
  running.set(id, thing)
  if (before === undefined || before === thing) return false
  continueReadings(thing, before)
  return true
}

/** Returns the id of a process, which its programs share; undefined if a row is not about one. */
function processIdOf(keys: readonly string[], { pid, program }: Thing, sample: Sample) {
  if (pid === null || program === null) return undefined
  return idOf(
    keys.filter((name) => name !== 'program'),
    sample,
  )
}

/**
 * Continues the counters of a thing, or of its process, that are known from an earlier part of the
 * run. Returns whether they are.
 */
function continueThing({ things, running, keys }: SectionEvidence, thing: Thing, sample: Sample) {
  const before =
    things.get(idOf(keys, sample)) ?? running.get(processIdOf(keys, thing, sample) ?? '')
  if (before === undefined) return false
  continueReadings(thing, before)
  return true
}

function continueReadings({ values }: Thing, before: Thing): void {
  values.forEach((reading, index) => {
    const own = before.values[index]
    if (own !== undefined) continueReading(reading, own)
  })
}

/** Returns what identifies a thing of a section: its log, and the values of the key columns. */
export function idOf(keys: readonly string[], sample: Sample): string {
  let id = sample.source ?? ''
  for (const name of keys) id += `\n${sample[name] ?? ''}`
  return id
}

/** The seconds that a row covers, and when its thing started; see `ReadAt`. */
interface Coverage {
  readonly covers: number | null
  readonly started: number | null
}

function addCells({ values, columns }: Thing, sample: Sample, { covers, started }: Coverage): void {
  const when = { seconds: sample.seconds, interval: covers, started }
  for (let index = 0; index < values.length; index++) {
    const [column, reading] = [columns[index], values[index]]
    if (column === undefined || reading === undefined) continue
    addValue(reading, sample[column.name] ?? null, when)
  }
}

const NAMED = ['container', 'program', 'pid', 'tid']

function newThing(
  { keys, columns, series }: SectionEvidence,
  sample: Sample,
  covers: number | null,
): Thing {
  const { source, node, container, program, pid, seconds, timepoint } = sample
  const others = keys.filter((name) => !NAMED.includes(name))
  const values = columns.map((column) => newReading(column, series.has(column.name)))
  return {
    source: source ?? '',
    node,
    container: textOrNull(container),
    program: textOrNull(program),
    pid: typeof pid === 'number' ? pid : null,
    name: others.flatMap((name) => sample[name] ?? []).join(' '),
    from: seconds - (covers ?? 0),
    firstSeen: seconds,
    to: seconds,
    timepoint,
    rows: 0,
    isAmbiguous: false,
    columns,
    startedAt: sample.time?.includes('T') ? Date.parse(sample.time) / 1000 : null,
    readings: new Readings(columns, values),
    values,
  }
}

/** The readings of a thing by the names of their columns, without a map for each thing. */
export class Readings {
  readonly #columns: readonly RowColumn[]
  readonly #values: readonly ColumnReading[]

  constructor(columns: readonly RowColumn[], values: readonly ColumnReading[]) {
    this.#columns = columns
    this.#values = values
  }

  get(column: string): ColumnReading | undefined {
    return this.#values[this.#columns.findIndex(({ name }) => name === column)]
  }
}

function textOrNull(cell: unknown): string | null {
  return typeof cell === 'string' ? cell : null
}
