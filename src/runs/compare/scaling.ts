import { median } from '../../lib/statistics.ts'
import type { Side } from './change.ts'
import { type TimeQuantity, timeOf } from './run-facts.ts'

/** The time of a side with its size, against the smallest side. */
export interface ScalingRow {
  readonly side: string
  readonly size: number
  readonly seconds: number
  /** The time of the smallest side divided by that of this side. */
  readonly speedUp: number
  /** The speed-up divided by the increase of the size: 1 if twice the size needs half the time. */
  readonly efficiency: number
}

export interface Scaling {
  readonly sizeUnit: 'MPI ranks' | 'pods'
  /** The sides, the smallest first. */
  readonly rows: readonly ScalingRow[]
}

/**
 * Returns how the time scales with the number of ranks or pods; null if all sides have the same
 * number, if the runs of a side have different ones, or if a time is not known. Sizes are only
 * compared with sizes in the same unit.
 */
export function computeScaling(sides: readonly Side[], time: TimeQuantity): Scaling | null {
  const [kind, ...others] = new Set(sides.flatMap(({ runs }) => runs.map((run) => run.sizeUnit)))
  const sizes = sides.flatMap((side) => sizeOf(side, time) ?? [])
  const isSame = new Set(sizes.map(({ size }) => size)).size < 2
  if (kind === undefined || others.length > 0 || sizes.length < sides.length || isSame) return null
  const sorted = [...sizes].sort((a, b) => a.size - b.size)
  const [smallest] = sorted as [(typeof sorted)[number]]
  const rows = sorted.map(({ side, size, seconds }) => {
    const speedUp = smallest.seconds / seconds
    return { side, size, seconds, speedUp, efficiency: (speedUp * smallest.size) / size }
  })
  return { sizeUnit: kind, rows }
}

function sizeOf({ name, runs }: Side, time: TimeQuantity) {
  const seconds = median(runs.flatMap((run) => timeOf(run, time)?.value ?? []))
  const [size, ...others] = new Set(runs.map((run) => run.size))
  if (size === undefined || others.length > 0 || seconds === null) return undefined
  return { side: name, size, seconds }
}
