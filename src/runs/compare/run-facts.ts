import type { RunCompletion } from '../ends/run-completion.ts'
import type { RuleName } from '../findings/rules.ts'
import type { Severity } from '../rules/rule.ts'

/**
 * What a comparison needs to know about a run. It is plain data, so that it can be kept without the
 * rows of the run.
 */
export interface ComparedRun {
  /** The files of the run. */
  readonly name: string
  /** The number of processes of MPI, or else of pods. */
  readonly size: number
  readonly sizeUnit: 'MPI ranks' | 'pods'
  /** The programs of its MPI job, or else the one with the most CPU time, without their paths. */
  readonly programs: readonly string[]
  /** Whether the run came to its end. A run that did not has no time. */
  readonly completion: RunCompletion
  /** The time of the run, and the quantities of its processes, containers and interfaces. */
  readonly quantities: readonly QuantityFacts[]
  /** The time and the number of calls of each function of MPI; null if no calls were recorded. */
  readonly calls: readonly QuantityFacts[] | null
  /** The processor time of the functions of each program; null if no process was profiled. */
  readonly functions: readonly QuantityFacts[] | null
  readonly findings: readonly FindingFacts[]
  /** The rules that were checked for no pod, with the reasons. */
  readonly unchecked: readonly { readonly rule: RuleName; readonly reason: string }[]
  /** Sentences about rows that are missing. */
  readonly notices: readonly string[]
}

/** A quantity of one run. */
export interface QuantityFacts {
  /** The name of the quantity in the catalog, such as process.cpu.time. */
  readonly quantity: string
  /** What it is measured of: run, process, container, interface, MPI call, a program. */
  readonly of: string
  readonly title: string
  readonly unit: QuantityUnit
  /** The value of the run; null if it is not known. */
  readonly value: number | null
  /** Why the value is not known; null if it is. */
  readonly missing: string | null
  /** By how much the real value can be above the measured one. */
  readonly resolution: number
  /** The metrics that measured it. */
  readonly metrics: readonly string[]
  /** The values of the pods, or of the MPI ranks, where they are known. */
  readonly byPart: Readonly<Record<string, number>>
}

/** The unit of a quantity: seconds, bytes, a number, or a part of the whole, from 0 to 1. */
export type QuantityUnit = 's' | 'bytes' | 'count' | 'ratio'

/** A finding of one run. */
export interface FindingFacts {
  readonly rule: RuleName
  readonly title: string
  readonly severity: Severity
  readonly sentence: string
  readonly secondsLost: number | null
  readonly pods: readonly string[]
}

/** Returns the key by which the same quantity is found in several runs. */
export function quantityKey({ of, quantity, unit }: QuantityFacts): string {
  return JSON.stringify([of, quantity, unit])
}

/** Returns a quantity whose value and whose values of pods or ranks are known. */
export function knownQuantity(
  name: Pick<QuantityFacts, 'quantity' | 'of' | 'title' | 'unit' | 'metrics'>,
  value: number,
  byPart: Readonly<Record<string, number>> = {},
): QuantityFacts {
  return { ...name, value, missing: null, resolution: 0, byPart }
}

/** The time of a run, from its samples. */
export const TIME = 'ridealong.run.duration'
/** The time of the MPI jobs of a run, from MPI_Init to MPI_Finalize, if all ranks called it. */
export const MPI_ELAPSED = 'ridealong.mpi.elapsed'

export type TimeQuantity = typeof TIME | typeof MPI_ELAPSED

/** Returns a time of a run; undefined if the run does not have it. */
export function timeOf({ quantities }: ComparedRun, time: TimeQuantity): QuantityFacts | undefined {
  return quantities.find(({ quantity }) => quantity === time)
}

/**
 * Returns the time by which runs are compared. That of MPI is exact, so it is preferred if it is
 * known of every run that has a time.
 */
export function chooseTime(runs: readonly ComparedRun[]): TimeQuantity {
  const isKnown = (run: ComparedRun) => (timeOf(run, MPI_ELAPSED)?.value ?? null) !== null
  const timed = runs.filter(({ completion }) => completion.state !== 'unfinished')
  return timed.length > 0 && timed.every(isKnown) ? MPI_ELAPSED : TIME
}
