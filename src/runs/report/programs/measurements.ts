import type { RowColumn, RowSection } from '../../../core/catalog.ts'
import { asText, type Fields } from '../../../core/kubernetes/json.ts'
import type { QuantitySource } from '../../../core/rules/choose-source.ts'
import { conversionOf, quantityOf, thingOf } from '../../../core/rules/quantity.ts'
import { computeTotal, maximum } from '../../../lib/statistics.ts'
import { sysstatSection } from '../../log/descriptions.ts'
import type { CollectedRun } from '../gather.ts'
import type { SectionRun, SectionTrack } from '../section.ts'
import type { Track } from '../track.ts'
import type { LogFacts } from './log-facts.ts'
import { joinValues, TOTAL_NAMES, TOTALS, type TotalName } from './quantities.ts'

/** One log's measurement of a total of the processes of a program in a container. */
export interface Measurement extends QuantitySource {
  readonly facts: LogFacts
  /** The name of the container; null if the log does not name it. */
  readonly container: string | null
  readonly program: string
  readonly total: TotalName
  readonly value: number | null
  /** CPU seconds of processes that no sample shows, which are not in `value`. */
  readonly unseenSeconds: number
  /** The values of the processes in the samples, by process id. */
  readonly processes: ReadonlyMap<number, number | null>
}

const PROCESS = 'process'

/**
 * Returns what each log measured of each program: the totals of its summary or, for programs that
 * are not in the summary, the totals of its samples.
 */
