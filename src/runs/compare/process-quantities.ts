import { quantityOf } from '../../core/rules/quantity.ts'
import { type Descriptions, listIntervalColumns } from '../log/descriptions.ts'
import type { CollectedRun } from '../report/gather.ts'
import type { LogFacts } from '../report/programs/log-facts.ts'
import { measurePrograms } from '../report/programs/measurements.ts'
import { chooseTotals, type ProgramTotals } from '../report/programs/program-totals.ts'
import { joinValues, TOTAL_NAMES, TOTALS, type TotalName } from '../report/programs/quantities.ts'
import { joinPods, type PodValue } from './join-pods.ts'
import type { QuantityFacts } from './run-facts.ts'

const TITLES: Readonly<Record<TotalName, string>> = {
  processes: 'processes',
  cpuSeconds: 'CPU time',
  peakBytes: 'memory, peak of a process',
  bytesRead: 'read from storage',
  bytesWritten: 'written to storage',
  contextSwitches: 'context switches',
  runDelay: 'waiting for a processor',
  majorFaults: 'major page faults',
}

/** Returns the columns that must be read to measure the quantities of processes. */
export function columnsToRead(descriptions: Descriptions): readonly string[] {
  const sampled = new Set<string>(TOTAL_NAMES.map((name) => TOTALS[name].sampled))
  return listIntervalColumns(descriptions, 'process').flatMap((column) =>
    sampled.has(quantityOf(column) ?? '') ? column.name : [],
  )
}

/**
 * Returns the totals of the programs of each pod, including the processes that have ended.
 *
 * @param whole the run with all observers, of which one is chosen for each quantity
 */
export function readPrograms(
  whole: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly ProgramTotals[] {
  return chooseTotals(measurePrograms(whole, logs, TOTAL_NAMES))
}

/** Returns the program with the most CPU time in all pods; undefined if that is not known. */
export function findMainProgram(programs: readonly ProgramTotals[]): string | undefined {
  const seconds = new Map<string, number>()
  for (const { program, totals } of programs)
    seconds.set(program, (seconds.get(program) ?? 0) + (totals.cpuSeconds?.value ?? 0))
  const [most] = [...seconds].sort(([, a], [, b]) => b - a)
  return most !== undefined && most[1] > 0 ? most[0] : undefined
}

/** Measures the quantities of the processes of each pod. */
export function measureProcesses(programs: readonly ProgramTotals[]): readonly QuantityFacts[] {
  const pods = [...Map.groupBy(programs, ({ pod }) => pod)]
  return TOTAL_NAMES.flatMap((total) => {
    const { quantity, unit, join } = TOTALS[total]
    const values = pods.flatMap(([pod, own]) => joinPrograms(pod, own, total))
    if (values.length === 0) return []
    return joinPods({ quantity, of: 'process', title: TITLES[total], unit }, values, join)
  })
}

/** Joins the totals of the programs of a pod. A sum is not known if that of a program is not. */
function joinPrograms(
  pod: string,
  programs: readonly ProgramTotals[],
  total: TotalName,
): readonly PodValue[] {
  const { join } = TOTALS[total]
  const all = programs.flatMap(({ totals }) => totals[total] ?? [])
  const [first] = all
  if (first === undefined) return []
  const values = all.map(({ value }) => value)
  const known = join === 'greatest' ? values.filter((value) => value !== null) : values
  const value = known.length === 0 ? null : known.reduce((a, b) => joinValues(join, a, b))
  return [{ pod, metric: first.metric, value }]
}
