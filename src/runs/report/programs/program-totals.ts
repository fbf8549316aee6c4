import { type ChoiceReason, chooseSource } from '../../../core/rules/choose-source.ts'
import type { Measurement } from './measurements.ts'
import { joinValues, TOTAL_NAMES, TOTALS, type TotalName } from './quantities.ts'

/** The log that a number comes from, and why it was chosen. */
export interface NumberSource {
  readonly log: string
  readonly metric: string
  readonly reason: ChoiceReason
}

/** A total of a program on a rank, and the log that it comes from. */
export interface ChosenTotal extends NumberSource {
  readonly value: number | null
}

/** The totals of the processes of a program on a rank, including those that have ended. */
export interface ProgramTotals {
  readonly rank: string
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
 * Chooses one source for each total of each program on each rank. The measurements of several logs
 * are never added: what several metrics know of a program is one row.
 */
export function chooseTotals(measured: readonly Measurement[]): readonly ProgramTotals[] {
  const groups = Map.groupBy(measured, ({ facts, program }) =>
    JSON.stringify([facts.rank, program]),
  )
  return [...groups.values()].map((own) => {
    const [{ facts, program }] = own as [Measurement]
    const chosen = TOTAL_NAMES.flatMap((total) => {
      const found = chooseTotal(own.filter((one) => one.total === total))
      return found === undefined ? [] : [{ total, ...found }]
    })
    return {
      rank: facts.rank,
      program,
      totals: Object.fromEntries(chosen.map(({ total, unseen: _, ...one }) => [total, one])),
      unseenSeconds: chosen.reduce((sum, { unseen }) => sum + unseen, 0),
    }
  })
}

interface ChosenInContainers extends ChosenTotal {
  readonly unseen: number
}

/**
 * Chooses the source of a total for each container, and joins the totals of the containers. If a
 * log does not name the containers, its processes may be those of any of them, so one source is
 * chosen for all containers.
 */
function chooseTotal(own: readonly Measurement[]): ChosenInContainers | undefined {
  const isNamed = own.every(({ container }) => container !== null)
  const containers = isNamed ? [...Map.groupBy(own, ({ container }) => container).values()] : [own]
  return containers
    .flatMap((one) => chooseIn(one) ?? [])
    .reduce<Measured | undefined>(
      (all, one) => (all === undefined ? one : joinContainers(all, one)),
      undefined,
    )
}

function chooseIn(own: readonly Measurement[]): Measured | undefined {
  const observers = Map.groupBy(own, ({ facts }) => facts.observer)
  const chosen = chooseSource([...observers.values()].map(joinObserver))
  if (chosen === undefined) return undefined
  const { total, facts, value, unseenSeconds: unseen } = chosen.source
  const { log, metric } = facts
  return { total, value, unseen, log, metric, reason: chosen.reason }
}

type Measured = ChosenInContainers & Pick<Measurement, 'total'>

/** The containers of a pod have the same observers, so the log of the first one is named. */
function joinContainers(a: Measured, b: Measured): Measured {
  const value = joinValues(TOTALS[a.total].join, a.value, b.value)
  return { ...a, value, unseen: a.unseen + b.unseen }
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