export function measurePrograms(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly Measurement[] {
  const sampled = measureSamples(run, logs)
  const bySample = new Map(sampled.map((one) => [keyOf(one), one]))
  const summed = [...logs.values()].flatMap((facts) => measureSummary(facts, bySample))
  const inSummary = new Set(summed.map(programKey))
  return [...summed, ...sampled.filter((one) => !inSummary.has(programKey(one)))]
}

type Place = Pick<Measurement, 'facts' | 'container' | 'program'>

const programKey = ({ facts, container, program }: Place) =>
  JSON.stringify([facts.log, container, program])
const keyOf = (one: Place & Pick<Measurement, 'total'>) => `${one.total} ${programKey(one)}`

/** Reads the lines of the summary that the description of the metric says to be of programs. */
function measureSummary(
  facts: LogFacts,
  sampled: ReadonlyMap<string, Measurement>,
): readonly Measurement[] {
  const sections = (facts.description?.summary ?? []).filter(isOfPrograms)
  const lines = facts.source.log?.summary ?? []
  return lines.flatMap((line) => {
    const section = sections.find(({ columns }) => Object.hasOwn(line, columns[0]?.name ?? ''))
    if (section === undefined) return []
    return section.columns.flatMap((column) => measureLine(facts, column, line, sampled))
  })
}

function isOfPrograms(section: RowSection): boolean {
  return thingOf(section) === PROCESS && section.columns[0]?.name === 'program'
}

function measureLine(
  facts: LogFacts,
  column: RowColumn,
  line: Fields,
  sampled: ReadonlyMap<string, Measurement>,
): readonly Measurement[] {
  const total = totalIn(column)
  const program = asText(line.program)
  if (total === undefined || program === undefined) return []
  const place = { facts, container: asText(line.container) || null, program }
  const value = asNumber(line[column.name])
  const unseen = total === 'cpuSeconds' ? asNumber(line.unaccounted_cpu_seconds) : null
  const made: Measurement = {
    ...place,
    total,
    value: value === null ? null : value * (conversionOf(column)?.factor ?? 1),
    unseenSeconds: unseen ?? 0,
    processes: sampled.get(keyOf({ ...place, total }))?.processes ?? new Map(),
    isKnown: value !== null,
    isCounted: column.sampled !== true,
    coversEnded: !facts.isEarly,
    isTotal: true,
    isWhole: facts.isWhole,
    order: facts.order,
  }
  return [made]
}

/** Returns the total that a column of a summary has; undefined if it has none. */
function totalIn(column: RowColumn): TotalName | undefined {
  const total = TOTAL_NAMES.find((name) => TOTALS[name].quantity === quantityOf(column))
  const { unit, isRate = true } = conversionOf(column) ?? {}
  return total !== undefined && !isRate && unit === TOTALS[total].unit ? total : undefined
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** A process in the samples of a log, with the columns of its quantities. */
interface SampledProcess {
  readonly facts: LogFacts
  readonly container: string | null
  readonly program: string
  readonly pid: number
  readonly columns: readonly RowColumn[]
  readonly measure: (column: RowColumn, total: TotalName) => number | null
  /** Whether the log has more processes than were kept: no total of its samples is known. */
  readonly isPartial: boolean
}

function measureSamples(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly Measurement[] {
  const sections = [...run.sections.values()].filter(({ section }) => thingOf(section) === PROCESS)
  const processes = [
    ...[...run.processes.values()].flatMap((track) => sysstatProcess(run, logs, track)),
    ...sections.flatMap((section) => jsonlProcesses(section, logs)),
  ]
  const found = new Map<string, Growing>()
  for (const process of processes) for (const one of measureProcess(process)) addTo(found, one)
  return [...found.values()]
}

function sysstatProcess(
  { measures, descriptions }: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  track: Track,
): readonly SampledProcess[] {
  const facts = logs.get(track.source)
  if (facts === undefined || track.pid === null) return []
  const { container, program, pid } = track
  const section = sysstatSection(descriptions, 'pidstat', facts.metric)
  const { columns = [] } = section ?? {}
  const measure = (column: RowColumn, total: TotalName) => {
    const index = measures.process.findIndex((measure) => measure.column === column.name)
    const value = totalOf(column, total, track.values[index] ?? [], track.intervals)
    const { factor = 1 } = measures.process[index] ?? {}
    return value === null ? null : value / factor
  }
  const read = columns.filter(({ name }) => measures.process.some(({ column }) => column === name))
  const isPartial = section !== undefined && facts.leftOut.has(section)
  return [{ facts, container, program, pid, columns: read, measure, isPartial }]
}

function jsonlProcesses(
  { section, measures, tracks }: SectionRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly SampledProcess[] {
  return [...tracks.values()].flatMap((track) => {
    const facts = logs.get(track.source)
    const { container, pid, name: program } = track
    if (facts === undefined || pid === null || program === null) return []
    const measure = (column: RowColumn, total: TotalName) => {
      const index = measures.indexOf(column)
      if (column.behavior === 'counter') return counted(track, index)
      return totalOf(column, total, track.values[index] ?? [], track.intervals)
    }
    const isPartial = facts.leftOut.has(section)
    return [{ facts, container, program, pid, columns: measures, measure, isPartial }]
  })
}

/** A counter counts from the start of the process: its first value, and by how much it grew. */
function counted({ first, growth }: SectionTrack, index: number): number | null {
  const before = first[index] ?? null
  return before === null ? null : before + (growth[index] ?? 0)
}

function totalOf(
  column: RowColumn,
  total: TotalName,
  values: readonly (number | null)[],
  intervals: readonly (number | null)[],
): number | null {
  if (conversionOf(column)?.isRate === true) return computeTotal(values, intervals)
  const known = values.filter((value) => value !== null)
  return TOTALS[total].join === 'greatest' ? maximum(known) : (known.at(-1) ?? null)
}

/** Measures the totals of a process that its columns have. Only such processes are counted. */
function measureProcess(process: SampledProcess): readonly Growing[] {
  const { columns, isPartial } = process
  const measured = TOTAL_NAMES.flatMap((total) => {
    const { sampled, unit } = TOTALS[total]
    const column = columns.find((one) => quantityOf(one) === sampled)
    const conversion = column && conversionOf(column)
    if (column === undefined || conversion?.unit !== unit) return []
    const value = isPartial ? null : process.measure(column, total)
    return sampledTotal(process, total, {
      value: value === null ? null : value * conversion.factor,
      isCounted: column.sampled !== true,
      isTotal: column.behavior === 'counter',
    })
  })
  if (measured.length === 0) return []
  const count = { value: isPartial ? null : 1, isCounted: true, isTotal: false }
  return [...measured, sampledTotal(process, 'processes', count)]
}

function sampledTotal(
  { facts, container, program, pid }: SampledProcess,
  total: TotalName,
  measured: Pick<Measurement, 'value' | 'isCounted' | 'isTotal'>,
): Growing {
  return {
    ...{ facts, container, program, total },
    ...measured,
    unseenSeconds: 0,
    processes: new Map([[pid, measured.value]]),
    isKnown: measured.value !== null,
    coversEnded: false,
    isWhole: facts.isWhole,
    order: facts.order,
  }
}

type Growing = Measurement & { readonly processes: Map<number, number | null> }

/** Adds the measurement of a process to that of its program in the same log. */
function addTo(found: Map<string, Growing>, measurement: Growing): void {
  const key = keyOf(measurement)
  const before = found.get(key)
  if (before === undefined) {
    found.set(key, measurement)
    return
  }
  const value = joinValues(TOTALS[measurement.total].join, before.value, measurement.value)
  for (const [pid, own] of measurement.processes) before.processes.set(pid, own)
  found.set(key, { ...before, value, isKnown: value !== null })
}
