import {
  type ChoiceReason,
  chooseSource,
  type QuantitySource,
} from '../../../core/rules/choose-source.ts'
import type { Measurement } from './measurements.ts'
import { joinValues, TOTAL_NAMES, TOTALS, type TotalName } from './quantities.ts'

/** The log that a number comes from, and why it was chosen. */
export interface NumberSource {
  readonly log: string
  readonly metric: string
  readonly reason: ChoiceReason
}

/** A total of a program on a pod, and the log that it comes from. */
export interface ChosenTotal extends NumberSource {
  readonly value: number | null
}

/** The totals of the processes of a program on a pod, including those that have ended. */
export interface ProgramTotals {
  readonly pod: string
  readonly program: string
  /** The totals that a log measured. */
  readonly totals: Readonly<Partial<Record<TotalName, ChosenTotal>>>
  /**
   * CPU seconds of child processes that started and ended before the observer could measure them.
   * No row of the report includes these seconds.
   */
  readonly unseenSeconds: number
}

/**
 * Chooses one source for each total of each container on each pod. The measurements of several
 * logs are never added: what several metrics know of a program is one row. A process can have one
 * name in one log and another name in another, because it has executed another program between two
 * scans. Therefore all programs of a container have their total from the same log.
 */
export function chooseTotals(measured: readonly Measurement[]): readonly ProgramTotals[] {
  const pods = Map.groupBy(measured, ({ facts }) => facts.pod)
  return [...pods].flatMap(([pod, own]) => {
    const chosen = TOTAL_NAMES.flatMap((total) =>
      chooseTotal(own.filter((measurement) => measurement.total === total)),
    )
    const programs = Map.groupBy(chosen, ({ program }) => program)
    return [...programs].map(([program, totals]) => programTotals(pod, program, totals))
  })
}

/** A chosen total of a program, in one container or joined from several. */
interface Measured extends ChosenTotal {
  readonly program: string
  readonly total: TotalName
  readonly unseenSeconds: number
}

function programTotals(pod: string, program: string, chosen: readonly Measured[]): ProgramTotals {
  const totals = chosen.map(({ total, value, log, metric, reason }) => {
    return [total, { value, log, metric, reason }] as const
  })
  return {
    pod,
    program,
    totals: Object.fromEntries(totals),
    unseenSeconds: chosen.reduce((sum, { unseenSeconds }) => sum + unseenSeconds, 0),
  }
}

/**
 * Chooses the source of a total for each container, and joins the totals of the containers by
 * program. If a log does not name the containers, its processes may be those of any of them, so one
 * source is chosen for all containers.
 */
function chooseTotal(own: readonly Measurement[]): readonly Measured[] {
  const isNamed = own.every(({ container }) => container !== null)
  const containers = isNamed ? [...Map.groupBy(own, ({ container }) => container).values()] : [own]
  const programs = Map.groupBy(containers.flatMap(chooseIn), ({ program }) => program)
  return [...programs.values()].map((same) => same.reduce(joinContainers))
}

/** Returns the total of each program of a container, from the chosen observer. */
function chooseIn(own: readonly Measurement[]): readonly Measured[] {
  const observers = Map.groupBy(own, ({ facts }) => facts.observer)
  const chosen = chooseSource([...observers.values()].map(describeObserver))
  if (chosen === undefined) return []
  const { source, reason } = chosen
  return [...Map.groupBy(source.measurements, ({ program }) => program).values()].map((same) => {
    const { program, total, facts, value, unseenSeconds } = joinObserver(same)
    const { log, metric } = facts
    return { program, total, value, unseenSeconds, log, metric, reason }
  })
}

interface ObserverMeasurements extends QuantitySource {
  readonly measurements: readonly Measurement[]
}

function describeObserver(measurements: readonly Measurement[]): ObserverMeasurements {
  const [{ order }] = measurements as [Measurement]
  return {
    measurements,
    isKnown: measurements.some(({ isKnown }) => isKnown),
    isCounted: measurements.every(({ isCounted }) => isCounted),
    coversEnded: measurements.some(({ coversEnded }) => coversEnded),
    isTotal: measurements.some(({ isTotal }) => isTotal),
    isWhole: measurements.every(({ isWhole }) => isWhole),
    order,
  }
}

/** The containers of a pod have the same observers, so the log of the first one is named. */
function joinContainers(a: Measured, b: Measured): Measured {
  const value = joinValues(TOTALS[a.total].join, a.value, b.value)
  return { ...a, value, unseenSeconds: a.unseenSeconds + b.unseenSeconds }
}

/** Joins the measurements of one observer: of several containers, and of several runs. */
function joinObserver(own: readonly Measurement[]): Measurement {
  const runs = [...Map.groupBy(own, ({ facts }) => facts.run)].sort(([a], [b]) => a - b)
  return runs.map(([, run]) => run.reduce(joinPrograms)).reduce(joinRuns)
}

function joinPrograms(a: Measurement, b: Measurement): Measurement {
  const value = joinValues(TOTALS[a.total].join, a.value, b.value)
  return {
    ...b,
    value,
    isKnown: value !== null,
    processes: new Map([...a.processes, ...b.processes]),
  }
}

/**
 * Joins two runs of one observer, whose container was restarted. Its counters count from the start
 * of each process, so a process of both runs counts only in the later one.
 */
function joinRuns(earlier: Measurement, later: Measurement): Measurement {
  const { join } = TOTALS[later.total]
  const ended = [...earlier.processes].filter(([pid]) => !later.processes.has(pid))
  const isApart = ended.length === earlier.processes.size
  const before = isApart ? [earlier.value] : ended.map(([, value]) => value)
  const value = before.reduce((all, one) => joinValues(join, all, one), later.value)
  return {
    ...later,
    value,
    isKnown: value !== null,
    isWhole: earlier.isWhole && later.isWhole,
    processes: new Map([...earlier.processes, ...later.processes]),
  }
}
