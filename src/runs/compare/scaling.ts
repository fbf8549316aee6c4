import { median } from '../../lib/statistics.ts'
import type { Side } from './change.ts'
import { type TimeQuantity, timeOf } from './run-facts.ts'

/** The time of a side with its number of ranks, against the side with the fewest ranks. */
export interface ScalingRow {
  readonly side: string
  readonly ranks: number
  readonly seconds: number
  /** The time of the smallest side divided by that of this side. */
  readonly speedUp: number
  /** The speed-up divided by the increase of the ranks: 1 if twice the ranks need half the time. */
  readonly efficiency: number
}

export interface Scaling {
  readonly rankKind: 'MPI ranks' | 'pods'
  /** The sides, the one with the fewest ranks first. */
  readonly rows: readonly ScalingRow[]
}

/**
 * Returns how the time scales with the number of ranks; null if all sides have the same number, if
 * the runs of a side have different ones, or if a time is not known. Ranks are only compared with
 * ranks of the same kind.
 */
export function computeScaling(sides: readonly Side[], time: TimeQuantity): Scaling | null {
  const [kind, ...others] = new Set(sides.flatMap(({ runs }) => runs.map((run) => run.rankKind)))
  const sizes = sides.flatMap((side) => sizeOf(side, time) ?? [])
  const isSame = new Set(sizes.map(({ ranks }) => ranks)).size < 2
  if (kind === undefined || others.length > 0 || sizes.length < sides.length || isSame) return null
  const sorted = [...sizes].sort((a, b) => a.ranks - b.ranks)
  const [smallest] = sorted as [(typeof sorted)[number]]
  const rows = sorted.map(({ side, ranks, seconds }) => {
    const speedUp = smallest.seconds / seconds
    return { side, ranks, seconds, speedUp, efficiency: (speedUp * smallest.ranks) / ranks }
  })
  return { rankKind: kind, rows }
}

function sizeOf({ name, runs }: Side, time: TimeQuantity) {
  const seconds = median(runs.flatMap((run) => timeOf(run, time)?.value ?? []))
  const [ranks, ...others] = new Set(runs.map((run) => run.ranks))
  if (ranks === undefined || others.length > 0 || seconds === null) return undefined
  return { side: name, ranks, seconds }
}
