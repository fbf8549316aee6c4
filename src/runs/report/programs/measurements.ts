import type { RowColumn, RowSection } from '../../../core/catalog.ts'
import { asText, type Fields } from '../../../core/kubernetes/json.ts'
import type { QuantitySource } from '../../../core/rules/choose-source.ts'
import { conversionOf, quantityOf, thingOf } from '../../../core/rules/quantity.ts'
import { computeTotal, maximum } from '../../../lib/statistics.ts'
import { coversIntervals } from '../../log/descriptions.ts'
import type { CollectedRun } from '../gather.ts'
import type { SectionRun, SectionTrack } from '../section.ts'
import type { Track } from '../track.ts'
import type { LogFacts } from './log-facts.ts'
import { joinValues, TOTALS, type TotalName } from './quantities.ts'

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
 * Returns what each log measured of each program: the totals of its summary or, for programs and
 * totals that are not in the summary, the totals of its samples.
 *
 * @param names the totals to measure
 */
export function measurePrograms(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  names: readonly TotalName[],
): readonly Measurement[] {
  const sampled = measureSamples(run, logs, names)
  const bySample = new Map(sampled.map((one) => [keyOf(one), one]))
  const summed = [...logs.values()].flatMap((facts) => measureSummary(facts, bySample, names))
  const inSummary = new Set(summed.map(keyOf))
  return [...summed, ...sampled.filter((one) => !inSummary.has(keyOf(one)))]
}

type Place = Pick<Measurement, 'facts' | 'container' | 'program'>

const programKey = ({ facts, container, program }: Place) =>
  JSON.stringify([facts.log, container, program])
const keyOf = (one: Place & Pick<Measurement, 'total'>) => `${one.total} ${programKey(one)}`

/** Reads the lines of the summary that the description of the metric says to be of programs. */
function measureSummary(
  facts: LogFacts,
  sampled: ReadonlyMap<string, Measurement>,
  names: readonly TotalName[],
): readonly Measurement[] {
  const sections = (facts.description?.summary ?? []).filter(isOfPrograms)
  const lines = facts.source.log?.summary ?? []
  return lines.flatMap((line) => {
    const section = sections.find(({ columns }) => Object.hasOwn(line, columns[0]?.name ?? ''))
    if (section === undefined) return []
    return section.columns.flatMap((column) => {
      const total = totalIn(column, names)
      return total === undefined ? [] : measureLine(facts, { column, total }, line, sampled)
    })
  })
}

function isOfPrograms(section: RowSection): boolean {
  return thingOf(section) === PROCESS && section.columns[0]?.name === 'program'
}

