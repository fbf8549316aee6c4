import { median } from '../../lib/statistics.ts'
import { TOTALS } from '../report/programs/quantities.ts'
import type { Side } from './change.ts'
import type { ComparedRun } from './run-facts.ts'
import { MPI_TIME, OUTSIDE_MPI } from './tool-quantities.ts'

/** The time of a pod or of an MPI rank on two sides, in seconds. */
export interface PartChange {
  readonly part: string
  readonly quantity: string
  readonly title: string
  /** The medians of the runs. */
  readonly base: number
  readonly other: number
  readonly difference: number
}

/** The quantities whose seconds are compared part by part. */
const TIMES: readonly string[] = [
  TOTALS.cpuSeconds.quantity,
  TOTALS.runDelay.quantity,
  OUTSIDE_MPI,
  MPI_TIME,
]

/** The most changes of parts that are listed. */
const MAX_CHANGES = 20

/**
 * Returns the times of parts that changed most, the greatest change first. Only parts that each run
 * of both sides has are compared, by their names.
 */
export function compareParts(base: Side, other: Side): readonly PartChange[] {
  const changes = TIMES.flatMap((quantity) => changesOf(quantity, base, other))
  return changes
    .filter(({ difference }) => difference !== 0)
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference))
    .slice(0, MAX_CHANGES)
}

function changesOf(quantity: string, base: Side, other: Side): readonly PartChange[] {
  const [before, after] = [base, other].map(({ runs }) => runs.map((run) => timesIn(run, quantity)))
  const { byPart = {}, title = '' } = before?.[0] ?? {}
  return Object.keys(byPart).flatMap((part) => {
    const [from, to] = [before, after].map((runs = []) => medianOf(runs, part))
    if (from === null || from === undefined || to === null || to === undefined) return []
    return [{ part, quantity, title, base: from, other: to, difference: to - from }]
  })
}

function timesIn({ quantities }: ComparedRun, quantity: string) {
  return quantities.find((facts) => facts.quantity === quantity)
}

/** Returns the median of a part; null if a run does not have it. */
function medianOf(runs: readonly ReturnType<typeof timesIn>[], part: string): number | null {
  const values = runs.flatMap((facts) => facts?.byPart[part] ?? [])
  return values.length === runs.length ? median(values) : null
}