function measureLine(
  facts: LogFacts,
  { column, total }: { readonly column: RowColumn; readonly total: TotalName },
  line: Fields,
  sampled: ReadonlyMap<string, Measurement>,
): readonly Measurement[] {
  const program = asText(line.program)
  if (program === undefined) return []
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
function totalIn(column: RowColumn, names: readonly TotalName[]): TotalName | undefined {
  const total = names.find((name) => TOTALS[name].quantity === quantityOf(column))
  const { unit, isRate = true } = conversionOf(column) ?? {}
  return total !== undefined && !isRate && unit === TOTALS[total].unit ? total : undefined
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** A process in the samples of a log, with the columns of its quantities. */
interface SampledProcess extends SampledColumns {
  readonly container: string | null
  readonly program: string
  readonly pid: number
  readonly measure: (column: RowColumn, total: TotalName) => number | null
}

/** The columns of the processes of a log. */
interface SampledColumns {
  readonly facts: LogFacts
  readonly columns: readonly RowColumn[]
  /** Whether the log has more processes than were kept: no total of its samples is known. */
  readonly isPartial: boolean
}

function measureSamples(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  names: readonly TotalName[],
): readonly Measurement[] {
  const sections = [...run.sections.values()].filter(({ section }) => thingOf(section) === PROCESS)
  const processes = [
    ...intervalProcesses(run, logs),
    ...sections.flatMap((section) => sectionProcesses(section, logs)),
  ]
  return [...Map.groupBy(processes, programKey).values()].flatMap((own) =>
    measureProgram(own, names),
  )
}

/** Returns the processes whose rows are about intervals. */
function intervalProcesses(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly SampledProcess[] {
  return [...Map.groupBy(run.processes.values(), ({ source }) => source)].flatMap(
    ([source, tracks]) => {
      const facts = logs.get(source)
      // The other sections are measured with their counters.
      if (facts?.description === undefined || !coversIntervals(facts.description)) return []
      const columns = intervalColumns(run, facts)
      return tracks.flatMap((track) => intervalProcess(run, columns, track))
    },
  )
}

function intervalColumns({ measures }: CollectedRun, facts: LogFacts): SampledColumns {
  const section = facts.description?.sections.find(({ of }) => of === PROCESS)
  const read = new Set(measures.process.map(({ column }) => column))
  const columns = (section?.columns ?? []).filter(({ name }) => read.has(name))
  return { facts, columns, isPartial: section !== undefined && facts.leftOut.has(section) }
}

function intervalProcess(
  { measures }: CollectedRun,
  sampled: SampledColumns,
  { container, program, pid, values, intervals }: Track,
): readonly SampledProcess[] {
  if (pid === null) return []
  const measure = (column: RowColumn, total: TotalName) => {
    const index = measures.process.findIndex((measure) => measure.column === column.name)
    const value = totalOf(column, total, values[index] ?? [], intervals)
    const { factor = 1 } = measures.process[index] ?? {}
    return value === null ? null : value / factor
  }
  return [{ ...sampled, container, program, pid, measure }]
}

function sectionProcesses(
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

/** A quantity of a process in the samples of a log. */
interface SampledValue extends Pick<Measurement, 'value' | 'isCounted' | 'isTotal'> {
  readonly process: SampledProcess
}

/**
 * Measures the totals of a program that the columns of its processes have. Only processes with such
 * a column are counted.
 */
function measureProgram(
  processes: readonly SampledProcess[],
  names: readonly TotalName[],
): readonly Measurement[] {
  const measured = names.flatMap((total) => {
    const values = processes.flatMap((process) => measureProcess(process, total))
    return values.length === 0 ? [] : [{ total, values }]
  })
  const counted = new Set(measured.flatMap(({ values }) => values.map(({ process }) => process)))
  const count = [...counted].map((process) => {
    return { process, value: process.isPartial ? null : 1, isCounted: true, isTotal: false }
  })
  const all =
    count.length === 0 ? [] : [...measured, { total: 'processes', values: count } as const]
  return all.flatMap(({ total, values }) => joinProcesses(total, values))
}

/** @returns an empty list if no column of the process has the total */
function measureProcess(process: SampledProcess, total: TotalName): readonly SampledValue[] {
  const { sampled, unit } = TOTALS[total]
  const column = process.columns.find((column) => quantityOf(column) === sampled)
  const conversion = column && conversionOf(column)
  if (column === undefined || conversion?.unit !== unit) return []
  const value = process.isPartial ? null : process.measure(column, total)
  return [
    {
      process,
      value: value === null ? null : value * conversion.factor,
      isCounted: column.sampled !== true,
      isTotal: column.behavior === 'counter',
    },
  ]
}

/** Joins the values of the processes of a program into its total. */
function joinProcesses(total: TotalName, values: readonly SampledValue[]): readonly Measurement[] {
  const [first] = values
  if (first === undefined) return []
  const { facts, container, program } = first.process
  const value = values
    .map(({ value }) => value)
    .reduce((sum, value) => joinValues(TOTALS[total].join, sum, value))
  const made: Measurement = {
    facts,
    container,
    program,
    total,
    value,
    unseenSeconds: 0,
    processes: new Map(values.map(({ process, value }) => [process.pid, value])),
    isKnown: value !== null,
    isCounted: first.isCounted,
    coversEnded: false,
    isTotal: first.isTotal,
    isWhole: facts.isWhole,
    order: facts.order,
  }
  return [made]
}
